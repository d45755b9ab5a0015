"""Fourier transforms of every length, axis and direction beside numpy's, in f64; errors are those of a whole row."""
import numpy as np
import pliant
import pytest
from models import F32, I64, Graph
from onnx import TensorProto, helper

TARGETS = ["native", "x86-64-v3"]
TYPES = {"f32": (F32, np.float32, 1e-6), "f64": (TensorProto.DOUBLE, np.float64, 1e-14),
         "f16": (TensorProto.FLOAT16, np.float16, 2e-3)}
LENGTHS = [*range(71), 97, 101, 121, 125, 127, 128, 210, 243, 256, 343, 400, 480, 509, 512, 625, 729, 1000, 1009, 1024, 1155,
           2048, 2310, 3125, 4095, 4096, 4097, 48000]
KINDS = {"real": (1, False, False), "onesided": (1, False, True), "complex": (2, False, False), "inverse": (2, True, False),
         "real_inverse": (1, True, False), "half": (2, True, True)}


def transform(x, axis, length, inverse, onesided):
    """DFT of x […, parts] in f64."""
    x = np.asarray(x, np.float64)
    z = x[..., 0] + 1j * x[..., 1] if x.shape[-1] == 2 else x[..., 0]
    axis = axis % x.ndim
    if length is None:
        length = 2 * (z.shape[axis] - 1) if inverse and onesided else z.shape[axis]
    if length <= 0:
        return np.zeros([*z.shape[:axis], int(onesided and not inverse), *z.shape[axis + 1:], 1 if inverse and onesided else 2])
    if inverse and onesided:
        return np.fft.irfft(z, length, axis)[..., None]
    f = np.fft.ifft if inverse else np.fft.rfft if onesided else np.fft.fft
    y = f(z, length, axis)
    return np.stack([y.real, y.imag], -1)


def check(got, want, axis, tolerance):
    got = np.asarray(got, np.float64)
    assert got.shape == want.shape
    if want.size:
        across = (axis % want.ndim, want.ndim - 1)
        error, size = (np.sqrt((v * v).sum(axis=across)) for v in (got - want, want))
        assert (error <= tolerance * np.maximum(size, 1e-30)).all(), (error / np.maximum(size, 1e-30)).max()


def dft_model(shape, kind, dtype=F32, axis=1, length=None, opset=17, known=()):
    parts, inverse, onesided = KINDS[kind]
    g = Graph()
    inputs = [("x", dtype, [*shape, parts])]
    extra = []
    if length is not None:
        inputs.append(("length", I64, []))
        extra = ["length"]
    if opset >= 20:
        inputs.append(("axis", I64, []))
        g("DFT", "x", *(extra or [""]), "axis", name="y", inverse=int(inverse), onesided=int(onesided))
    else:
        g("DFT", "x", *extra, name="y", axis=axis, inverse=int(inverse), onesided=int(onesided))
    return g.model(inputs, [("y", dtype, [None] * (len(shape) + 1))], opset=opset)


@pytest.mark.parametrize("kind,dtype,target", [
    *((k, "f32", "native") for k in KINDS), *((k, "f64", "native") for k in ("real", "inverse", "half")),
    *((k, "f32", "x86-64-v3") for k in ("onesided", "inverse", "half")), ("onesided", "f64", "x86-64-v3")])
def test_lengths_that_the_run_knows(kind, dtype, target):
    onnx_type, numpy_type, tolerance = TYPES[dtype]
    parts, inverse, onesided = KINDS[kind]
    exe = pliant.compile(dft_model(["b", "n"], kind, onnx_type), target=target)
    rng = np.random.default_rng(0)
    for n in LENGTHS:
        x = rng.standard_normal((3 if n < 2000 else 1, n, parts)).astype(numpy_type)
        if inverse and onesided:
            if n < 1:
                continue
            x[:, [0, -1], 1] = 0  # as the spectrum of a real signal is
        check(exe.run({"x": x})["y"], transform(x, 1, None, inverse, onesided), 1, tolerance)
    assert np.asarray(exe.run({"x": np.zeros((0, 8, parts), numpy_type)})["y"]).shape[0] == 0


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", ["f32", "f64"])
def test_known_lengths(dtype, target):
    onnx_type, numpy_type, tolerance = TYPES[dtype]
    g = Graph()
    cases, rng = [], np.random.default_rng(1)
    inputs, outputs = [], []
    for n in [*range(1, 19), 30, 35, 49, 60, 64, 97, 125, 240, 400, 509, 512, 1000, 4096]:
        for kind in ("onesided", "inverse") if n > 20 else ("real",):
            parts, inverse, onesided = KINDS[kind]
            name = f"{kind}{n}"
            inputs.append((f"x_{name}", onnx_type, ["b", n, parts]))
            outputs.append((name, onnx_type, [None] * 3))
            g("DFT", f"x_{name}", name=name, axis=1, inverse=int(inverse), onesided=int(onesided))
            cases.append((name, rng.standard_normal((2, n, parts)).astype(numpy_type), inverse, onesided))
    exe = pliant.compile(g.model(inputs, outputs), target=target)
    got = exe.run({f"x_{name}": x for name, x, _, _ in cases})
    for name, x, inverse, onesided in cases:
        check(got[name], transform(x, 1, None, inverse, onesided), 1, tolerance)


