"""Operators whose sizes or positions only data tell, every parameter an input of the model: beside onnxruntime, from one compilation
for many values, empty results among them."""

import dataclasses
import typing

import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto

import models
import pliant

F32, I64, BOOL = models.F32, models.I64, TensorProto.BOOL


def i64(*values):
    return np.array(values, np.int64)


def normal(rng, *shape):
    return rng.standard_normal(shape).astype(np.float32)


@dataclasses.dataclass
class Model:
    """What to build and what to run it on: `feeds` gives one dict a request."""

    inputs: list
    build: typing.Callable
    feeds: typing.Callable
    outputs: tuple = (("y", F32),)
    ranks: tuple = (None,)
    opset: int = 18
    max_ulp: float = 1e-5


def sparse(rng, n, share):
    """n rows of which about `share` are not zero."""
    x = normal(rng, n, 3)
    x[rng.random(n) >= share] = 0
    return x


def nonzero_gather(g):
    rows = g("Greater", g("ReduceMax", g("Abs", "x"), g.constant(i64(1)), keepdims=0), g.constant(np.float32(0)))
    index = g("Squeeze", g("NonZero", rows), g.constant(i64(0)))
    g("MatMul", g("Gather", "x", index, axis=0), g.weight(3, 5), name="y")


def after_nonzero(g):
    """What reduces, softmaxes, scatters and concatenates a count that may be zero."""
    index = g("Transpose", g("NonZero", "x"), perm=[1, 0])
    picked = g("GatherND", "x", index)
    total = g("ReduceSum", picked, g.constant(i64(0)), keepdims=1)
    spread = g("Softmax", g("Unsqueeze", picked, g.constant(i64(0))), axis=-1)
    scattered = g("ScatterND", g("Mul", "x", g.constant(np.float32(0))), index, g("Exp", picked))
    g("Concat", total, g("Squeeze", spread, g.constant(i64(0))), g("Reshape", scattered, g.constant(i64(-1))), axis=0, name="y")


def unique_parts(g):
    values, first, inverse, counts = g("Unique", "x", outputs=4, sorted=1)
    g("Identity", values, name="y")
    g("Gather", values, inverse, axis=0, name="back")
    g("Mul", counts, g.constant(np.int64(2)), name="twice")
    g("Identity", first, name="first")


def one(op, *inputs, **attributes):
    return lambda g: g(op, *inputs, name="y", **attributes)


def slices(rng):
    for starts, ends, axes, steps in (
        ((1, 0), (3, 9), (0, 1), (1, 2)),
        ((-2, -1), (-9, -8), (1, 0), (-1, -3)),
        ((5, 0), (2, 0), (0, 1), (1, 1)),
        ((-100, 3), (100, 4), (-1, -2), (3, 1)),
        ((0, 0), (2**62, 2**62), (0, 1), (1, 1)),
    ):
        yield {"x": normal(rng, 5, 7), "starts": i64(*starts), "ends": i64(*ends), "axes": i64(*axes), "steps": i64(*steps)}


def pads(rng):
    for before_after, shape in (
        ((0, 1, 2, 0), (3, 4)),
        ((-1, 0, 0, 2), (5, 1)),
        ((0, 0, 0, 0), (0, 3)),
        ((-1, -1, -1, 0), (2, 2)),
        ((7, 3, 0, 1), (1, 1)),
    ):
        yield {"x": normal(rng, *shape), "pads": i64(*before_after), "value": np.float32(rng.random())}


def reflecting(rng):
    for amounts, shape in (((0, 1, 2, 0), (3, 4)), ((2, 3, 2, 3), (3, 4)), ((0, 0, 0, 0), (1, 1))):
        yield {"x": normal(rng, *shape), "pads": i64(*amounts)}


def scales_of_sizes(g):
    """The width's scale is a ratio of two sizes, the height's is known."""
    widths = [g("Cast", g("Slice", g("Shape", x), g.constant(i64(3)), g.constant(i64(4))), to=F32) for x in ("z", "x")]
    g("Resize", "x", "", g("Concat", g.constant(np.array([1, 1, 2], np.float32)), g("Div", *widths), axis=0), mode="linear", name="y")


