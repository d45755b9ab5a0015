"""Control flow beside onnxruntime: branches, loops and scans with every kind of carried value, natively and as bytecode."""

import threading
import time

import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

import models
import pliant

F32, I64, BOOL = models.F32, models.I64, TensorProto.BOOL


def info(name, dtype, shape):
    return helper.make_tensor_value_info(name, dtype, shape)


class Body(models.Graph):
    """The graph of a branch or of a loop's body; its names are its own."""

    made = 0

    def __init__(self):
        super().__init__()
        Body.made += 1
        self.prefix = f"b{Body.made}_"

    def constant(self, array):
        name = f"{self.prefix}c{len(self.initializers)}"
        self.initializers.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def __call__(self, op, *inputs, name=None, **rest):
        return super().__call__(op, *inputs, name=name or f"{self.prefix}{op.lower()}{len(self.nodes)}", **rest)

    def graph(self, inputs, outputs, name="body"):
        return helper.make_graph(self.nodes, name, [info(*i) for i in inputs], [info(*o) for o in outputs], self.initializers)


def loop_body(build, carried, scans=0, condition=None, level=""):
    """A Loop body: `build(g)` appends nodes that define `NAME_out` of each carried value, `scan_K`, and with `condition` also `go`.
    A nested one needs a `level`, since names are unique in a model."""
    g = Body()
    build(g)
    if condition is None:
        g.nodes.append(helper.make_node("Identity", ["cond_in" + level], ["go" + level]))
    ins = [("t" + level, I64, []), ("cond_in" + level, BOOL, [])] + [(n, d, None) for n, d in carried]
    outs = (
        [("go" + level, BOOL, [])] + [(n + "_out", d, None) for n, d in carried] + [(f"scan_{k}", F32, None) for k in range(scans)]
    )
    return g.graph(ins, outs)


def both(model):
    """The model compiled with native loops and without."""
    return [pliant.compile(model, progress=False, native_loops=native) for native in (True, False)]


def reference(model):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def check(model, feeds, rtol=1e-5):
    """Equal to onnxruntime for every feed, and equal bits from native loops and bytecode."""
    session = reference(model)
    native, bytecode = both(model)
    names = [o.name for o in session.get_outputs()]
    for feed in feeds + feeds[::-1]:
        want = session.run(None, {k: np.asarray(v) for k, v in feed.items()})
        got, other = native.run(feed), bytecode.run(feed)
        for name, value in zip(names, want):
            if value.shape == (0,) and got[name].size == 0:
                continue  # onnxruntime forgets the other axes of a scan output without iterations
            assert got[name].shape == value.shape, (name, got[name].shape, value.shape)
            np.testing.assert_allclose(got[name], value, rtol=rtol, atol=rtol, err_msg=name)
            assert got[name].tobytes() == other[name].tobytes(), f"{name}: native and bytecode differ"


def rng():
    return np.random.default_rng(0)


def normal(*shape):
    return rng().standard_normal(shape).astype(np.float32)


def append_model(axis, appends=1):
    """acc [a, m, b] grows along `axis` by row + t each iteration."""

    def build(g):
        r = g("Add", "row", g("Cast", "t", to=F32))
        acc = "acc"
        for k in range(appends):
            acc = g("Concat", acc, r if k == 0 else g("Neg", r), axis=axis, name="acc_out" if k == appends - 1 else None)

    g = models.Graph()
    g("Loop", "n", "", "init", body=loop_body(build, [("acc", F32)]), name="out")
    g("ReduceMean", "out", name="total", keepdims=0)
    return g.model(
        [("n", I64, []), ("row", F32, ["a", "k", "b"]), ("init", F32, ["p", "q", "r"])], [("out", F32, None), ("total", F32, [])]
    )


@pytest.mark.parametrize("axis", [0, 1, 2, -1])
@pytest.mark.parametrize("appends", [1, 2])
def test_growth(axis, appends):
    feeds = []
    for n, start in ((0, 2), (1, 0), (5, 3), (17, 1), (200, 0)):
        shape = [2, 3, 4]
        shape[axis] = start
        feeds.append(
            {"n": np.int64(n), "row": normal(*[1 if i == axis % 3 else s for i, s in enumerate([2, 3, 4])]), "init": normal(*shape)}
        )
    check(append_model(axis, appends), feeds, rtol=1e-4)