@pytest.mark.parametrize("shape,axis,kind", [
    *(((3, 12, 5), 1, kind) for kind in KINDS), ((3, 5, 12), -2, "complex"), ((12, 3, 5), 0, "onesided"), ((12, 3, 5), 0, "half"),
    ((6, 40), 1, "real"), ((40, 6), 0, "inverse"), ((9,), 0, "onesided")])
def test_axes_and_lengths_that_are_inputs(shape, axis, kind):
    parts, inverse, onesided = KINDS[kind]
    names = [f"d{k}" for k in range(len(shape))]
    exe = pliant.compile(dft_model(names, kind, axis=axis, length="input"))
    rng = np.random.default_rng(2)
    x = rng.standard_normal((*shape, parts)).astype(np.float32)
    for length in (1, 2, 5, 8, shape[axis if axis >= 0 else axis + 1], 24, 31, 60):
        if kind == "half":
            length = min(length, 2 * (shape[axis if axis >= 0 else axis + 1] - 1))
        want = transform(x, axis, length, inverse, onesided)
        check(exe.run({"x": x, "length": np.int64(length)})["y"], want, axis, 2e-6)


def test_lengths_that_cannot_be():
    exe = pliant.compile(dft_model(["b", "n"], "onesided", length="input"))
    x = np.ones((2, 5, 1), np.float32)
    assert (np.asarray(exe.run({"x": x, "length": np.int64(0)})["y"]) == np.zeros((2, 1, 2))).all()
    for length in (-1, -7):
        with pytest.raises(pliant.Error, match="samples of the transform"):
            exe.run({"x": x, "length": np.int64(length)})
    with pytest.raises(pliant.Error, match="samples of the transform"):
        pliant.compile(dft_model(["b", "n"], "half")).run({"x": np.ones((2, 0, 2), np.float32)})
    g = Graph()
    g("STFT", "x", "step", "", "length", name="y")
    exe = pliant.compile(g.model([("x", F32, ["b", "n"]), ("step", I64, []), ("length", I64, [])], [("y", F32, [None] * 4)]))
    for step, length, message in ((0, 4, "least frame step"), (1, -2, "samples of a frame"), (1, 11, "the frame and the signal")):
        with pytest.raises(pliant.Error, match=message):
            exe.run({"x": np.ones((1, 10), np.float32), "step": np.int64(step), "length": np.int64(length)})


@pytest.mark.parametrize("n", ["n", 12, 37])
@pytest.mark.parametrize("native_loops", [False, True])
def test_transforms_in_a_loop(n, native_loops):
    infos = {name: helper.make_tensor_value_info(name, t, shape) for name, t, shape in (
        ("i", I64, []), ("on", TensorProto.BOOL, []), ("c", F32, ["b", n, 2]), ("go", TensorProto.BOOL, []), ("o", F32, ["b", n, 2]),
        ("s", F32, ["b", n, 2]), ("trips", I64, []), ("x", F32, ["b", n, 2]), ("y", F32, ["b", n, 2]), ("all", F32, None))}
    body = Graph()
    f = body("DFT", "c", axis=1)
    body("Mul", body("DFT", f, axis=1, inverse=1), body.constant(np.float32(0.5)), name="o")
    body("Identity", f, name="s")
    body("Identity", "on", name="go")
    inner = helper.make_graph(body.nodes, "body", [infos[k] for k in ("i", "on", "c")], [infos[k] for k in ("go", "o", "s")],
                              body.initializers)
    node = helper.make_node("Loop", ["trips", "", "x"], ["y", "all"], body=inner)
    graph = helper.make_graph([node], "g", [infos["trips"], infos["x"]], [infos["y"], infos["all"]])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    exe = pliant.compile(model, native_loops=native_loops)
    for size in (8, 13, 60) if n == "n" else (n,):
        x = np.random.default_rng(size).standard_normal((2, size, 2)).astype(np.float32)
        got = exe.run({"trips": np.int64(3), "x": x})
        assert np.abs(np.asarray(got["y"]) - x / 8).max() < 1e-6
        for t in range(3):
            check(np.asarray(got["all"])[t], transform(x / 2 ** t, 1, None, False, False), 1, 1e-6)