def scale_for_all(g):
    """Batches and channels keep their sizes, height and width get one scale that only data tell."""
    scale = g("Div", g.constant(np.array([24], np.float32)), g("ReduceMax", "x", g.constant(i64(0, 1, 2, 3)), keepdims=0))
    scales = g("Concat", g.constant(np.array([1, 1], np.float32)), g("Expand", scale, g.constant(i64(2))), axis=0)
    g("Resize", "x", "", scales, mode="linear", name="y")


MODELS = {
    "resize_mixed_scales": Model(
        [("x", F32, ["b", "c", "h", "w"]), ("z", F32, ["b", "c", "h", "w2"])],
        scales_of_sizes,
        lambda r: [{"x": normal(r, 1, 2, h, w), "z": normal(r, 1, 2, h, v)} for h, w, v in ((3, 4, 7), (1, 1, 2), (10, 17, 20), (5, 8, 3))],
        max_ulp=1e-4,
    ),
    "resize_scale_for_all": Model(
        [("x", F32, ["b", "c", "h", "w"])],
        scale_for_all,
        lambda r: [{"x": np.full((2, 3, h, w), v, np.float32) + normal(r, 1, 1, h, w)} for h, w, v in ((3, 4, 9), (5, 2, 7), (1, 1, 5))],
        max_ulp=1e-4,
    ),
    "resize_10": Model(
        [("x", F32, [1, 2, "h", "w"]), ("s", F32, [4])],
        one("Resize", "x", "s"),
        lambda r: [
            {"x": normal(r, 1, 2, h, w), "s": np.array([1, 1, a, b], np.float32)}
            for h, w, a, b in ((2, 4, 0.6, 0.6), (6, 4, 0.5, 2), (7, 5, 1.5, 0.7), (3, 3, 1, 1))
        ],
        opset=10,
    ),
    "pad_wrap": Model(
        [("x", F32, ["n", "m"]), ("pads", I64, [4])],
        one("Pad", "x", "pads", mode="wrap"),
        lambda r: [
            {"x": normal(r, *s), "pads": i64(*p)}
            for s, p in (((5, 6), (2, -2, -1, 3)), ((3, 4), (0, -1, 0, 2)), ((3, 4), (4, 9, 3, 0)), ((4, 4), (-1, -1, -2, 0)))
        ],
        opset=19,
    ),
    "trilu": Model(
        [("x", F32, ["b", "n", "m"]), ("k", I64, [])],
        one("Trilu", "x", "k"),
        lambda r: [{"x": normal(r, 2, 4, 3), "k": np.array(k)} for k in (0, 1, -2, 9, -9, 2**63 - 1, -(2**63) + 1)],
    ),
    "einsum_three": Model(
        [("x", F32, ["b", "i", "j"]), ("z", F32, ["j", "k"]), ("w", F32, ["b", "k"])],
        one("Einsum", "x", "z", "w", equation="bij,jk,bk->bi"),
        lambda r: [{"x": normal(r, b, i, j), "z": normal(r, j, k), "w": normal(r, b, k)}
                   for b, i, j, k in ((2, 3, 4, 5), (1, 1, 1, 1), (3, 8, 20, 7))],
    ),
    "einsum_outer": Model(
        [("x", F32, ["i"]), ("z", F32, ["j"]), ("w", F32, ["b", "i", "k"])],
        one("Einsum", "x", "z", "w", equation="i,j,...ik->...kj"),
        lambda r: [{"x": normal(r, i), "z": normal(r, j), "w": normal(r, b, i, k)}
                   for b, i, j, k in ((2, 3, 4, 5), (1, 1, 1, 1), (3, 8, 20, 7))],
    ),
    "nonzero_gather_matmul": Model(
        [("x", F32, ["n", 3])],
        nonzero_gather,
        lambda r: [{"x": sparse(r, n, s)} for n, s in ((10, 0.5), (10, 0), (1000, 0.3), (64, 1), (1, 1), (17, 0.9))],
    ),
    "after_nonzero": Model(
        [("x", F32, ["n"])],
        after_nonzero,
        lambda r: [{"x": sparse(r, n, s)[:, 0].copy()} for n, s in ((9, 0.5), (9, 0), (33, 1), (100, 0.2))],
    ),
    "unique": Model(
        [("x", F32, ["n"])],
        unique_parts,
        lambda r: [{"x": r.integers(0, k, n).astype(np.float32)} for n, k in ((10, 3), (1, 1), (100, 5), (0, 1), (50, 1000))],
        (("y", F32), ("back", F32), ("twice", I64), ("first", I64)),
    ),
    "compress": Model(
        [("x", F32, ["n", 4]), ("keep", BOOL, ["k"])],
        one("Compress", "x", "keep", axis=0),
        lambda r: [
            {"x": normal(r, n, 4), "keep": r.random(k) < s}
            for n, k, s in ((5, 5, 0.5), (5, 3, 1), (5, 5, 0), (0, 0, 1), (40, 40, 0.7))
        ],
    ),
    "compress_flat": Model(
        [("x", F32, ["n", 4]), ("keep", BOOL, ["k"])],
        one("Compress", "x", "keep"),
        lambda r: [{"x": normal(r, n, 4), "keep": r.random(k) < 0.5} for n, k in ((5, 20), (2, 3), (3, 12))],
    ),
    "range": Model(
        [("a", F32, []), ("b", F32, []), ("d", F32, [])],
        one("Range", "a", "b", "d"),
        lambda r: [
            {"a": np.float32(a), "b": np.float32(b), "d": np.float32(d)}
            for a, b, d in ((0, 5, 1), (5, 0, -1.5), (0, 0, 1), (3, 1, 1), (0, 1, 0.1))
        ],
    ),
    "range_int": Model(
        [("a", I64, []), ("b", I64, []), ("d", I64, [])],
        one("Range", "a", "b", "d"),
        lambda r: [
            {"a": np.int64(a), "b": np.int64(b), "d": np.int64(d)}
            for a, b, d in ((0, 5, 1), (10, -3, -4), (0, 0, 1), (3, 1, 1), (-7, 100, 13))
        ],
        (("y", I64),),
    ),
    "topk": Model(
        [("x", F32, ["n", "m"]), ("k", I64, [1])],
        lambda g: (g("TopK", "x", "k", outputs=2, axis=1, name="y")),
        lambda r: [{"x": normal(r, n, m), "k": i64(k)} for n, m, k in ((3, 8, 2), (1, 1, 1), (2, 5, 0), (4, 100, 100), (0, 6, 3))],
        (("y", F32), ("y_1", I64)),
    ),
    "reshape": Model(
        [("x", F32, ["n", "m"]), ("s", I64, [3])],
        one("Reshape", "x", "s"),
        lambda r: [
            {"x": normal(r, n, m), "s": i64(*s)}
            for n, m, s in ((4, 6, (2, -1, 3)), (4, 6, (0, 2, 3)), (1, 1, (1, 1, -1)), (0, 5, (0, 5, 1)))
        ],
    ),
    "expand": Model(
        [("x", F32, ["n", 1]), ("s", I64, [3])],
        one("Expand", "x", "s"),
        lambda r: [
            {"x": normal(r, n, 1), "s": i64(*s)} for n, s in ((4, (2, 4, 3)), (1, (1, 5, 1)), (3, (0, 3, 2)), (3, (2, 1, 1)))
        ],
    ),
    "tile": Model(
        [("x", F32, ["n", "m"]), ("r", I64, [2])],
        one("Tile", "x", "r"),
        lambda r: [
            {"x": normal(r, n, m), "r": i64(*s)} for n, m, s in ((2, 3, (2, 2)), (1, 1, (5, 1)), (2, 3, (0, 1)), (3, 4, (1, 1)))
        ],
    ),
    "resize": Model(
        [("x", F32, [1, 2, "h", "w"]), ("s", I64, [4])],
        lambda g: g("Resize", "x", "", "", "s", mode="linear", name="y"),
        lambda r: [
            {"x": normal(r, 1, 2, h, w), "s": i64(1, 2, a, b)}
            for h, w, a, b in ((4, 5, 8, 10), (4, 5, 3, 3), (1, 1, 2, 2), (3, 3, 3, 3))
        ],
        max_ulp=1e-4,
    ),
    "resize_scales": Model(
        [("x", F32, [1, 2, "h", "w"]), ("s", F32, [4])],
        lambda g: g(
            "Resize", "x", "", "s", mode="nearest", name="y", coordinate_transformation_mode="asymmetric", nearest_mode="floor"
        ),
        lambda r: [
            {"x": normal(r, 1, 2, h, w), "s": np.array([1, 1, a, b], np.float32)}
            for h, w, a, b in ((4, 5, 2, 2), (4, 6, 0.5, 0.5), (3, 3, 1, 1), (2, 2, 3, 1.5))
        ],
    ),
    "pad": Model([("x", F32, ["n", "m"]), ("pads", I64, [4]), ("value", F32, [])], one("Pad", "x", "pads", "value"), pads),
    "pad_axes": Model(
        [("x", F32, ["n", "m"]), ("pads", I64, [2]), ("value", F32, []), ("axes", I64, [1])],
        one("Pad", "x", "pads", "value", "axes"),
        lambda r: [
            {"x": normal(r, n, m), "pads": i64(*p), "value": np.float32(2), "axes": i64(a)}
            for n, m, p, a in ((3, 4, (1, 2), 0), (3, 4, (1, 2), -1), (3, 4, (-1, 2), 1), (0, 2, (1, 0), -2))
        ],
    ),
    "pad_reflect": Model([("x", F32, ["n", "m"]), ("pads", I64, [4])], one("Pad", "x", "pads", mode="reflect"), reflecting),
    "pad_edge": Model([("x", F32, ["n", "m"]), ("pads", I64, [4])], one("Pad", "x", "pads", mode="edge"), reflecting),
    "slice": Model(
        [("x", F32, ["n", "m"]), ("starts", I64, [2]), ("ends", I64, [2]), ("axes", I64, [2]), ("steps", I64, [2])],
        one("Slice", "x", "starts", "ends", "axes", "steps"),
        slices,
    ),
    "split": Model(
        [("x", F32, ["n", 3]), ("s", I64, [2])],
        lambda g: g("Split", "x", "s", axis=0, outputs=2, name="y"),
        lambda r: [{"x": normal(r, a + b, 3), "s": i64(a, b)} for a, b in ((2, 3), (0, 4), (5, 0), (0, 0))],
        (("y", F32), ("y_1", F32)),
    ),
    "one_hot": Model(
        [("x", I64, ["n"]), ("depth", I64, []), ("values", F32, [2])],
        one("OneHot", "x", "depth", "values"),
        lambda r: [
            {"x": i64(*x), "depth": np.int64(d), "values": np.array([0, 2], np.float32)}
            for x, d in (((0, 2, -1), 3), ((), 4), ((5, 1), 2), ((0,), 1))
        ],
    ),
    "cumsum": Model(
        [("x", F32, ["n", "m"]), ("axis", I64, [])],
        one("CumSum", "x", "axis", exclusive=1, reverse=1),
        lambda r: [
            {"x": normal(r, n, m), "axis": np.int64(a)} for n, m, a in ((3, 4, 0), (3, 4, 1), (3, 4, -1), (0, 4, 0), (3, 0, 1))
        ],
    ),
    "reduce_axes": Model(
        [("x", F32, ["n", "m", 3]), ("axes", I64, [2])],
        one("ReduceSum", "x", "axes", keepdims=1),
        lambda r: [
            {"x": normal(r, n, m, 3), "axes": i64(*a)}
            for n, m, a in ((2, 4, (0, 1)), (2, 4, (2, 0)), (2, 4, (-1, -2)), (0, 4, (0, 2)))
        ],
    ),
    "reduce_axes_dropped": Model(
        [("x", F32, ["n", "m", 3]), ("axes", I64, [1])],
        one("ReduceMax", "x", "axes", keepdims=0),
        lambda r: [{"x": normal(r, n, m, 3), "axes": i64(a)} for n, m, a in ((2, 4, 0), (2, 4, 1), (2, 4, -1))],
    ),
    "constant_of_shape": Model(
        [("s", I64, [2])], one("ConstantOfShape", "s"), lambda r: [{"s": i64(*s)} for s in ((2, 3), (0, 4), (1, 1), (7, 0))]
    ),
    "eye": Model(
        [("x", F32, ["n", "m"])], one("EyeLike", "x", k=1), lambda r: [{"x": normal(r, n, m)} for n, m in ((3, 4), (0, 2), (5, 1))]
    ),
    "scatter_elements": Model(
        [("x", F32, ["n", 3]), ("i", I64, ["k", 3]), ("u", F32, ["k", 3])],
        one("ScatterElements", "x", "i", "u", axis=0, reduction="add"),
        lambda r: [
            {"x": normal(r, n, 3), "i": r.integers(-n, n, (k, 3)), "u": normal(r, k, 3)}
            for n, k in ((4, 2), (4, 0), (1, 1), (9, 9))
        ],
    ),
    "gather_elements": Model(
        [("x", F32, ["n", 3]), ("i", I64, ["k", 3])],
        one("GatherElements", "x", "i", axis=0),
        lambda r: [{"x": normal(r, n, 3), "i": r.integers(-n, n, (k, 3))} for n, k in ((4, 2), (4, 0), (1, 3), (9, 9))],
    ),
    "nms": Model(
        [("b", F32, [1, "n", 4]), ("s", F32, [1, 2, "n"]), ("k", I64, [1]), ("t", F32, [1]), ("c", F32, [1])],
        one("NonMaxSuppression", "b", "s", "k", "t", "c"),
        lambda r: [
            {
                "b": np.sort(r.random((1, n, 4)).astype(np.float32), axis=-1)[..., [0, 1, 2, 3]],
                "s": r.random((1, 2, n)).astype(np.float32),
                "k": i64(k),
                "t": np.array([0.5], np.float32),
                "c": np.array([low], np.float32),
            }
            for n, k, low in ((10, 3, 0.2), (10, 0, 0.2), (0, 3, 0), (50, 50, 0.5), (5, 5, 2))
        ],
        (("y", I64),),
    ),
    "unsqueeze_axes": Model(
        [("x", F32, ["n", "m"]), ("axes", I64, [1])],
        one("Unsqueeze", "x", "axes"),
        lambda r: [{"x": normal(r, n, m), "axes": i64(a)} for n, m, a in ((2, 3, 0), (2, 3, 1), (2, 3, -1), (0, 1, 2))],
    ),
    "squeeze_axes": Model(
        [("x", F32, ["n", 1, "m"]), ("axes", I64, [1])],
        one("Squeeze", "x", "axes"),
        lambda r: [{"x": normal(r, n, 1, m), "axes": i64(a)} for n, m, a in ((2, 3, 1), (1, 3, 0), (4, 1, -1), (0, 1, 1))],
    ),
}


