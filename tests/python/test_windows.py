"""Convolutions, their transposes and pools of every attribute, alone, at odd and zero sizes, beside numpy."""
import itertools

import numpy as np
import pliant
import pytest
from models import F32, Graph
from onnx import TensorProto, numpy_helper

TARGETS = ["native", "x86-64-v3"]
TYPES = {"f32": (F32, np.float32), "f64": (TensorProto.DOUBLE, np.float64), "f16": (TensorProto.FLOAT16, np.float16)}
LINES = [(1,), (2,), (3,), (7,), (15,), (16,), (17,), (33,), (70,), (1500,)]
PLANES = [(1, 1), (2, 3), (3, 2), (5, 7), (7, 7), (9, 33), (17, 16), (30, 31), (40, 70)]
VOLUMES = [(1, 1, 1), (3, 4, 5), (6, 7, 18)]
SPATIAL = {1: LINES, 2: PLANES, 3: VOLUMES}


def span(kernel, dilations):
    return [(k - 1) * d + 1 for k, d in zip(kernel, dilations)]


def taps(x, kernel, strides, dilations, pads, fill):
    """For each tap of the window the elements that it meets, or nothing where the window does not fit."""
    n = len(kernel)
    x = np.pad(x, [(0, 0), (0, 0)] + [(pads[k], pads[n + k]) for k in range(n)], constant_values=fill)
    out = [(x.shape[2 + k] - s) // strides[k] + 1 for k, s in enumerate(span(kernel, dilations))]
    for tap in itertools.product(*map(range, kernel)):
        at = [slice(t * d, t * d + (o - 1) * s + 1, s) for t, d, o, s in zip(tap, dilations, out, strides)]
        yield tap, x[(slice(None), slice(None), *at)]


def conv(x, w, group, strides, dilations, pads):
    cg, og = w.shape[1], w.shape[0] // group
    y = 0
    for tap, part in taps(x, w.shape[2:], strides, dilations, pads, 0):
        part = part.reshape(part.shape[0], group, cg, *part.shape[2:])
        weight = w[(slice(None), slice(None), *tap)].reshape(group, og, cg)
        y = y + np.einsum("ngc...,goc->ngo...", part, weight)
    return y.reshape(y.shape[0], w.shape[0], *y.shape[3:])


def conv_transpose(x, w, group, strides, dilations, pads, extra):
    n, cg = w.ndim - 2, w.shape[0] // group
    size = [(x.shape[2 + k] - 1) * strides[k] + s + extra[k] for k, s in enumerate(span(w.shape[2:], dilations))]
    y = np.zeros((x.shape[0], group, w.shape[1], *size), x.dtype)
    parts = x.reshape(x.shape[0], group, cg, *x.shape[2:])
    for tap in itertools.product(*map(range, w.shape[2:])):
        at = [slice(t * d, t * d + (x.shape[2 + k] - 1) * s + 1, s)
              for k, (t, d, s) in enumerate(zip(tap, dilations, strides))]
        weight = w[(slice(None), slice(None), *tap)].reshape(group, cg, w.shape[1])
        y[(slice(None), slice(None), slice(None), *at)] += np.einsum("ngc...,gco->ngo...", parts, weight)
    y = y.reshape(x.shape[0], group * w.shape[1], *size)
    return y[(slice(None), slice(None), *[slice(pads[k], size[k] - pads[n + k]) for k in range(n)])]


def array(shape, dtype, rng):
    return rng.integers(-4, 5, shape).astype(dtype)


def fits(size, kernel, dilations, pads):
    n = len(kernel)
    return all(size[k] + pads[k] + pads[n + k] >= s for k, s in enumerate(span(kernel, dilations)))


def symbolic(channels, rank):
    return ["n", channels, *[f"s{k}" for k in range(rank)]]


def compile_one(op, dtype, dims, weight, target, **attrs):
    g = Graph()
    names = ["x"]
    if weight is not None:
        g.initializers.append(numpy_helper.from_array(weight, "w"))
        names.append("w")
    g(op, *names, name="y", **attrs)
    return pliant.compile(g.model([("x", dtype, dims)], [("y", dtype, None)]), target=target)


CONVOLUTIONS = {  # weight, group, strides, dilations, pads
    "depthwise": ((8, 1, 3, 3), 8, (1, 1), (1, 1), (1, 1, 1, 1)),
    "depthwise stride 2": ((5, 1, 3, 3), 5, (2, 2), (1, 1), (1, 1, 1, 1)),
    "depthwise stride 3, 2": ((3, 1, 5, 4), 3, (3, 2), (1, 1), (0, 3, 2, 1)),
    "depthwise dilated": ((4, 1, 3, 5), 4, (1, 2), (2, 3), (2, 6, 1, 5)),
    "depthwise large": ((2, 1, 9, 11), 2, (1, 1), (1, 1), (4, 5, 4, 5)),
    "depthwise multiplied": ((6, 1, 3, 3), 3, (1, 1), (1, 1), (1, 0, 0, 1)),
    "depthwise, no pads": ((4, 1, 3, 3), 4, (1, 1), (1, 1), (0, 0, 0, 0)),
    "one channel": ((1, 1, 3, 3), 1, (1, 1), (1, 1), (1, 1, 1, 1)),
    "depthwise line": ((6, 1, 7), 6, (1,), (1,), (3, 3)),
    "depthwise line stride": ((6, 1, 4), 6, (4,), (1,), (0, 2)),
    "depthwise volume": ((3, 1, 3, 3, 3), 3, (1, 1, 1), (1, 1, 1), (1, 1, 1, 1, 1, 1)),
    "depthwise volume stride": ((3, 1, 2, 3, 3), 3, (2, 1, 2), (1, 1, 1), (1, 0, 1, 0, 1, 1)),
    "groups of 7": ((21, 7, 3, 3), 3, (1, 1), (1, 1), (1, 1, 1, 1)),
    "groups of 8 and 9": ((18, 8, 3, 2), 2, (2, 1), (1, 2), (1, 2, 0, 1)),
    "groups of 4 and 3": ((9, 4, 3, 3), 3, (1, 1), (1, 1), (1, 1, 1, 1)),
    "groups of 4": ((12, 4, 3, 3), 3, (1, 1), (1, 1), (1, 1, 1, 1)),
    "groups of 33, points": ((66, 5, 1, 1), 2, (1, 1), (1, 1), (0, 0, 0, 0)),
    "groups of 8, points": ((24, 8, 1, 1), 3, (2, 2), (1, 1), (0, 0, 0, 0)),
    "groups of 5, line": ((20, 3, 4), 4, (3,), (1,), (1, 2)),
    "groups of 6, volume": ((12, 2, 2, 3, 2), 2, (1, 2, 1), (1, 1, 1), (0, 1, 1, 1, 1, 0)),
    "eight results": ((8, 6, 3, 3), 1, (1, 1), (1, 1), (1, 1, 1, 1)),
    "dense": ((20, 7, 3, 3), 1, (1, 1), (1, 1), (1, 1, 1, 1)),
    "dense stride": ((33, 3, 7, 7), 1, (2, 2), (1, 1), (3, 3, 3, 3)),
    "dense dilated": ((16, 16, 3, 3), 1, (1, 1), (2, 2), (2, 2, 2, 2)),
    "dense line": ((9, 5, 5), 1, (1,), (1,), (2, 2)),
    "dense volume": ((8, 4, 3, 3, 3), 1, (1, 1, 1), (1, 1, 1), (1, 1, 1, 1, 1, 1)),
}


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("case", CONVOLUTIONS)
def test_convolutions(case, target):
    shape, group, strides, dilations, pads = CONVOLUTIONS[case]
    rng = np.random.default_rng(1)
    rank = len(shape) - 2
    channels = shape[1] * group
    for dtype in ["f32"] if target != "native" or rank != 2 else TYPES:
        onnx_type, np_type = TYPES[dtype]
        w = array(shape, np_type, rng)
        exe = compile_one("Conv", onnx_type, symbolic(channels, rank), w, target, group=group, strides=list(strides),
                          dilations=list(dilations), pads=list(pads))
        for n, size in [(0, SPATIAL[rank][-1])] + [(1 + k % 2, s) for k, s in enumerate(SPATIAL[rank])]:
            if not fits(size, shape[2:], dilations, pads):
                continue
            x = array((n, channels, *size), np_type, rng)
            want = conv(x.astype(np.float64), w.astype(np.float64), group, strides, dilations, pads)
            np.testing.assert_array_equal(exe.run({"x": x})["y"], want.astype(np_type), err_msg=f"{dtype} {n} {size}")


TRANSPOSES = {  # weight, group, strides, dilations, pads, output_padding
    "4x4 stride 2": ((16, 8, 4, 4), 1, (2, 2), (1, 1), (1, 1, 1, 1), (0, 0)),
    "3x3 stride 2": ((5, 33, 3, 3), 1, (2, 2), (1, 1), (1, 1, 1, 1), (1, 1)),
    "2x2 stride 2": ((6, 20, 2, 2), 1, (2, 2), (1, 1), (0, 0, 0, 0), (0, 0)),
    "side by side": ((7, 3, 16, 9), 1, (16, 9), (1, 1), (0, 0, 0, 0), (0, 0)),
    "side by side, more behind": ((7, 3, 3, 2), 1, (3, 2), (1, 1), (0, 0, 0, 0), (2, 1)),
    "side by side, cut": ((7, 3, 3, 2), 1, (3, 2), (1, 1), (1, 0, 1, 1), (0, 0)),
    "two windows an output": ((3, 5, 20, 16), 1, (10, 8), (1, 1), (5, 4, 5, 4), (0, 0)),
    "two windows an output, cut": ((3, 5, 20, 16), 1, (10, 8), (1, 1), (7, 0, 0, 3), (0, 1)),
    "one or two windows an output": ((3, 4, 13, 21), 1, (9, 16), (1, 1), (4, 0, 3, 2), (5, 3)),
    "two windows an output, depthwise": ((4, 1, 16, 18), 4, (8, 9), (1, 1), (4, 4, 4, 5), (0, 0)),
    "two windows an output, groups": ((6, 7, 16, 18), 2, (8, 9), (1, 1), (4, 4, 4, 5), (0, 0)),
    "two windows an output, one axis dilated": ((4, 3, 3, 32), 1, (2, 16), (2, 1), (1, 8, 1, 8), (0, 0)),
    "windows far apart": ((4, 3, 5, 3), 1, (20, 11), (1, 1), (0, 1, 2, 0), (3, 0)),
    "line, two windows an output": ((5, 6, 40), 1, (20,), (1,), (10, 10), (0,)),
    "line side by side": ((7, 5, 4), 1, (4,), (1,), (0, 0), (0,)),
    "fewer taps than steps": ((4, 6, 2, 1), 1, (3, 2), (1, 1), (0, 0, 0, 0), (1, 1)),
    "stride 1": ((4, 6, 3, 3), 1, (1, 1), (1, 1), (1, 0, 1, 2), (0, 0)),
    "strides 3, 2": ((3, 4, 5, 4), 1, (3, 2), (1, 1), (2, 1, 0, 1), (2, 0)),
    "dilated": ((4, 5, 3, 3), 1, (2, 2), (2, 3), (1, 1, 1, 1), (0, 1)),
    "one result": ((7, 1, 4, 4), 1, (2, 2), (1, 1), (1, 1, 1, 1), (0, 0)),
    "groups": ((6, 4, 4, 4), 2, (2, 2), (1, 1), (1, 1, 1, 1), (0, 0)),
    "depthwise": ((6, 1, 4, 4), 6, (2, 2), (1, 1), (1, 1, 1, 1), (0, 0)),
    "line": ((5, 9, 6), 1, (3,), (1,), (1, 2), (1,)),
    "volume": ((4, 5, 2, 3, 2), 1, (2, 1, 2), (1, 1, 1), (0, 1, 0, 0, 1, 0), (1, 0, 0)),
}


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("case", TRANSPOSES)
def test_transposes_of_convolutions(case, target):
    shape, group, strides, dilations, pads, extra = TRANSPOSES[case]
    rng = np.random.default_rng(2)
    rank = len(shape) - 2
    w = array(shape, np.float32, rng)
    exe = compile_one("ConvTranspose", F32, symbolic(shape[0], rank), w, target, group=group, strides=list(strides),
                      dilations=list(dilations), pads=list(pads), output_padding=list(extra))
    for n, size in [(0, SPATIAL[rank][-1])] + [(1 + k % 2, s) for k, s in enumerate(SPATIAL[rank])]:
        x = array((n, shape[0], *size), np.float32, rng)
        want = conv_transpose(x, w, group, strides, dilations, pads, extra)
        np.testing.assert_array_equal(exe.run({"x": x})["y"], want, err_msg=f"{n} {size}")


@pytest.mark.parametrize("auto_pad", ["SAME_UPPER", "SAME_LOWER"])
def test_transposes_that_pad_themselves(auto_pad):
    rng = np.random.default_rng(3)
    w = array((4, 6, 3, 4), np.float32, rng)
    exe = compile_one("ConvTranspose", F32, symbolic(4, 2), w, "native", strides=[2, 3], auto_pad=auto_pad)
    for size in PLANES:
        x = array((1, 4, *size), np.float32, rng)
        total = [3 - 2, 4 - 3]
        begin = [t // 2 if auto_pad == "SAME_UPPER" else t - t // 2 for t in total]
        pads = begin + [t - b for t, b in zip(total, begin)]
        np.testing.assert_array_equal(exe.run({"x": x})["y"], conv_transpose(x, w, 1, (2, 3), (1, 1), pads, (0, 0)))


POOLS = {  # kernel, strides, dilations, pads
    "3x3 stride 2": ((3, 3), (2, 2), (1, 1), (1, 1, 1, 1)),
    "2x2 stride 2": ((2, 2), (2, 2), (1, 1), (0, 0, 0, 0)),
    "3x3": ((3, 3), (1, 1), (1, 1), (1, 1, 1, 1)),
    "5x4 stride 1, 3": ((5, 4), (1, 3), (1, 1), (2, 0, 1, 3)),
    "dilated": ((3, 2), (2, 1), (2, 3), (1, 1, 2, 1)),
    "large": ((9, 13), (1, 1), (1, 1), (4, 6, 4, 6)),
    "5x5": ((5, 5), (1, 1), (1, 1), (2, 2, 2, 2)),
    "7x8 stride 2": ((7, 8), (2, 2), (1, 1), (3, 0, 1, 5)),
    "6x6 dilated, stride 1, 3": ((6, 6), (1, 3), (2, 3), (4, 9, 5, 0)),
    "line": ((4,), (2,), (1,), (1, 2)),
    "large volume": ((3, 4, 5), (1, 1, 2), (1, 1, 1), (1, 2, 2, 1, 1, 2)),
    "volume": ((2, 3, 2), (2, 2, 1), (1, 1, 1), (0, 1, 1, 1, 0, 0)),
}


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("case", POOLS)
def test_pools(case, target):
    kernel, strides, dilations, pads = POOLS[case]
    rng = np.random.default_rng(4)
    rank = len(kernel)
    attrs = {"kernel_shape": list(kernel), "strides": list(strides), "pads": list(pads), "dilations": list(dilations)}
    largest = compile_one("MaxPool", F32, symbolic("c", rank), None, target, **attrs)
    mean = None
    if max(dilations) == 1:
        del attrs["dilations"]
        mean = compile_one("AveragePool", F32, symbolic("c", rank), None, target, **attrs)
    for n, size in [(0, SPATIAL[rank][-1])] + [(1 + k % 2, s) for k, s in enumerate(SPATIAL[rank])]:
        if not fits(size, kernel, dilations, pads):
            continue
        x = array((n, 3, *size), np.float32, rng)
        x[rng.random(x.shape) < 0.02] = np.nan
        parts = [part for _, part in taps(x, kernel, strides, dilations, pads, -np.inf)]
        np.testing.assert_array_equal(largest.run({"x": x})["y"], np.max(parts, axis=0), err_msg=f"{n} {size}")
        if mean:
            x = np.nan_to_num(x)
            total = sum(part for _, part in taps(x, kernel, strides, dilations, pads, 0))
            count = sum(part for _, part in taps(np.ones_like(x), kernel, strides, dilations, pads, 0))
            np.testing.assert_allclose(mean.run({"x": x})["y"], total / count, rtol=1e-6, err_msg=f"{n} {size}")


@pytest.mark.parametrize("target", TARGETS)
def test_large_pools_between_convolutions(target):
    """Their channels lie innermost, so that lanes are channels."""
    rng = np.random.default_rng(5)
    for kernel, strides, pads in [((5, 5), (1, 1), (2, 2, 2, 2)), ((9, 7), (2, 1), (4, 3, 3, 3))]:
        g = Graph()
        first, last = array((20, 3, 1, 1), np.float32, rng), array((4, 20, 1, 1), np.float32, rng)
        g.initializers += [numpy_helper.from_array(first, "a"), numpy_helper.from_array(last, "b")]
        g("Conv", "x", "a", name="p")
        g("MaxPool", "p", name="q", kernel_shape=list(kernel), strides=list(strides), pads=list(pads))
        g("Relu", "q", name="r")
        g("Conv", "r", "b", name="y")
        exe = pliant.compile(g.model([("x", F32, symbolic(3, 2))], [("y", F32, None)]), target=target)
        for n, size in [(0, PLANES[-1])] + [(2, s) for s in PLANES]:
            if not fits(size, kernel, (1, 1), pads):
                continue
            x = array((n, 3, *size), np.float32, rng)
            pooled = [part for _, part in taps(conv(x, first, 1, (1, 1), (1, 1), (0,) * 4), kernel, strides, (1, 1), pads, -np.inf)]
            want = conv(np.maximum(np.max(pooled, axis=0), 0), last, 1, (1, 1), (1, 1), (0,) * 4)
            np.testing.assert_array_equal(exe.run({"x": x})["y"], want, err_msg=f"{n} {size}")


@pytest.mark.parametrize("element, dtype", [(TensorProto.FLOAT16, np.float16), (TensorProto.UINT8, np.uint8),
                                            (TensorProto.DOUBLE, np.float64)])
def test_large_pools_of_other_types(element, dtype):
    rng = np.random.default_rng(6)
    exe = compile_one("MaxPool", element, symbolic("c", 2), None, "native", kernel_shape=[9, 7], pads=[4, 3, 4, 3])
    for size in PLANES:
        x = rng.integers(0, 200, (1, 3, *size)).astype(dtype)
        lowest = 0 if dtype == np.uint8 else -np.inf
        want = np.max([part for _, part in taps(x, (9, 7), (1, 1), (1, 1), (4, 3, 4, 3), lowest)], axis=0)
        np.testing.assert_array_equal(exe.run({"x": x})["y"], want, err_msg=str(size))


@pytest.mark.parametrize("axes", ["symbolic", "known"])
@pytest.mark.parametrize("op, weight", [("AveragePool", None), ("MaxPool", None), ("LpPool", None), ("Conv", (2, 3, 3, 3)),
                                        ("ConvTranspose", (3, 2, 3, 3)), ("DeformConv", (2, 3, 3, 3)), ("Col2Im", None)])
def test_windows_that_no_tensor_has(op, weight, axes):
    """Positions in windows fit into 64 bits, or the model is refused; what is allowed computes something or ends."""
    most, size = 2**63 - 1, ["h", "w"] if axes == "symbolic" else [9, 9]
    for attributes in [{"dilations": [1, most]}, {"dilations": [2**62, 1]}, {"strides": [1, most]}, {"pads": [0, 2**62, 0, 2**62]},
                       {"pads": [most, 0, most, 0]}, {"dilations": [2**31, 2**31]}, {"strides": [2**31, 1]}, {"strides": [2**60, 2**60]},
                       {"dilations": [2**59, 2**58], "pads": [2**60] * 4}]:
        g = Graph()
        ints = {name: g.constant(np.array(v, np.int64)) for name, v in (("image", [9, 9]), ("block", [3, 3]))}
        shape = {"DeformConv": [1, 3, *size], "Col2Im": ["n", 18, "c"]}.get(op, ["n", 3, *size])
        inputs = [("x", F32, shape)] + ([("o", F32, [1, 18, "p", "q"])] if op == "DeformConv" else [])
        more = [ints["image"], ints["block"]] if op == "Col2Im" else []
        if weight:
            more.append(g.constant(np.ones(weight, np.float32)))
        if op == "DeformConv":
            more.append("o")
        kernel = {"kernel_shape": [3, 3]} if op.endswith("Pool") else {}
        g(op, "x", *more, name="y", **kernel, **attributes)
        model = g.model(inputs, [("y", F32, None)], opset=22)
        if max(max(v) for v in attributes.values()) > 2**60:
            with pytest.raises(pliant.CompileError, match="must be at most|is too large"):
                pliant.compile(model, opt_level=0, progress=False)
            continue
        try:
            exe = pliant.compile(model, opt_level=0, progress=False, memory_limit=1 << 28)
        except pliant.CompileError:
            continue
        feed = {"x": np.ones({"DeformConv": (1, 3, 9, 9), "Col2Im": (1, 18, 49)}.get(op, (2, 3, 9, 9)), np.float32)}
        if op == "DeformConv":
            feed["o"] = np.zeros((1, 18, 1, 1), np.float32)
        try:
            assert exe.run(feed)["y"].size < 1 << 26
        except pliant.Error:
            pass


@pytest.mark.parametrize("op", ["Conv", "ConvTranspose", "DeformConv", "ConvInteger", "QLinearConv", "CausalConvWithState"])
def test_weights_of_other_ranks(op):
    u8 = TensorProto.UINT8
    scalars = {"s": F32, "z": u8}
    x, w, dtype, names = {
        "DeformConv": ("x", "w", F32, ["x", "w", "o"]), "ConvInteger": ("x", "w", u8, ["x", "w", "z", "z"]),
        "QLinearConv": ("x", "w", u8, ["x", "s", "z", "w", "s", "z", "s", "z"]),
    }.get(op, ("x", "w", F32, ["x", "w"]))
    for rank in (0, 1, 2, 3, 5):
        if op == "CausalConvWithState" and rank == 3:
            continue
        g = Graph()
        g(op, *names, outputs=2 if op == "CausalConvWithState" else 1, name="y")
        axes = ["n", "c", "h"] + ["v"] * (op != "CausalConvWithState")
        inputs = [(x, dtype, axes), (w, dtype, [f"w{k}" for k in range(rank)])]
        inputs += [(k, t, []) for k, t in scalars.items() if k in names] + ([("o", F32, ["n", "p", "q", "r"])] if "o" in names else [])
        with pytest.raises(pliant.CompileError, match="rank"):
            pliant.compile(g.model(inputs, [("y", TensorProto.UNDEFINED, None)], opset=27 if len(axes) == 3 else 22), progress=False)


@pytest.mark.parametrize("op", ["DepthToSpace", "SpaceToDepth"])
@pytest.mark.parametrize("block", [0, -1, 2**31, 2**32, 2**62, 2**63 - 1, -2**63])
def test_blocks_that_no_tensor_has(op, block):
    g = Graph()
    g(op, "x", name="y", blocksize=block)
    with pytest.raises(pliant.CompileError, match="the block must be from 1"):
        pliant.compile(g.model([("x", F32, ["n", "c", "h", "w"])], [("y", F32, None)]), progress=False)
