"""Memory is taken for what runs: not for branches and loops that do not run, nor towards a limit that a condition ends earlier."""

import numpy as np
import pytest
from onnx import helper

import models
import pliant
from test_loops import BOOL, F32, I64, Body, both, info

MOST = 2**63 - 1
LIMIT = 16 << 20  # of a run, in bytes: far more than what runs needs, far less than what does not
ARANGE = np.arange(12, dtype=np.float32).reshape(4, 3)


def loop(g, trip, go, inits, build, scans=0):
    """`build(b, t, names)` gives the next condition, or None, and the next values; gives the outputs' names."""
    b, k = Body(), len(g.nodes)
    t, c, names = f"t{k}_{b.prefix}", f"c{k}_{b.prefix}", [f"p{k}_{b.prefix}{i}" for i in range(len(inits))]
    condition, *following = build(b, t, names)
    results = [b("Identity", condition or c)] + [b("Identity", v) for v in following]
    body = helper.make_graph(
        b.nodes,
        "body",
        [info(t, I64, []), info(c, BOOL, [])] + [info(n, F32, None) for n in names],
        [info(results[0], BOOL, [])] + [info(r, F32, None) for r in results[1:]],
        b.initializers,
    )
    outputs = [f"l{k}_{b.prefix}{i}" for i in range(len(following))]
    g.nodes.append(helper.make_node("Loop", [trip, go, *inits], outputs, body=body, name="the_loop"))
    return outputs


def wide(b, x):
    """Makes a matrix [n, n] of x: [n], which lies in memory."""
    outer = b("Mul", b("Unsqueeze", x, b.constant(np.array([1]))), x)
    return b("ReduceSum", b("Softmax", b("MatMul", outer, outer), axis=0), b.constant(np.array([1])), keepdims=0)


def branches(g, condition, build, x):
    """An If whose first branch is `build(b)` and whose second gives x."""
    graphs = []
    for make in (build, lambda b: x):
        b = Body()
        out = b("Identity", make(b))
        graphs.append(b.graph([], [(out, F32, None)]))
    return g("If", condition, then_branch=graphs[0], else_branch=graphs[1])


def small(g, x, limit=1000):
    size = g("Squeeze", g("Shape", x))
    return g("Less", size, g.constant(np.array(limit)))


def sums_of_wide(x):
    outer = np.outer(x, x).astype(np.float64)
    outer = outer @ outer
    e = np.exp(outer - outer.max(axis=0))
    return (e / e.sum(axis=0)).sum(axis=1)


def test_suffixes_of_a_buffer_behind_an_early_stop():
    for limit in (1024, MOST):
        g = models.Graph()

        def build(b, t, names):
            at, axis = b("Unsqueeze", t, b.constant(np.array([0]))), b.constant(np.array([0]))
            rest = b("Slice", names[0], at, b.constant(np.array([MOST])), axis)
            first = b("Slice", names[0], b.constant(np.array([0])), at, axis)
            row = b("ReduceSum", b("Mul", b("Softmax", rest, axis=0), rest), axis, keepdims=1)
            other = b("ReduceSum", b("Mul", b("Softmax", first, axis=0), first), axis, keepdims=1)
            return b("Less", t, "stop"), b("Add", names[0], b("Sub", row, other))

        loop(g, g.constant(np.array(limit)), "", ["x"], build)
        g("Identity", g.nodes[-1].output[0], name="y")
        model = g.model([("x", F32, ["n", 3]), ("stop", I64, [])], [("y", F32, ["n", 3])])
        for exe in both(model) + [pliant.compile(model, progress=False, check_memory=True)]:
            for stop in (0, 2, 4, 9):
                want = ARANGE.astype(np.float64) / 10
                for t in range(stop + 1):
                    parts = [want[t:], want[:t]]
                    sums = [(np.exp(p) / np.exp(p).sum(axis=0) * p).sum(axis=0) for p in parts]
                    want = want + sums[0] - sums[1]
                got = exe.run({"x": ARANGE / 10, "stop": np.array(stop)}, memory_limit=LIMIT)["y"]
                np.testing.assert_allclose(got, want, rtol=2e-4)


@pytest.mark.parametrize("place", ["alone", "in a loop"])
def test_an_branch_that_does_not_run_takes_nothing(place):
    g = models.Graph()
    condition = small(g, "x")
    if place == "alone":
        g("Identity", branches(g, condition, lambda b: wide(b, "x"), "x"), name="y")
    else:
        out = loop(g, "k", "", ["x"], lambda b, t, names: (None, branches(b, condition, lambda a: wide(a, names[0]), names[0])))
        g("Identity", out[0], name="y")
    model = g.model([("x", F32, ["n"])] + ([("k", I64, [])] if place != "alone" else []), [("y", F32, ["n"])])
    more = {"k": np.array(1)} if place != "alone" else {}
    for exe in both(model):
        x = np.linspace(-1, 1, 37, dtype=np.float32)
        np.testing.assert_allclose(exe.run({"x": x, **more})["y"], sums_of_wide(x), rtol=1e-4)
        x = np.ones(100_000, np.float32)
        np.testing.assert_array_equal(exe.run({"x": x, **more}, memory_limit=LIMIT)["y"], x)
    with pytest.raises(pliant.MemoryLimitError, match='node "b'):
        exe.run({"x": x[:900], **more}, memory_limit=1 << 20)