def session_of(model):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def onnx_model(m):
    g = models.Graph()
    m.build(g)
    return g.model(m.inputs, [(name, dtype, None) for name, dtype in m.outputs], opset=m.opset)


@pytest.mark.parametrize("name", MODELS)
def test_parity(name):
    m = MODELS[name]
    model = onnx_model(m)
    session, exe = session_of(model), pliant.compile(model, progress=False)
    # Each value after the others, and again in reverse: nothing of an earlier request may remain.
    feeds = list(m.feeds(np.random.default_rng(0)))
    for feed in feeds + feeds[::-1]:
        want = session.run(None, {k: np.asarray(v) for k, v in feed.items()})
        got = exe.run(feed)
        for (output, _), value in zip(m.outputs, want):
            assert got[output].shape == value.shape, output
            assert got[output].dtype == value.dtype
            np.testing.assert_allclose(got[output], value, rtol=m.max_ulp, atol=m.max_ulp, err_msg=f"{output} of {feed}")


def test_counts_keep_memory_flat():
    """1,000 different counts through one loaded model: the memory does not grow and every output has its exact size."""
    m = MODELS["nonzero_gather_matmul"]
    exe = pliant.compile(onnx_model(m), progress=False)
    rng = np.random.default_rng(0)
    order = rng.permutation(np.linspace(0, 10_000, 1000).astype(int))
    resident = []
    for step, count in enumerate(order):
        x = np.zeros((10_000, 3), np.float32)
        x[rng.choice(10_000, count, replace=False)] = 1
        y = exe.run({"x": x})["y"]
        assert y.shape == (count, 5)
        assert y.base is None or y.nbytes == count * 20
        if step in (200, len(order) - 1):
            resident.append(resident_bytes())
    assert resident[1] - resident[0] < 4 << 20