@pytest.mark.parametrize("width", [4096, 4097, "k"])
@pytest.mark.parametrize("returned", [True, False])
def test_growth_beyond_the_caches(width, returned):
    """Outputs of some megabytes: written by non-temporal stores where only the caller reads them, reduced while they grow."""

    def build(g):
        r = g("Add", "row", g("Cast", "t", to=F32))
        g("Concat", "acc", r, g("Neg", "row"), axis=0, name="acc_out")
        g("Squeeze", r, g.constant(np.array([0])), name="scan_0")

    g = models.Graph()
    g("Loop", "n", "", "init", body=loop_body(build, [("acc", F32)], scans=1), name="out", outputs=2)
    g("ReduceSum", "out", g.constant(np.array([0])), name="sum", keepdims=0)
    g("ReduceMax", "out", name="max", keepdims=0)
    g("ReduceMean", "out_1", name="mean", axes=[-2])
    outputs = ["out", "out_1", "sum", "max", "mean"] if returned else ["sum", "mean"]
    model = g.model(
        [("n", I64, []), ("row", F32, [1, width]), ("init", F32, ["m", width])], [(name, F32, None) for name in outputs]
    )
    widths = [64, 5000, 4096] if width == "k" else [width]
    check(
        model,
        [
            {"n": np.int64(n), "row": normal(1, w), "init": normal(m, w)}
            for w in widths
            for n, m in ((1, 0), (100, 0), (150, 3), (5, 1))
        ],
    )


def test_two_appends_to_one_version():
    """A fork: both versions are read later, neither sees the other's row; the one that goes on alternates."""

    def build(g):
        r = g("Add", "row", g("Cast", "t", to=F32))
        left = g("Concat", "acc", r, axis=0)
        right = g("Concat", "acc", g("Neg", r), axis=0)
        odd = g("Cast", g("Mod", "t", g.constant(np.int64(2))), to=BOOL)
        g("Where", odd, left, right, name="acc_out")
        g("ReduceSum", g("Mul", left, right), keepdims=0, name="scan_0")

    g = models.Graph()
    g("Loop", "n", "", "init", body=loop_body(build, [("acc", F32)], scans=1), name="out", outputs=2)
    model = g.model([("n", I64, []), ("row", F32, [1, 3]), ("init", F32, ["m", 3])], [("out", F32, None), ("out_1", F32, None)])
    check(model, [{"n": np.int64(n), "row": normal(1, 3), "init": normal(m, 3)} for n, m in ((4, 0), (1, 2), (9, 5), (0, 1))])


def test_beams():
    """Two carried hypotheses that both continue the better one."""

    def build(g):
        r = g("Add", "row", g("Cast", "t", to=F32))
        better = g("Greater", g("ReduceSum", "a", keepdims=0), g("ReduceSum", "b", keepdims=0))
        best = g("Where", better, "a", "b")
        g("Concat", best, r, axis=0, name="a_out")
        g("Concat", best, g("Mul", r, g.constant(np.float32(-0.5))), axis=0, name="b_out")

    g = models.Graph()
    g("Loop", "n", "", "init", "init", body=loop_body(build, [("a", F32), ("b", F32)]), name="out", outputs=2)
    model = g.model([("n", I64, []), ("row", F32, [1, 3]), ("init", F32, ["m", 3])], [("out", F32, None), ("out_1", F32, None)])
    check(model, [{"n": np.int64(n), "row": normal(1, 3), "init": normal(m, 3)} for n, m in ((4, 0), (1, 2), (9, 5), (0, 1))])