def test_a_loop_without_iterations_takes_nothing():
    for kind in ("changing", "constant"):
        g = models.Graph()
        out = loop(g, "k", "", ["x"], lambda b, t, names: (None, b("Add", names[0], wide(b, names[0] if kind == "changing" else "x"))))
        g("Identity", out[0], name="y")
        model = g.model([("x", F32, ["n"]), ("k", I64, [])], [("y", F32, ["n"])])
        for exe in both(model):
            small_x = np.linspace(-1, 1, 11, dtype=np.float32)
            want = small_x + sums_of_wide(small_x)
            np.testing.assert_allclose(exe.run({"x": small_x, "k": np.array(1)})["y"], want, rtol=1e-4)
            x = np.ones(100_000, np.float32)
            for k in (0, -5, -(2**63)):
                got = exe.run({"x": x, "k": np.array(k)}, memory_limit=LIMIT)["y"]
                np.testing.assert_array_equal(got, x)
        with pytest.raises(pliant.MemoryLimitError, match='node "b'):
                exe.run({"x": x, "k": np.array(1)}, memory_limit=LIMIT)


@pytest.mark.parametrize("limit", [MOST, 2**40, 5000])
def test_values_that_grow_behind_an_early_stop(limit):
    """Room for the limit's iterations would be too much."""
    g = models.Graph()

    def build(b, t, names):
        count = b("Mul", b("Unsqueeze", t, b.constant(np.array([0]))), b.constant(np.array([1000])))
        many = b("Expand", b("ReduceMax", names[0], axes=[0], keepdims=1), b("Concat", count, b.constant(np.array([3])), axis=0))
        row = b("Tanh", b("ReduceSum", b("Softmax", many, axis=1), b.constant(np.array([0])), keepdims=1))
        return b("Less", t, "stop"), b("Concat", row, names[0], axis=0)

    g("Identity", loop(g, g.constant(np.array(limit)), "", ["x"], build)[0], name="y")
    model = g.model([("x", F32, ["n", 3]), ("stop", I64, [])], [("y", F32, None)])
    for exe in both(model):
        for stop in (0, 3):
            want = ARANGE
            for t in range(stop + 1):
                row = want.max(axis=0, keepdims=True)
                e = np.exp(row - row.max())
                want = np.concatenate([np.tanh(t * 1000 * (e / e.sum()).astype(np.float64)).astype(np.float32), want])
            np.testing.assert_allclose(exe.run({"x": ARANGE, "stop": np.array(stop)}, memory_limit=LIMIT)["y"], want, rtol=1e-3)


def test_two_negative_sizes_are_an_error():
    """Their product is not negative."""
    g = models.Graph()
    a, b = (g("Sub", g("Shape", x), g.constant(np.array([5]))) for x in ("x", "y"))
    g("ReduceSum", g("Cos", g("ConstantOfShape", g("Concat", a, b, axis=0))), keepdims=0, name="z")
    model = g.model([("x", F32, ["n"]), ("y", F32, ["m"])], [("z", F32, [])])
    exe = pliant.compile(model, progress=False)
    assert exe.run({"x": np.ones(7, np.float32), "y": np.ones(8, np.float32)})["z"] == 6
    assert exe.run({"x": np.ones(5, np.float32), "y": np.ones(8, np.float32)})["z"] == 0
    with pytest.raises(pliant.RunError):
        exe.run({"x": np.ones(3, np.float32), "y": np.ones(2, np.float32)})


def test_checked_runs_give_the_same(bert_exe):
    exe = pliant.compile(models.bert_like(), progress=False, check_memory=True)
    ids = np.arange(10, dtype=np.int64).reshape(2, 5) % 7
    feed = {"ids": ids, "mask": np.ones((2, 5), np.int64)}
    for name, value in bert_exe.run(feed).items():
        assert exe.run(feed)[name].tobytes() == value.tobytes()


@pytest.mark.parametrize("level", [0, 3])
def test_a_scan_value_whose_size_its_state_decides(level):
    body = helper.make_graph(
        [helper.make_node("Add", ["before", "row"], ["after"]), helper.make_node("Identity", ["after"], ["seen"])], "body",
        [info("before", F32, ["k"]), info("row", F32, [2])], [info("after", F32, ["k"]), info("seen", F32, ["k"])])
    g = models.Graph()
    g.nodes.append(helper.make_node("Scan", ["start", "x"], ["last", "all"], num_scan_inputs=1, body=body))
    model = g.model([("start", F32, ["m"]), ("x", F32, [3, 2])], [("last", F32, None), ("all", F32, None)], opset=11)
    exe = pliant.compile(model, opt_level=level)
    x = np.arange(6, dtype=np.float32).reshape(3, 2)
    for start in (np.array([1, 2], np.float32), np.array([5], np.float32)):
        got = exe.run({"start": start, "x": x})
        np.testing.assert_array_equal(got["all"], start + np.cumsum(x, 0))
        np.testing.assert_array_equal(got["last"], got["all"][-1])