@pytest.mark.parametrize("kind", ["onesided", "inverse"])
def test_an_axis_that_the_run_knows(kind):
    parts, inverse, onesided = KINDS[kind]
    exe = pliant.compile(dft_model(["a", "b", "c"], kind, opset=20))
    x = np.random.default_rng(3).standard_normal((4, 15, 8, parts)).astype(np.float32)
    for axis in (0, 1, 2, -2, -3, -4):
        check(exe.run({"x": x, "axis": np.int64(axis)})["y"], transform(x, axis, None, inverse, onesided), axis, 1e-6)
    for axis in (3, -1, -5):
        with pytest.raises(pliant.Error, match="axes that are transformed"):
            exe.run({"x": x, "axis": np.int64(axis)})


def test_halves():
    exe = pliant.compile(dft_model(["b", "n"], "real", TensorProto.FLOAT16))
    for n in (1, 6, 7, 64, 90):
        x = np.random.default_rng(n).standard_normal((2, n, 1)).astype(np.float16)
        check(exe.run({"x": x})["y"], transform(x, 1, None, False, False), 1, TYPES["f16"][2])


@pytest.mark.parametrize("n", [1 << 20, 1_000_000, 65537])
def test_long_rows_keep_their_digits(n):
    exe = pliant.compile(dft_model([1, "n"], "onesided"))
    x = np.random.default_rng(4).standard_normal((1, n, 1)).astype(np.float32)
    check(exe.run({"x": x})["y"], transform(x, 1, None, False, True), 1, 1e-6)


@pytest.mark.parametrize("n", [64, 60, 61])
def test_rows_do_not_meet(n):
    """What is in one row, however large or wrong, is not seen in the others; neither is it in the two parts of a spectrum."""
    exe = pliant.compile(dft_model(["b", "n"], "real"))
    x = np.random.default_rng(5).standard_normal((4, n, 1)).astype(np.float32)
    alone = np.asarray(exe.run({"x": x[1:2]})["y"])
    x[0], x[2, 3], x[3] = 1e30, np.nan, np.inf
    y = np.asarray(exe.run({"x": x})["y"])
    assert (y[1:2] == alone).all()
    assert np.isnan(y[2]).all() and np.isfinite(y[0]).all()


def stft(x, step, window, length, onesided):
    x = np.asarray(x, np.float64)
    z = x if x.ndim == 2 else x[..., 0] + 1j * x[..., 1] if x.shape[-1] == 2 else x[..., 0]
    frames = (z.shape[1] - length) // step + 1
    rows = np.stack([z[:, f * step: f * step + length] for f in range(frames)], 1)
    if window is not None:
        rows = rows * np.asarray(window, np.float64)
    y = np.fft.rfft(rows) if onesided else np.fft.fft(rows)
    return np.stack([y.real, y.imag], -1)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("length", [16, 25, 97, 400, 512])