def test_beams_by_top_k():
    """Scores that are carried come from an operator without a loop nest, in the order of which caches are gathered."""

    def build(g):
        cache = g("Concat", "cache", g("Unsqueeze", g("Cast", "scores", to=F32), g.constant(np.array([1]))), axis=1)
        each = g("Sub", g("Unsqueeze", "scores", g.constant(np.array([1]))), "costs")
        width = g("Shape", "scores")
        best = g("TopK", g("Reshape", each, g.constant(np.array([-1]))), width, axis=0, name="scores_out", outputs=2)
        choices = g("Squeeze", g("Shape", "costs"), g.constant(np.array([0])))
        g("Gather", cache, g("Div", best[1], choices), axis=0, name="cache_out")

    g = models.Graph()
    start = g("ConstantOfShape", g("Concat", g("Shape", "scores"), g.constant(np.array([0])), axis=0))
    body = loop_body(build, [("scores", F32), ("cache", F32)])
    g("Loop", "n", "", "first", start, body=body, name="out", outputs=2)
    for node in g.nodes[:-1]:
        node.input[:] = ["first" if i == "scores" else i for i in node.input]
    model = g.model([("n", I64, []), ("first", F32, ["b"]), ("costs", F32, ["v"])], [("out", F32, None), ("out_1", F32, None)])
    costs = np.array([0.3, 1.1, 0.2, 2.5], np.float32)
    check(model, [{"n": np.int64(n), "first": normal(b), "costs": costs} for n, b in ((3, 2), (0, 3), (8, 5), (1, 1))])


def test_old_version_read_after_growth():
    def build(g):
        r = g("Add", "row", g("Cast", "t", to=F32))
        grown = g("Concat", "acc", r, axis=0, name="acc_out")
        g("Sub", g("ReduceSum", grown, keepdims=0), g("ReduceMax", g("Concat", "acc", "row", axis=0), keepdims=0), name="scan_0")

    g = models.Graph()
    g("Loop", "n", "", "init", body=loop_body(build, [("acc", F32)], scans=1), name="out", outputs=2)
    model = g.model([("n", I64, []), ("row", F32, [1, 3]), ("init", F32, ["m", 3])], [("out", F32, None), ("out_1", F32, None)])
    check(
        model,
        [{"n": np.int64(n), "row": normal(1, 3), "init": normal(m, 3)} for n, m in ((4, 0), (1, 2), (30, 5), (0, 1))],
        rtol=1e-4,
    )


def condition_body(limit_name):
    def build(g):
        s = g("Add", "x", "step", name="x_out")
        g("Identity", s, name="scan_0")
        g("Less", g("ReduceSum", s, keepdims=0), limit_name, name="go")

    return loop_body(build, [("x", F32)], scans=1, condition=True)


@pytest.mark.parametrize("trip, cond", [(True, True), (True, False), (False, True)])
def test_conditions(trip, cond):
    g = models.Graph()
    g("Loop", "n" if trip else "", "c" if cond else "", "x0", body=condition_body("limit"), name="x", outputs=2)
    inputs = [("x0", F32, [3]), ("step", F32, [3]), ("limit", F32, [])]
    inputs += [("n", I64, [])] if trip else []
    inputs += [("c", BOOL, [])] if cond else []
    model = g.model(inputs, [("x", F32, None), ("x_1", F32, None)])
    feeds = []
    for n, c, limit in ((5, True, 100), (50, True, 9), (0, True, 5), (7, False, 50), (3, True, -1)):
        feed = {"x0": normal(3), "step": np.ones(3, np.float32), "limit": np.float32(limit), "n": np.int64(n), "c": np.bool_(c)}
        feeds.append({k: feed[k] for k in feed if k in {i[0] for i in inputs}})
    check(model, feeds)


@pytest.mark.parametrize("shape", [["k"], ["k", "l"]])
def test_conditions_of_open_size(shape):
    """A condition has one element, whether or not its type says so."""
    one, b = np.ones(len(shape), int), Body()
    b("Neg", "x", name="then")
    other = Body()
    other("Exp", "x", name="otherwise")
    branches = {"then_branch": b.graph([], [("then", F32, None)]), "else_branch": other.graph([], [("otherwise", F32, None)])}

    def build(g):
        g("Add", "x", "y0", name="x_out")
        g("Identity", "c", name="go")

    body = loop_body(build, [("x", F32)], condition=True)
    g = models.Graph()
    g("If", "c", name="y0", **branches)
    g("Loop", "n", "c", "y0", body=body, name="y")
    model = g.model([("n", I64, ["m"]), ("c", BOOL, shape), ("x", F32, ["s"])], [("y", F32, None)])
    body.input[2].name, body.node[0].input[0] = "a", "a"
    feed = {"n": np.array([3]), "c": np.full(one, True), "x": normal(4)}
    for exe in both(model) + [pliant.compile(model, progress=False, check_passes=True)]:
        np.testing.assert_allclose(exe.run(feed)["y"], -4 * feed["x"], rtol=1e-6)
        np.testing.assert_allclose(exe.run({**feed, "c": np.full(one, False)})["y"], np.exp(feed["x"]), rtol=1e-6)