@pytest.mark.parametrize("check_memory", [False, True])
def test_found_sizes_decide_the_memory_of_outputs(check_memory):
    """Outputs of Compress, NonZero and Unique take what they hold, not what they could hold, whoever reads them afterwards."""
    def compiled(build, inputs, outputs):
        g = models.Graph()
        build(g)
        return pliant.compile(g.model(inputs, [(o, t, None) for o, t in outputs]), progress=False, check_memory=check_memory)

    bools, rows = ("c", BOOL, ["n"]), ("x", F32, ["n", 40])
    cases = [
        (compiled(lambda g: g("Compress", "x", "c", name="y", axis=0), [rows, bools], [("y", F32)]), lambda x, c: [x[c]]),
        (compiled(lambda g: g("Compress", "x", "c", name="y"), [rows, bools], [("y", F32)]),
         lambda x, c: [x.reshape(-1)[:c.size][c]]),
        (compiled(lambda g: g("Neg", g("Compress", "x", "c", name="y", axis=0), name="z"), [rows, bools], [("y", F32), ("z", F32)]),
         lambda x, c: [x[c], -x[c]]),
        (compiled(lambda g: g("Reshape", g("Compress", "x", "c", name="y", axis=0), g.constant(i64(-1)), name="z"), [rows, bools],
                  [("z", F32)]), lambda x, c: [x[c].reshape(-1)]),
        (compiled(lambda g: (g("NonZero", "c", name="y"), g("Identity", "x", name="z")), [rows, bools], [("y", I64), ("z", F32)]),
         lambda x, c: [np.stack(np.nonzero(c)), x]),
        (compiled(lambda g: (g("NonZero", "c", name="y"), g("Compress", "x", "c", name="z", axis=0)), [rows, bools],
                  [("y", I64), ("z", F32)]), lambda x, c: [np.stack(np.nonzero(c)), x[c]]),
        (compiled(lambda g: (g("Unique", "x", name="y"), g("Shape", "c", name="z")), [rows, bools], [("y", F32), ("z", I64)]),
         lambda x, c: [np.unique(x), np.array(c.shape)]),
    ]
    rng = np.random.default_rng(4)
    for n in (0, 1, 7, 64, 4001):
        for share in (0, 0.02, 0.5, 1):
            x, c = rng.integers(0, 3, (n, 40)).astype(np.float32), rng.random(n) < share
            for k, (exe, reference) in enumerate(cases):
                want = reference(x, c)
                limit = {} if k in (3, 6) else {"memory_limit": sum(w.nbytes for w in want) + 1}
                got = exe.run({"x": x, "c": c}, **limit)
                for value, w in zip(got.values(), want):
                    assert value.shape == w.shape and value.dtype == w.dtype
                    np.testing.assert_array_equal(value, w, err_msg=f"case {k}, n={n}, {share}")