@pytest.mark.parametrize("onesided", [False, True])
def test_stft_of_a_known_frame(length, onesided, target):
    g = Graph()
    window = np.hanning(length + 2)[1:-1].astype(np.float32)
    g("STFT", "x", "step", g.constant(window), name="y", onesided=int(onesided))
    exe = pliant.compile(g.model([("x", F32, ["b", "n", 1]), ("step", I64, [])], [("y", F32, [None] * 4)]), target=target)
    for b, n, step in ((2, length, 3), (1, length * 3 + 1, length // 2), (0, length + 9, 1), (3, length + 9, 4)):
        x = np.random.default_rng(n).standard_normal((b, n, 1)).astype(np.float32)
        check(exe.run({"x": x, "step": np.int64(step)})["y"], stft(x, step, window, length, onesided), 2, 1e-6)


@pytest.mark.parametrize("shape,onesided", [(("b", "n"), True), (("b", "n"), False), (("b", "n", 1), True), (("b", "n", 2), False)])
@pytest.mark.parametrize("with_window", [False, True])
def test_stft_of_a_frame_that_the_run_knows(shape, onesided, with_window):
    g = Graph()
    inputs = [("x", F32, list(shape)), ("step", I64, []), ("length", I64, [])]
    if with_window:
        inputs.append(("w", F32, ["l"]))
    g("STFT", "x", "step", "w" if with_window else "", "length", name="y", onesided=int(onesided))
    exe = pliant.compile(g.model(inputs, [("y", F32, [None] * 4)]))
    rng = np.random.default_rng(6)
    for length in (1, 2, 8, 15, 60, 101, 256):
        x = rng.standard_normal((2, 300, *shape[2:])).astype(np.float32)
        w = rng.random(length).astype(np.float32) if with_window else None
        feed = {"x": x, "step": np.int64(7), "length": np.int64(length)}
        if with_window:
            feed["w"] = w
        check(exe.run(feed)["y"], stft(x, 7, w, length, onesided), 2, 1e-6)


def test_what_follows_is_done_where_the_bins_are_stored():
    """A power spectrum and mel bands of it, and a transform back."""
    g = Graph()
    window = np.hanning(400).astype(np.float32)
    mel = np.abs(np.random.default_rng(7).standard_normal((201, 80))).astype(np.float32)
    s = g("STFT", "x", g.constant(np.int64(160)), g.constant(window))
    power = g("ReduceSum", g("Mul", s, s), g.constant(np.array([3])), keepdims=0)
    g("MatMul", power, g.constant(mel), name="y")
    exe = pliant.compile(g.model([("x", F32, ["b", "n"])], [("y", F32, [None] * 3)]))
    x = np.random.default_rng(8).standard_normal((2, 5000)).astype(np.float32)
    want = (stft(x, 160, window, 400, True) ** 2).sum(-1) @ mel.astype(np.float64)
    got = np.asarray(exe.run({"x": x})["y"])
    assert got.shape == want.shape and np.abs(got / want - 1).max() < 1e-5

    g = Graph()
    g("DFT", g("Mul", g("DFT", "x", axis=1), "gain"), name="y", axis=1, inverse=1)
    exe = pliant.compile(g.model([("x", F32, ["b", "n", 2]), ("gain", F32, ["n", 1])], [("y", F32, [None] * 3)]))
    for n in (30, 31, 37, 64):
        x = np.random.default_rng(n).standard_normal((2, n, 2)).astype(np.float32)
        y = np.asarray(exe.run({"x": x, "gain": np.full((n, 1), 2, np.float32)})["y"])
        assert np.abs(y - 2 * x).max() < 1e-5


def mel_weights(bands, length, rate, lower, upper):
    mel = [2595 * np.log10(1 + hertz / 700) for hertz in (lower, upper)]
    mel = np.arange(bands + 2) * (mel[1] - mel[0]) / (bands + 2) + mel[0]
    edges = np.floor((length + 1) * 700 * (10 ** (mel / 2595) - 1) / rate).astype(int)
    y = np.zeros((length // 2 + 1, bands))
    for k, (left, middle, right) in enumerate(zip(edges, edges[1:], edges[2:])):
        if left == middle:
            y[middle, k] = 1
        for j in range(left, middle + 1):
            if left != middle:
                y[j, k] = (j - left) / (middle - left)
        for j in range(middle, right):
            y[j, k] = (right - j) / (right - middle)
    return y


def test_mel_weights():
    """Numbers that are constants and numbers that the run knows."""
    kinds = [("bands", I64), ("length", I64), ("rate", I64), ("lower", F32), ("upper", F32)]
    numpy_types = [np.int64] * 3 + [np.float32] * 2
    g = Graph()
    g("MelWeightMatrix", *(name for name, _ in kinds), name="y")
    exe = pliant.compile(g.model([(name, t, []) for name, t in kinds], [("y", F32, [None, None])]))
    for case in ((8, 16, 8192, 0, 4096), (80, 400, 16000, 0, 8000), (128, 1024, 44100, 20, 20000), (1, 2, 100, 0, 50)):
        feed = {name: t(v) for (name, _), t, v in zip(kinds, numpy_types, case)}
        want = mel_weights(*case)
        np.testing.assert_allclose(exe.run(feed)["y"], want, atol=1e-6)
        g = Graph()
        g("MelWeightMatrix", *(g.constant(v) for v in feed.values()), name="y")
        np.testing.assert_allclose(pliant.compile(g.model([], [("y", F32, [None, None])])).run({})["y"], want, atol=1e-6)
    with pytest.raises(pliant.Error, match="mel bands"):
        exe.run({**feed, "bands": np.int64(0)})


def test_thousands_of_mel_bands_compile():
    g = Graph()
    g("MelWeightMatrix", *(g.constant(v) for v in (np.int64(5000), np.int64(64), np.int64(16000), np.float32(0), np.float32(8000))),
      name="y")
    assert pliant.compile(g.model([], [("y", F32, [None, None])])).run({})["y"].shape == (33, 5000)