def test_carried_values_that_change_places():
    """Swapped, passed through, replaced by an outer value and by a constant."""

    def build(g):
        g("Identity", "b", name="a_out")
        g("Add", "a", "outer", name="b_out")
        g("Identity", "keep", name="keep_out")
        g("Identity", "outer", name="taken_out")

    g = models.Graph()
    g(
        "Loop",
        "n",
        "",
        "x",
        "y",
        "x",
        "y",
        name="o",
        outputs=4,
        body=loop_body(build, [("a", F32), ("b", F32), ("keep", F32), ("taken", F32)]),
    )
    model = g.model(
        [("n", I64, []), ("x", F32, ["m", 2]), ("y", F32, ["m", 2]), ("outer", F32, ["m", 2])],
        [(f"o_{i}" if i else "o", F32, None) for i in range(4)],
    )
    check(
        model,
        [
            {"n": np.int64(n), "x": normal(m, 2), "y": normal(m, 2) + 1, "outer": normal(m, 2) + 2}
            for n, m in ((0, 3), (1, 1), (5, 4), (2, 0))
        ],
    )


def test_shape_that_changes_without_a_pattern():
    """The carried value is cut to a data-dependent length each time."""

    def build(g):
        keep = g("Greater", "v", "low")
        g("Mul", g("Compress", "v", keep, axis=0), g.constant(np.float32(0.9)), name="v_out")
        g("ReduceSum", "v", keepdims=0, name="scan_0")

    g = models.Graph()
    g("Loop", "n", "", "v0", body=loop_body(build, [("v", F32)], scans=1), name="v_end", outputs=2)
    model = g.model([("n", I64, []), ("v0", F32, ["m"]), ("low", F32, [])], [("v_end", F32, None), ("v_end_1", F32, None)])
    check(
        model,
        [
            {"n": np.int64(n), "v0": np.abs(normal(m)) + 0.1, "low": np.float32(0.5)}
            for n, m in ((3, 20), (0, 4), (30, 100), (2, 0))
        ],
    )


def test_nested():
    """A loop in a branch in a loop, with captures from every level."""
    inner = loop_body(lambda g: g("Add", g("Mul", "s", "scale"), "row", name="s_out"), [("s", F32)], level="2")
    then = Body()
    then("Loop", "t", "", "acc", body=inner, name="then_y")
    otherwise = Body()
    otherwise("Sub", "acc", "row", name="else_y")

    def build(g):
        odd = g("Cast", g("Mod", "t", g.constant(np.int64(2))), to=BOOL)
        g(
            "If",
            odd,
            name="acc_out",
            then_branch=then.graph([], [("then_y", F32, None)], "then"),
            else_branch=otherwise.graph([], [("else_y", F32, None)], "else"),
        )
        g("Slice", "acc_out", g.constant(np.array([0])), g.constant(np.array([1])), g.constant(np.array([0])), name="scan_0")

    g = models.Graph()
    g("Loop", "n", "", "x", body=loop_body(build, [("acc", F32)], scans=1), name="y", outputs=2)
    model = g.model(
        [("n", I64, []), ("x", F32, ["m"]), ("row", F32, ["m"]), ("scale", F32, [])], [("y", F32, None), ("y_1", F32, None)]
    )
    check(
        model,
        [
            {"n": np.int64(n), "x": normal(m), "row": normal(m) * 0.5, "scale": np.float32(0.5)}
            for n, m in ((4, 3), (9, 17), (0, 2), (1, 1))
        ],
    )


def branch_model(then, otherwise, outputs, inputs, opset=17):
    g = models.Graph()
    branches = []
    for build in (then, otherwise):
        b = Body()
        build(b)
        branches.append(b.graph([], outputs, "branch"))
    g("If", "c", name="o", outputs=len(outputs), then_branch=branches[0], else_branch=branches[1])
    names = ["o"] + [f"o_{i}" for i in range(1, len(outputs))]
    return g.model([("c", BOOL, []), *inputs], [(n, d, None) for n, (_, d, _) in zip(names, outputs)], opset=opset)


