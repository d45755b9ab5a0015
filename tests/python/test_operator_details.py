"""Details of single operators that models run into: defaults of old opsets, empty results, rounding, sizes that the run decides."""
import numpy as np
import pliant
import pytest
from models import F32, I64, Graph
from onnx import TensorProto, helper

F16, U8 = TensorProto.FLOAT16, TensorProto.UINT8


def run(model, *inputs, **options):
    return pliant.compile(model, **options).run(list(inputs))["y"]


def single(op, inputs, *names, dtype=F32, opset=17, outputs=1, **attributes):
    g = Graph()
    g(op, *names, name="y", outputs=outputs, **attributes)
    return g.model(inputs, [("y", dtype, None)], opset)


# ---- MaxUnpool

@pytest.mark.parametrize("size", [(4, 4), (5, 7), (9, 6), (3, 3)])
def test_unpooling_puts_back_what_was_pooled(size):
    g = Graph()
    p, i = g("MaxPool", "x", outputs=2, kernel_shape=[2, 2], strides=[2, 2])
    g("MaxUnpool", p, i, g("Shape", "x"), name="y", kernel_shape=[2, 2], strides=[2, 2])
    x = np.random.default_rng(0).standard_normal((2, 3, *size)).astype(np.float32)
    got = run(g.model([("x", F32, ["n", "c", "h", "w"])], [("y", F32, None)]), x)
    want = np.zeros_like(x)
    for at in np.ndindex(2, 3, size[0] // 2, size[1] // 2):
        window = x[at[0], at[1], 2 * at[2]:2 * at[2] + 2, 2 * at[3]:2 * at[3] + 2]
        place = np.unravel_index(window.argmax(), (2, 2))
        want[at[0], at[1], 2 * at[2] + place[0], 2 * at[3] + place[1]] = window.max()
    np.testing.assert_array_equal(got, want)


def test_unpooling_without_a_shape_and_beyond_it():
    x, i = np.float32([[[[5, 6], [7, 8]]]]), np.array([[[[5, 7], [13, 15]]]])
    inputs = [("x", F32, [1, 1, 2, 2]), ("i", I64, [1, 1, 2, 2])]
    got = run(single("MaxUnpool", inputs, "x", "i", kernel_shape=[2, 2], strides=[2, 2]), x, i)
    assert got.shape == (1, 1, 4, 4) and got[0, 0, 1, 1] == 5 and got[0, 0, 3, 3] == 8
    sized = single("MaxUnpool", inputs + [("s", I64, [4])], "x", "i", "s", kernel_shape=[2, 2], strides=[2, 2])
    assert run(sized, x, i, np.array([1, 1, 4, 5]))[0, 0].ravel()[[5, 7, 13, 15]].tolist() == [5, 6, 7, 8]
    for shape in ((1, 1, 3, 4), (1, 0, 4, 4), (1, 1, -4, -4)):
        with pytest.raises(pliant.RunError):
            run(sized, x, i, np.array(shape))


# ---- Clip

@pytest.mark.parametrize("opset", [7, 10, 11, 13])
def test_bounds_of_clip_are_finite_by_default(opset):
    x = np.float32([np.inf, -np.inf, np.nan, 3, -3])
    most = np.finfo(np.float32).max
    for low, high in ((None, None), (0.0, None), (None, 2.0), (-1.0, 2.0)):
        g = Graph()
        if opset < 11:
            g("Clip", "x", name="y", **{k: v for k, v in (("min", low), ("max", high)) if v is not None})
        else:
            bounds = ["" if v is None else g.constant(np.float32(v)) for v in (low, high)]
            g("Clip", "x", *bounds, name="y")
        want = np.clip(x, -most if low is None else low, most if high is None else high)
        np.testing.assert_array_equal(run(g.model([("x", F32, ["n"])], [("y", F32, None)], opset), x), want)


def test_clip_of_other_types():
    x = np.float16([np.inf, -np.inf, 1])
    np.testing.assert_array_equal(run(single("Clip", [("x", F16, ["n"])], "x", dtype=F16, opset=13), x), np.float16([65504, -65504, 1]))
    i = np.array([2**63 - 1, -(2**63), 5])
    np.testing.assert_array_equal(run(single("Clip", [("x", I64, ["n"])], "x", dtype=I64, opset=13), i), i)


# ---- empty results

@pytest.mark.parametrize("op", ["MaxPool", "AveragePool", "LpPool"])
def test_windows_larger_than_their_input_give_nothing(op):
    for kernel, strides, size, want in [([4], [1], 3, 0), ([6], [1], 3, 0), ([6], [2], 3, 0), ([9], [4], 3, 0), ([3], [1], 3, 1),
                                        ([2], [3], 0, 0)]:
        for axis in (size, "n"):
            model = single(op, [("x", F32, [1, 2, axis])], "x", kernel_shape=kernel, strides=strides)
            assert run(model, np.ones((1, 2, size), np.float32)).shape == (1, 2, want)
    if op != "LpPool":
        for kernel, want in (([4, 1], 1), ([5, 1], 0), ([8, 1], 0)):
            model = single(op, [("x", F32, [1, 1, "h", 4])], "x", kernel_shape=kernel, strides=[2, 1], ceil_mode=1)
            got = run(model, np.full((1, 1, 3, 4), 7, np.float32))
            assert got.shape == (1, 1, want, 4) and (got == 7).all()
    model = single(op, [("x", F32, ["n", "c", "h", "w"])], "x", kernel_shape=[3, 3], strides=[2, 2], pads=[0, 0, 1, 1])
    exe = pliant.compile(model)
    for h, w, shape in ((7, 9, (3, 4)), (2, 5, (1, 2)), (1, 5, (0, 2)), (0, 0, (0, 0)), (1, 1, (0, 0))):
        assert exe.run([np.ones((2, 1, h, w), np.float32)])["y"].shape == (2, 1, *shape)


@pytest.mark.parametrize("op", ["ArgMax", "ArgMin"])
def test_the_best_of_nothing(op):
    exes = [pliant.compile(single(op, [("x", F32, s)], "x", dtype=I64, axis=1, keepdims=keep))
            for s in (["n", "m"], ["n", 0]) for keep in (0, 1)]
    for exe, shape in zip(exes, ((0,), (0, 1)) * 2):
        assert exe.run([np.zeros((0, 0), np.float32)])["y"].shape == shape
        with pytest.raises(pliant.RunError, match="whose best place is asked for"):
            exe.run([np.zeros((2, 0), np.float32)])
    assert run(single(op, [("x", F32, [0, 3, 0])], "x", dtype=I64, axis=0), np.zeros((0, 3, 0), np.float32)).shape == (1, 3, 0)
    with pytest.raises(pliant.CompileError, match="whose best place is asked for"):
        pliant.compile(single(op, [("x", F32, [2, 0])], "x", dtype=I64, axis=1))


def test_reductions_of_nothing():
    neutral = {"ReduceSum": 0, "ReduceProd": 1, "ReduceMax": -np.inf, "ReduceMin": np.inf, "ReduceSumSquare": 0, "ReduceL1": 0,
               "ReduceL2": 0, "ReduceLogSum": -np.inf, "ReduceLogSumExp": -np.inf, "ReduceMean": np.nan}
    for op, want in neutral.items():
        model = single(op, [("x", F32, ["n", "m"])], "x", opset=12, axes=[1])
        exe = pliant.compile(model)
        np.testing.assert_array_equal(exe.run([np.zeros((2, 0), np.float32)])["y"], np.full((2, 1), want, np.float32))
        assert exe.run([np.zeros((0, 0), np.float32)])["y"].shape == (0, 1)


# ---- Resize

@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.int32], ids=lambda t: t.__name__)
@pytest.mark.parametrize("mode", ["linear", "cubic"])
def test_antialiased_integers_are_rounded(mode, dtype):
    onnx_type = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    info = np.iinfo(dtype)
    x = np.random.default_rng(4).integers(info.min // 4, info.max // 4, (1, 1, 12, 14), dtype)

    def resized(t, value, scales):
        g = Graph()
        g("Resize", "x", "", g.constant(np.float32([1, 1, *scales])), name="y", mode=mode, antialias=1)
        return run(g.model([("x", t, ["n", "c", "h", "w"])], [("y", t, None)], 19), value)

    def rounded(v):
        return np.clip(np.trunc(v.astype(np.float64) + np.copysign(0.5, v)), info.min, info.max)

    if info.bits == 32:
        x //= 1 << 12
    for scales in ((1, 0.6), (0.37, 1), (0.5, 0.6), (1.7, 0.5)):
        wide = rounded(resized(F32, x.astype(np.float32), (1, scales[1])))
        want = rounded(resized(F32, wide.astype(np.float32), (scales[0], 1)))
        got = resized(onnx_type, x, scales)
        assert got.dtype == dtype
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("coordinate", ["asymmetric", "half_pixel", "align_corners", "pytorch_half_pixel"])
@pytest.mark.parametrize("nearest", ["floor", "ceil", "round_prefer_floor", "round_prefer_ceil"])
def test_constant_scales_pick_what_scales_from_data_pick(nearest, coordinate):
    x = np.arange(97, dtype=np.float32)
    attributes = {"mode": "nearest", "nearest_mode": nearest, "coordinate_transformation_mode": coordinate}
    given = pliant.compile(single("Resize", [("x", F32, ["n"]), ("s", F32, [1])], "x", "", "s", **attributes))
    for scale in (0.1, 0.3, 0.6, 0.7, 1 / 3, 1.1, 1.3, 2.2, 0.5, 1.5, 3.0, 0.9999, 1.7320508):
        g = Graph()
        g("Resize", "x", "", g.constant(np.float32([scale])), name="y", **attributes)
        got = run(g.model([("x", F32, ["n"])], [("y", F32, None)]), x)
        np.testing.assert_array_equal(got, given.run({"x": x, "s": np.float32([scale])})["y"], err_msg=str(scale))
        if coordinate == "asymmetric" and nearest == "floor":
            at = np.floor(np.arange(len(got)).astype(np.float32) / np.float32(scale))
            np.testing.assert_array_equal(got, np.minimum(at, 96), err_msg=str(scale))


# ---- quantisation

def test_halves_are_quantised_by_a_division_of_halves():
    x = (np.random.default_rng(5).standard_normal(4000) * 40).astype(np.float16)
    scale, zero = np.float16(0.0371), np.uint8(100)
    inputs = [("x", F16, ["n"]), ("s", F16, []), ("z", U8, [])]
    want = np.clip(np.rint((x / scale).astype(np.float32)) + 100, 0, 255)
    np.testing.assert_array_equal(run(single("QuantizeLinear", inputs, "x", "s", "z", dtype=U8, opset=19), x, scale, zero), want)
    exact = np.clip(np.rint(x.astype(np.float32) / np.float32(scale)) + 100, 0, 255)
    assert (exact != want).any()
    model = single("QuantizeLinear", inputs, "x", "s", "z", dtype=U8, opset=23, precision=F32)
    np.testing.assert_array_equal(run(model, x, scale, zero), exact)


# ---- Attention

@pytest.mark.parametrize("size", [8, "d"])
def test_heads_that_the_run_counts(size):
    rng = np.random.default_rng(6)
    inputs = [("q", F32, ["b", "hq", "s", size]), ("k", F32, ["b", "hk", "t", size]), ("v", F32, ["b", "hk", "t", "e"])]
    exe = pliant.compile(single("Attention", inputs, "q", "k", "v", opset=23))
    for heads, groups in ((4, 4), (6, 2), (3, 1), (1, 1)):
        q, k, v = (rng.standard_normal(s).astype(np.float32) for s in ((2, heads, 5, 8), (2, groups, 7, 8), (2, groups, 7, 3)))
        k2, v2 = (np.repeat(a, heads // groups, 1) for a in (k, v))
        scores = q @ k2.swapaxes(2, 3) / np.sqrt(8)
        p = np.exp(scores - scores.max(-1, keepdims=True))
        np.testing.assert_allclose(exe.run([q, k, v])["y"], p / p.sum(-1, keepdims=True) @ v2, rtol=1e-4, atol=1e-5)
    with pytest.raises(pliant.RunError, match="heads"):
        exe.run([np.zeros((2, 5, 1, 8), np.float32), np.zeros((2, 2, 1, 8), np.float32), np.zeros((2, 2, 1, 3), np.float32)])


# ---- what a model or a caller gets wrong

@pytest.mark.parametrize("op, gates", [("LSTM", 4), ("GRU", 3), ("RNN", 1)])
@pytest.mark.parametrize("hidden", [-(2**63), -1, 2**40, 2**63 - 1])
def test_hidden_sizes_that_no_layer_has(op, gates, hidden):
    g = Graph()
    weights = [g.constant(np.zeros((1, gates * 4, n), np.float32)) for n in (3, 4)]
    g(op, "x", *weights, name="y", hidden_size=hidden)
    with pytest.raises(pliant.CompileError, match="hidden_size"):
        pliant.compile(g.model([("x", F32, ["t", "b", 3])], [("y", F32, None)]))


def test_a_function_defined_twice():
    def twice(op):
        return helper.make_function("local", "Twice", ["x"], ["y"], [helper.make_node(op, ["x"], ["y"])], [helper.make_opsetid("", 17)])
    ends = [[helper.make_tensor_value_info(n, F32, s)] for n, s in (("x", ["n"]), ("y", None))]
    graph = helper.make_graph([helper.make_node("Twice", ["x"], ["y"], domain="local")], "g", *ends)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("local", 1)], ir_version=8)
    model.functions.append(twice("Neg"))
    assert run(model, np.float32([1]))[0] == -1
    model.functions.append(twice("Abs"))
    with pytest.raises(pliant.CompileError, match="'Twice' of domain 'local' is defined twice"):
        pliant.compile(model)


@pytest.mark.parametrize("axis", ["n*2", "1.5", "n + 1", "-3", "3n", "n-1", "(n)", "n/2", 1.5, -7])
def test_axes_of_given_shapes_are_sizes_or_names(axis):
    model = single("Neg", [("x", F32, ["n", "m"])], "x")
    with pytest.raises(pliant.CompileError, match="input \"x\""):
        pliant.compile(model, shapes={"x": [axis, 4]})
    for good in ("rows", 3, np.int64(3), "batch.size", "m", "_n", "größe"):
        pliant.compile(model, shapes={"x": [good, 4]})
    odd = single("Neg", [("x", F32, ["2*n + 1", "m"])], "x")
    assert pliant.compile(odd, shapes={"x": ["2*n + 1", 4]}).inputs[0].shape == ("`2*n + 1`", 4)
