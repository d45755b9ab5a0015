"""Sums of many floats: the error bound of docs/adr/0009-numerics.md, in everything that sums, and lengths around the ends of
the blocks in which sums are made."""
import ml_dtypes
import numpy as np
import pliant
import pytest
from onnx import TensorProto, helper
from models import F32, I64, Graph

U8, F16, BF16, F64 = TensorProto.UINT8, TensorProto.FLOAT16, TensorProto.BFLOAT16, TensorProto.DOUBLE
TARGETS = [None, "x86-64-v3"]
MANY = 20_000_003
# A sum differs from the exact one by at most so much times the sum of magnitudes.
BOUND = 300 * 2.0 ** -24
PRODUCT_BOUND = 600 * 2.0 ** -24
ALMOST_TENTHS = (np.arange(256) % 5 * 0.1 + 0.1).astype(np.float32)


def compiled(model, target=None):
    return pliant.compile(model.SerializeToString(), **({"target": target} if target else {}))


def many_bytes(*shape):
    return np.random.default_rng(1).integers(0, 5, shape, dtype=np.uint8)


def tenths(g, name="u"):
    """f32 made of bytes within the model: 0.1, 0.2 … 0.5, none of which is a float."""
    return g("Gather", g.constant(ALMOST_TENTHS), g("Cast", name, to=TensorProto.INT32))


def exact(values):
    return float(np.sum(values, dtype=np.longdouble))


def assert_within(got, want, magnitude, bound=BOUND):
    assert np.all(np.abs(np.asarray(got, np.float64) - want) <= bound * np.asarray(magnitude))


# ---- reductions

@pytest.mark.parametrize("target", TARGETS)
def test_reductions_of_everything(target):
    g = Graph()
    x = tenths(g)
    for op in ("ReduceSum", "ReduceMean", "ReduceL1", "ReduceL2", "ReduceSumSquare", "ReduceLogSum", "ReduceLogSumExp"):
        g(op, x, name=op, keepdims=0)
    ops = [n.name for n in g.nodes if n.name.startswith("Reduce")]
    e = compiled(g.model([("u", U8, ["n"])], [(op, F32, []) for op in ops], opset=18), target)
    u = many_bytes(MANY)
    v = ALMOST_TENTHS[:5].astype(np.float64)
    count = np.bincount(u, minlength=5)
    got = e.run({"u": u})
    total, squares, exps = (float((count * w).sum()) for w in (v, v * v, np.exp(v)))
    assert_within(got["ReduceSum"], total, total)
    assert_within(got["ReduceMean"], total / MANY, total / MANY)
    assert_within(got["ReduceL1"], total, total)
    assert_within(got["ReduceL2"], np.sqrt(squares), np.sqrt(squares))
    assert_within(got["ReduceSumSquare"], squares, squares)
    assert_within(got["ReduceLogSum"], np.log(total), 1)
    assert_within(got["ReduceLogSumExp"], np.log(exps), 1)