def test_branches_of_different_shapes():
    """Rows differ, one branch gives an outer value, one gives a constant; then the count is used."""
    g = models.Graph()
    branches = []
    for one, two in (
        (lambda b: b("Concat", "x", "x", axis=0, name="p"), lambda b: b("Identity", "x", name="q")),
        (
            lambda b: b("Slice", "x", b.constant(np.array([1])), b.constant(np.array([3])), name="p"),
            lambda b: b("Constant", value=numpy_helper.from_array(np.ones((2, 2), np.float32)), name="q"),
        ),
    ):
        b = Body()
        one(b), two(b)
        branches.append(b.graph([], [("p", F32, None), ("q", F32, None)], "branch"))
    g("If", "c", name="o", outputs=2, then_branch=branches[0], else_branch=branches[1])
    g("ReduceSum", g("Softmax", "o", axis=0), name="s", keepdims=1, axes=[0])
    g.nodes.pop()
    g("MatMul", g("Transpose", "o", perm=[1, 0]), "o", name="s")
    model = g.model([("c", BOOL, []), ("x", F32, ["m", 2])], [("o", F32, None), ("o_1", F32, None), ("s", F32, None)])
    check(model, [{"c": np.bool_(c), "x": normal(m, 2)} for c in (True, False) for m in (0, 1, 2, 3, 10)])


def scan_model(build, states, scans, outs, **attributes):
    g = Body()
    build(g)
    body = g.graph(
        [(n, F32, None) for n in states + scans], [(n + "_out", F32, None) for n in states] + [(n, F32, None) for n in outs]
    )
    m = models.Graph()
    names = [n + "_0" for n in states] + [n + "_all" for n in scans]
    m("Scan", *names, body=body, num_scan_inputs=len(scans), name="r", outputs=len(states) + len(outs), **attributes)
    results = ["r"] + [f"r_{i}" for i in range(1, len(states) + len(outs))]
    return m, names, results


@pytest.mark.parametrize("in_axis, out_axis", [(0, 0), (1, 1), (-1, -2)])
@pytest.mark.parametrize("directions", [(0, 0), (1, 0), (0, 1), (1, 1)])
def test_scan(in_axis, out_axis, directions):
    def build(g):
        s = g("Add", g("Mul", "s", g.constant(np.float32(0.5))), "x", name="s_out")
        g("Add", s, "z", name="y")

    m, names, results = scan_model(
        build,
        ["s"],
        ["x", "z"],
        ["y"],
        scan_input_axes=[in_axis, 0],
        scan_output_axes=[out_axis],
        scan_input_directions=[directions[0], 0],
        scan_output_directions=[directions[1]],
    )
    model = m.model(
        [("s_0", F32, ["b"]), ("x_all", F32, ["p", "q"]), ("z_all", F32, ["n", "b"])], [(r, F32, None) for r in results]
    )

    def feed(n, b):
        x = normal(n, b)
        return {"s_0": normal(b), "x_all": x if in_axis == 0 else np.ascontiguousarray(x.T), "z_all": normal(n, b)}

    check(model, [feed(n, b) for n, b in ((5, 3), (1, 1), (20, 17))])
    # onnxruntime does not come back from empty states.
    got = pliant.compile(model, progress=False).run(feed(3, 0))
    assert got["r"].shape == (0,) and sorted(got["r_1"].shape) == [0, 3]


def endless():
    body = loop_body(
        lambda g: (
            g("Add", "x", g.constant(np.float32(1)), name="x_out"),
            g("Greater", "x_out", g.constant(np.float32(-1)), name="go"),
        ),
        [("x", F32)],
        condition=True,
    )
    g = models.Graph()
    g("Loop", "", "c", "x0", body=body, name="x")
    return g.model([("x0", F32, []), ("c", BOOL, [])], [("x", F32, None)])


@pytest.mark.parametrize("native", [True, False])
def test_cancel(native):
    """A loop without an end stops on cancel(), and the model stays usable."""
    exe = pliant.compile(endless(), progress=False, native_loops=native)
    stopped = []

    def run():
        try:
            exe.run({"x0": np.float32(0), "c": np.bool_(True)})
        except pliant.Error as e:
            stopped.append(str(e))

    thread = threading.Thread(target=run)
    thread.start()
    time.sleep(0.1)
    exe.cancel()
    thread.join()
    assert len(stopped) == 1 and "cancel" in stopped[0].lower()
    assert exe.run({"x0": np.float32(5), "c": np.bool_(False)})["x"] == 5