def resident_bytes():
    with open("/proc/self/statm") as f:
        return int(f.read().split()[1]) * 4096


def test_joining_columns_of_no_rows():
    """Every piece but the first begins behind the end of a result without elements."""
    g = models.Graph()
    y = g("Concat", g("Neg", "x"), g("Exp", "x"), axis=1)
    exe = pliant.compile(g.model([("x", F32, ["n", 3])], [(y, F32, ["n", 6])]).SerializeToString())
    for rows in (0, 2):
        x = np.arange(rows * 3, dtype=np.float32).reshape(rows, 3)
        np.testing.assert_allclose(list(exe.run({"x": x}).values())[0], np.concatenate([-x, np.exp(x)], 1), rtol=1e-5)


@pytest.mark.parametrize("dtype", [np.int64, np.float32, np.float64])
@pytest.mark.parametrize("ordered", [0, 1])
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_unique_slices_short_and_long(axis, ordered, dtype):
    g = models.Graph()
    names = g("Unique", "x", outputs=4, name="y", axis=axis, sorted=ordered)
    tensor = models.helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    outputs = [(name, models.I64 if k else tensor, None) for k, name in enumerate(names)]
    model = g.model([("x", tensor, ["a", "b", "c"])], outputs)
    exe = pliant.compile(model)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    rng = np.random.default_rng(0)
    for shape in [(300, 2, 3), (2, 400, 3), (2, 3, 700), (5, 2, 3), (1, 1000, 8), (1, 1000, 9)]:
        x = (rng.integers(0, 3, shape) - 1).astype(dtype)
        got = exe.run({"x": x})
        for name, want in zip(names, session.run(None, {"x": x})):
            np.testing.assert_array_equal(got[name], want)