SHAPES = {
    "inner": ([2, MANY // 2], [1]), "outer": ([MANY // 3, 3], [0]), "outer_wide": ([MANY // 40, 40], [0]),
    "both_ends": ([1000, 7, 2000], [0, 2]), "long_first": ([MANY // 8, 3, 2], [0, 2]), "long_last": ([2, 3, MANY // 8], [0, 2]),
    "middle": ([3, MANY // 12, 4], [1]),
}


@pytest.mark.parametrize("known", [True, False], ids=["known", "open"])
@pytest.mark.parametrize("shape", SHAPES)
def test_axes(shape, known):
    sizes, axes = SHAPES[shape]
    g = Graph()
    g("ReduceSum", tenths(g), g.constant(np.array(axes)) if known else "axes", name="y", keepdims=1)
    inputs = [("u", U8, [f"d{k}" for k in range(len(sizes))])] + ([] if known else [("axes", I64, [len(axes)])])
    e = compiled(g.model(inputs, [("y", F32, [None] * len(sizes))], opset=18))
    u = many_bytes(*sizes)
    got = e.run({"u": u} if known else {"u": u, "axes": np.array(axes)})["y"]
    want = np.zeros(got.shape)
    for value in range(5):
        want += np.sum(u == value, axis=tuple(axes), keepdims=True, dtype=np.int64) * float(ALMOST_TENTHS[value])
    assert_within(got, want, want)


BLOCK = 256


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", ["f32", "f64", "f16", "bf16"])
def test_lengths_around_blocks(dtype, target):
    """Small integers, whose sums are exact in whatever order they are taken: every element counts once."""
    onnx_type, np_type = {"f32": (F32, np.float32), "f64": (F64, np.float64), "f16": (F16, np.float16),
                          "bf16": (BF16, ml_dtypes.bfloat16)}[dtype]
    g = Graph()
    for name, axes in (("rows", [1]), ("columns", [0]), ("all", [0, 1])):
        g("Cast", g("ReduceSum", g("Cast", "x", to=F64) if dtype == "f64" else "x", g.constant(np.array(axes)), keepdims=0),
          name=name, to=F32)
    e = compiled(g.model([("x", onnx_type, ["m", "n"])], [("rows", F32, None), ("columns", F32, None), ("all", F32, None)],
                         opset=18), target)
    rng = np.random.default_rng(3)
    for lanes in (1, 32, 64):
        for n in (BLOCK * lanes - 1, BLOCK * lanes, BLOCK * lanes + 1, 3 * BLOCK * lanes + lanes // 2 + 1):
            for m in (1, 3):
                for shape in ((m, n), (n, m)):
                    x = (rng.random(shape) < 100 / n).astype(np_type)  # few ones: halves count them exactly
                    got = e.run({"x": x})
                    ones = x.astype(np.int64)
                    assert np.array_equal(got["rows"], ones.sum(1))
                    assert np.array_equal(got["columns"], ones.sum(0))
                    assert got["all"] == ones.sum().astype(np_type).astype(np.float32)


def test_infinities_and_nan_pass_through():
    g = Graph()
    g("ReduceSum", "x", name="y", keepdims=0)
    e = compiled(g.model([("x", F32, ["n"])], [("y", F32, [])], opset=18))
    x = np.ones(100_000, np.float32)
    for values, want in (([np.inf], np.inf), ([-np.inf, 5], -np.inf), ([np.inf, -np.inf], np.nan), ([np.nan, np.inf], np.nan),
                         ([3e38] * 3, np.inf)):
        x[:] = 1
        x[::30_000][:len(values)] = values
        assert np.array_equal(e.run({"x": x})["y"], np.float32(want), equal_nan=True)
    assert e.run({"x": -np.zeros(100_000, np.float32)})["y"] == 0


def test_halves_and_doubles():
    for onnx_type, u in ((F16, 2.0 ** -11), (BF16, 2.0 ** -8), (F64, 1e-13)):
        g = Graph()
        g("Cast", g("ReduceMean", g("Cast", tenths(g), to=onnx_type), keepdims=0), name="y", to=F64)
        e = compiled(g.model([("u", U8, ["n"])], [("y", F64, [])], opset=18))
        u8 = many_bytes(MANY)
        np_type = {F16: np.float16, BF16: ml_dtypes.bfloat16, F64: np.float64}[onnx_type]
        want = float((np.bincount(u8, minlength=5) * ALMOST_TENTHS[:5].astype(np_type).astype(np.float64)).sum()) / MANY
        assert abs(e.run({"u": u8})["y"] - want) <= 1.01 * u * want


# ---- running sums

@pytest.mark.parametrize("exclusive", [0, 1])
@pytest.mark.parametrize("reverse", [0, 1])
def test_running_sums(exclusive, reverse):
    g = Graph()
    for axis in (0, 1):
        g("CumSum", tenths(g), g.constant(np.array(axis)), name=f"y{axis}", exclusive=exclusive, reverse=reverse)
    e = compiled(g.model([("u", U8, ["m", "n"])], [("y0", F32, None), ("y1", F32, None)]))
    for axis, shape in ((0, (2_000_000, 3)), (1, (3, 2_000_000))):
        u = many_bytes(*shape)
        x = ALMOST_TENTHS[u].astype(np.float64)
        x = np.flip(x, axis) if reverse else x
        want = np.cumsum(x, axis) - (x if exclusive else 0)
        want = np.flip(want, axis) if reverse else want
        assert_within(e.run({"u": u})[f"y{axis}"], want, want)


# ---- norms, softmax, losses

def test_softmax_denominators():
    g = Graph()
    x = tenths(g)
    for axis in (0, 1):
        g("ReduceMax", g("Softmax", x, axis=axis), name=f"s{axis}", keepdims=0)
        g("ReduceMax", g("LogSoftmax", x, axis=axis), name=f"l{axis}", keepdims=0)
    names = [f"{k}{axis}" for k in "sl" for axis in (0, 1)]
    e = compiled(g.model([("u", U8, ["m", "n"])], [(n, F32, []) for n in names]))
    for axis, shape in ((0, (MANY // 2, 1)), (1, (1, MANY // 2))):
        u = many_bytes(*shape)
        v = ALMOST_TENTHS[:5].astype(np.float64)
        denominator = float((np.bincount(u.ravel(), minlength=5) * np.exp(v)).sum())
        got = e.run({"u": u})
        want = np.exp(v[4]) / denominator
        assert_within(got[f"s{axis}"], want, want)
        assert_within(got[f"l{axis}"], np.log(want), 1)


NORMS = {
    "layer": lambda g, x: g("LayerNormalization", g("Reshape", x, g.constant(np.array([1, -1]))), "one", axis=1, epsilon=1e-12),
    "instance": lambda g, x: g("InstanceNormalization", g("Reshape", x, g.constant(np.array([1, 1, -1]))), "one", "zero", epsilon=1e-12),
    "mvn": lambda g, x: g("MeanVarianceNormalization", g("Reshape", x, g.constant(np.array([1, 1, -1, 1])))),
    "mvn_outer": lambda g, x: g("MeanVarianceNormalization", g("Reshape", x, g.constant(np.array([-1, 1, 1, 1])))),
    "lp": lambda g, x: g("LpNormalization", g("Reshape", x, g.constant(np.array([1, -1]))), axis=1, p=2),
    "lp1": lambda g, x: g("LpNormalization", g("Reshape", x, g.constant(np.array([-1, 1]))), axis=0, p=1),
}


@pytest.mark.parametrize("norm", NORMS)
def test_norms(norm):
    g = Graph()
    y = NORMS[norm](g, tenths(g))
    g("ReduceMax", y, name="top", keepdims=0)
    inputs = [("u", U8, ["n"])] + [(n, F32, [1]) for n in ("one", "zero")]
    e = compiled(g.model(inputs, [("top", F32, [])]))
    u = many_bytes(MANY // 2)
    v, count = ALMOST_TENTHS[:5].astype(np.float64), np.bincount(u, minlength=5)
    mean = (count * v).sum() / len(u)
    deviation = np.sqrt((count * (v - mean) ** 2).sum() / len(u))
    want = {"lp": v[4] / np.sqrt((count * v * v).sum()), "lp1": v[4] / (count * v).sum()}.get(norm, (v[4] - mean) / deviation)
    one, zero = np.ones(1, np.float32), np.zeros(1, np.float32)
    assert_within(e.run({"u": u, "one": one, "zero": zero})["top"], want, want, 4 * BOUND if "lp" not in norm else BOUND)


def test_losses():
    g = Graph()
    x = g("Reshape", tenths(g), g.constant(np.array([-1, 1])))
    zeros = g("Cast", g("Mul", "u", g.constant(np.uint8(0))), to=I64)
    g("NegativeLogLikelihoodLoss", x, zeros, name="y", reduction="sum")
    e = compiled(g.model([("u", U8, ["n"])], [("y", F32, [])]))
    u = many_bytes(MANY // 2)
    want = float((np.bincount(u, minlength=5) * ALMOST_TENTHS[:5].astype(np.float64)).sum())
    assert_within(e.run({"u": u})["y"], -want, want)


# ---- pools

POOLS = {
    "global_average": lambda g, x: g("GlobalAveragePool", x),
    "global_lp": lambda g, x: g("GlobalLpPool", x, p=1),
    "average": lambda g, x: g("AveragePool", x, kernel_shape=[3000, 3000]),
    "average_padded": lambda g, x: g("AveragePool", x, kernel_shape=[3000, 3000], pads=[1, 1, 1, 1], strides=[2, 2]),
    "lp": lambda g, x: g("LpPool", x, kernel_shape=[3000, 3000], p=1),
}


@pytest.mark.parametrize("pool", POOLS)
def test_pools(pool):
    g = Graph()
    g("Identity", POOLS[pool](g, tenths(g)), name="y")
    e = compiled(g.model([("u", U8, ["b", 1, "h", "w"])], [("y", F32, [None] * 4)]))
    u = many_bytes(1, 1, 3000, 3000)
    x = ALMOST_TENTHS[u].astype(np.float64)
    total = x.sum()
    got = e.run({"u": u})["y"]
    if pool == "average_padded":
        x = x[0, 0]
        total = np.array([[x[:-1, :-1].sum(), x[:-1, 1:].sum()], [x[1:, :-1].sum(), x[1:, 1:].sum()]]) / 2999 ** 2
        return assert_within(got[0, 0], total, total)
    want = total if "lp" in pool else total / 9e6
    assert_within(got.ravel(), want, want)


# ---- products

def product_cases():
    n = 3_000_017
    return {
        "dot": ([("a", [n]), ("b", [n])], "MatMul", {}), "row": ([("a", [1, n]), ("b", [n, 1])], "MatMul", {}),
        "few": ([("a", [2, n]), ("b", [n, 3])], "MatMul", {}), "swept": ([("a", [3, n // 4]), ("b", [n // 4, 20])], "MatMul", {}),
        "many": ([("a", [37, n // 16]), ("b", [n // 16, 35])], "MatMul", {}),
        "few_transposed": ([("a", [3, n]), ("b", [5, n])], "Gemm", {"transB": 1}),
        "tall": ([("a", [n // 16, 17]), ("b", [n // 16, 33])], "Gemm", {"transA": 1}),
        "einsum": ([("a", [n, 2]), ("b", [n, 2])], "Einsum", {"equation": "kb,kb->b"}),
        "einsum_all": ([("a", [n // 2, 2]), ("b", [n // 2, 2])], "Einsum", {"equation": "kb,kb->"}),
        "conv": ([("a", [1, 1, n]), ("b", [1, 1, n])], "Conv", {}),
        "conv_channels": ([("a", [1, n // 3, 3]), ("b", [2, n // 3, 3])], "Conv", {}),
    }


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("case", product_cases())
def test_products(case, target):
    inputs, op, attributes = product_cases()[case]
    g = Graph()
    names = [g("Gather", g.constant(ALMOST_TENTHS), g("Cast", name, to=TensorProto.INT32)) for name, _ in inputs]
    g(op, *names, name="y", **attributes)
    symbols = iter("klmnopq")
    e = compiled(g.model([(name, U8, [next(symbols) for _ in shape]) for name, shape in inputs], [("y", F32, None)]), target)
    a, b = (many_bytes(*shape) for _, shape in inputs)
    got = e.run({"a": a, "b": b})["y"]
    x, y = ALMOST_TENTHS[a].astype(np.float64), ALMOST_TENTHS[b].astype(np.float64)
    x = x.T if attributes.get("transA") else x
    y = y.T if attributes.get("transB") else y
    want = {"MatMul": lambda: x @ y, "Gemm": lambda: x @ y, "Einsum": lambda: np.einsum(attributes["equation"], x, y),
            "Conv": lambda: np.tensordot(y, x, ((1, 2), (1, 2))).reshape(1, -1, 1)}[op]()
    assert_within(got, want, want, PRODUCT_BOUND)


@pytest.mark.parametrize("rows", [1, 9])
def test_products_with_long_constants(rows):
    n = 200_003
    w = ALMOST_TENTHS[many_bytes(n, 5)]
    g = Graph()
    g("MatMul", tenths(g), g.constant(w), name="y")
    e = compiled(g.model([("u", U8, ["m", n])], [("y", F32, ["m", 5])]))
    u = many_bytes(rows, n)
    want = ALMOST_TENTHS[u].astype(np.float64) @ w.astype(np.float64)
    assert_within(e.run({"u": u})["y"], want, want, PRODUCT_BOUND)


@pytest.mark.parametrize("target", TARGETS)
def test_products_around_blocks(target):
    """Small integers: every product counts once, however the reduction is divided."""
    g = Graph()
    g("MatMul", "a", "b", name="y")
    g("Gemm", "a", "c", name="z", transB=1)
    g("Gemm", "d", "b", name="t", transA=1)
    shapes = [("a", F32, ["m", "k"]), ("b", F32, ["k", "n"]), ("c", F32, ["n", "k"]), ("d", F32, ["k", "m"])]
    e = compiled(g.model(shapes, [(n, F32, ["m", "n"]) for n in "yzt"]), target)
    rng = np.random.default_rng(5)
    for k in (511, 512, 513, 1025, 4095, 4096, 4097, 8191, 8192, 8193, 8321, 16500):
        for m, n in ((1, 5), (3, 70), (9, 33), (70, 70)) + (((150, 20),) if k in (1025, 8193) else ()):
            a, b = (rng.integers(-2, 3, s).astype(np.float32) for s in ((m, k), (k, n)))
            got = e.run({"a": a, "b": b, "c": np.ascontiguousarray(b.T), "d": np.ascontiguousarray(a.T)})
            for name in "yzt":
                assert np.array_equal(got[name], a @ b), (name, m, k, n)


# ---- loops

def test_native_loops_give_the_same_bits():
    body = helper.make_graph(
        [helper.make_node("Identity", ["go"], ["go_on"]),
         helper.make_node("ReduceSum", ["x", "axes"], ["rows"], keepdims=1), helper.make_node("CumSum", ["x", "one"], ["c"]),
         helper.make_node("MatMul", ["x", "w"], ["p"]), helper.make_node("Mul", ["rows", "p"], ["scaled"]),
         helper.make_node("ReduceMean", ["scaled"], ["mean"], keepdims=1),
         helper.make_node("Mul", ["c", "mean"], ["d"]), helper.make_node("Sin", ["d"], ["next"])], "body",
        [helper.make_tensor_value_info("i", I64, []), helper.make_tensor_value_info("go", TensorProto.BOOL, []),
         helper.make_tensor_value_info("x", F32, ["m", "n"])],
        [helper.make_tensor_value_info("go_on", TensorProto.BOOL, []), helper.make_tensor_value_info("next", F32, ["m", "n"])])
    g = Graph()
    g.nodes += [helper.make_node("Constant", [], ["axes"], value_ints=[1]), helper.make_node("Constant", [], ["one"], value_int=1)]
    g("Loop", "trip", "", "x0", name="y", body=body)
    model = g.model([("trip", I64, []), ("x0", F32, ["m", "n"]), ("w", F32, ["n", 3])], [("y", F32, ["m", "n"])])
    both = [pliant.compile(model.SerializeToString(), native_loops=native) for native in (True, False)]
    rng = np.random.default_rng(4)
    for n in (5, 700, 20_000):
        feed = {"trip": np.array(3), "x0": rng.standard_normal((3, n), np.float32), "w": rng.standard_normal((n, 3), np.float32)}
        values = [e.run(feed)["y"] for e in both]
        assert np.array_equal(*values) and np.all(np.isfinite(values[0]))


@pytest.mark.parametrize("native", [True, False], ids=["native", "bytecode"])
def test_what_a_loop_stacks(native):
    body = helper.make_graph(
        [helper.make_node("Identity", ["go"], ["go_on"]), helper.make_node("Identity", ["x"], ["kept"]),
         helper.make_node("Identity", ["x"], ["piece"])], "body",
        [helper.make_tensor_value_info("i", I64, []), helper.make_tensor_value_info("go", TensorProto.BOOL, []),
         helper.make_tensor_value_info("x", F32, [2])],
        [helper.make_tensor_value_info("go_on", TensorProto.BOOL, []), helper.make_tensor_value_info("kept", F32, [2]),
         helper.make_tensor_value_info("piece", F32, [2])])
    g = Graph()
    last, stacked = g("Loop", "trip", "", "x0", outputs=2, body=body)
    g("ReduceSum", stacked, g.constant(np.array([0])), name="y", keepdims=0)
    g("ReduceMean", stacked, name="m", keepdims=0, axes=[0, 1])
    model = g.model([("trip", I64, []), ("x0", F32, [2])], [("y", F32, [2]), ("m", F32, [])])
    e = pliant.compile(model.SerializeToString(), native_loops=native)
    trips = 5_000_000 if native else 300_000
    x = np.array([0.1, 0.7], np.float32)
    got = e.run({"trip": np.array(trips), "x0": x})
    assert_within(got["y"], x.astype(np.float64) * trips, x.astype(np.float64) * trips, 2 * 2.0 ** -24)
    assert_within(got["m"], x.astype(np.float64).mean(), 1, 2 * 2.0 ** -24)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int32", "int64"])
def test_running_sums_of_every_length(dtype, target):
    """Small integers, along each axis, both ways."""
    onnx_type = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    g = Graph()
    ways = [(axis, exclusive, reverse) for axis in (0, 1) for exclusive in (0, 1) for reverse in (0, 1)]
    for axis, exclusive, reverse in ways:
        g("CumSum", "x", g.constant(np.array(axis)), name=f"y{axis}{exclusive}{reverse}", exclusive=exclusive, reverse=reverse)
    model = g.model([("x", onnx_type, ["m", "n"])], [(f"y{a}{b}{c}", onnx_type, None) for a, b, c in ways])
    e = compiled(model, target)
    rng = np.random.default_rng(2)
    for n in (0, 1, 2, 7, 8, 9, 15, 16, 17, 31, 33, 67, 255, 256, 257, 513, 800):
        for shape in ((2, n), (n, 2), (n, 19)):
            x = rng.integers(-1, 2, shape).astype(dtype)
            got = e.run({"x": x})
            for axis, exclusive, reverse in ways:
                y = np.flip(x, axis) if reverse else x
                want = np.cumsum(y, axis, dtype=np.float64) - (y if exclusive else 0)
                want = np.flip(want, axis) if reverse else want
                assert np.array_equal(got[f"y{axis}{exclusive}{reverse}"], want.astype(dtype)), (n, axis, exclusive, reverse)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("shape", [["b", "n", "n"], ["b", 40, 40], [3, "n", "n"]])
def test_sums_that_jump_along_every_axis(shape, target):
    # Neither the outputs nor the terms lie side by side; lanes are the terms of one diagonal, which are nearer.
    g = Graph()
    g("Einsum", "x", name="y", equation="bii->b")
    model = g.model([("x", F32, shape)], [("y", F32, shape[:1])])
    exe, plain = compiled(model, target), pliant.compile(model.SerializeToString(), opt_level=0)
    for b, n in ((1, 1), (0, 5), (7, 0), (3, 15), (16, 17), (33, 64), (65, 129), (2, 900)):
        b, n = (v if isinstance(s, str) else s for v, s in ((b, shape[0]), (n, shape[1])))
        x = np.random.default_rng(n).standard_normal((b, n, n)).astype(np.float32)
        d = np.diagonal(x, axis1=1, axis2=2).astype(np.float64)
        for e in (exe, plain):
            got = e.run({"x": x})["y"]
            assert got.shape == (b,)
            assert_within(got, d.sum(1), np.abs(d).sum(1))