@pytest.mark.parametrize("native", [True, False])
def test_memory_limit(native):
    exe = pliant.compile(append_model(0), progress=False, native_loops=native)
    feed = {"n": np.int64(100_000), "row": normal(1, 8, 8), "init": normal(0, 8, 8)}
    with pytest.raises(pliant.Error, match="(?i)memory"):
        exe.run(feed, memory_limit=1 << 20)
    assert exe.run(feed)["out"].shape == (100_000, 8, 8)
    assert exe.run({**feed, "n": np.int64(3)}, memory_limit=1 << 20)["out"].shape == (3, 8, 8)


@pytest.mark.parametrize("native", [True, False])
def test_errors_name_node_and_iteration(native):
    def build(g):
        row = g("Gather", "table", g("Sub", g.constant(np.int64(2)), "t"), axis=0, name="pick")
        g("Add", "acc", row, name="acc_out")

    g = models.Graph()
    g("Loop", "n", "", "x", body=loop_body(build, [("acc", F32)]), name="walk")
    model = g.model([("n", I64, []), ("x", F32, [3]), ("table", F32, ["rows", 3])], [("walk", F32, None)])
    exe = pliant.compile(model, progress=False, native_loops=native)
    feed = {"x": normal(3), "table": normal(3, 3)}
    assert exe.run({**feed, "n": np.int64(6)})["walk"].shape == (3,)
    with pytest.raises(pliant.Error) as e:
        exe.run({**feed, "n": np.int64(8)})
    assert "pick" in str(e.value) and "walk" in str(e.value) and "iteration 6" in str(e.value)


def conditional_append():
    """A row is appended in every third iteration, in a branch of a branch."""

    def build(g):
        third = g("Equal", g("Mod", "t", g.constant(np.int64(3))), g.constant(np.int64(1)))
        small = g("Less", "t", g.constant(np.int64(1_000_000)))
        deep, kept, then, otherwise = Body(), Body(), Body(), Body()
        deep("Concat", "acc", deep("Add", "row", deep("Cast", "t", to=F32)), axis=0, name="deep_y")
        kept("Identity", "acc", name="kept_y")
        then(
            "If",
            small,
            name="then_y",
            then_branch=deep.graph([], [("deep_y", F32, None)]),
            else_branch=kept.graph([], [("kept_y", F32, None)]),
        )
        otherwise("Identity", "acc", name="else_y")
        g(
            "If",
            third,
            name="acc_out",
            then_branch=then.graph([], [("then_y", F32, None)]),
            else_branch=otherwise.graph([], [("else_y", F32, None)]),
        )
        g("ReduceSum", g("Concat", "acc", "acc_out", axis=0), keepdims=0, name="scan_0")

    g = models.Graph()
    g("Loop", "n", "", "init", body=loop_body(build, [("acc", F32)], scans=1), name="o", outputs=2)
    return g.model([("n", I64, []), ("row", F32, [1, 3]), ("init", F32, ["m", 3])], [("o", F32, None), ("o_1", F32, None)])


def test_append_in_an_branch():
    check(
        conditional_append(),
        [{"n": np.int64(n), "row": normal(1, 3), "init": normal(m, 3)} for n, m in ((0, 2), (1, 0), (2, 1), (20, 3))],
        rtol=1e-4,
    )


def test_branches_of_different_ranks():
    """What follows goes on in each branch; an output of the model has the rank that its run gives."""
    g = models.Graph()
    then, otherwise = Body(), Body()
    then("ReduceSum", "x", keepdims=0, name="p")
    otherwise("Mul", "x", "x", name="q")
    g("If", "c", name="o", then_branch=then.graph([], [("p", F32, None)]), else_branch=otherwise.graph([], [("q", F32, None)]))
    g("Exp", "o", name="e")
    g("ReduceMean", "e", name="s", keepdims=0)
    model = g.model([("c", BOOL, []), ("x", F32, ["m", 2])], [("e", F32, None), ("s", F32, None)])
    check(model, [{"c": np.bool_(c), "x": normal(m, 2)} for c in (True, False) for m in (1, 3)])
