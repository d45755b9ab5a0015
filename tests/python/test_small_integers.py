"""Convolutions and products of 8-bit integers, at odd and zero sizes, with every zero point, beside numpy."""
import functools

import numpy as np
import pliant
import pytest
from models import Graph
from onnx import TensorProto, numpy_helper
from test_windows import conv, fits

TYPES = {"u8": (TensorProto.UINT8, np.uint8), "i8": (TensorProto.INT8, np.int8)}
# Those that add four bytes (dot4), those that add pairs of halves.
TARGETS = ["native", "x86-64-v4", "x86-64-v3-vnni", "x86-64-v3"]
PLANES = [(1, 1), (3, 2), (5, 7), (9, 33), (17, 16)]
CASES = {  # weight, group, strides, dilations, pads
    "3x3": ((33, 5, 3, 3), 1, (1, 1), (1, 1), (1, 1, 1, 1)),
    "stride 2": ((16, 8, 3, 3), 1, (2, 2), (1, 1), (0, 1, 2, 1)),
    "1x1": ((20, 7, 1, 1), 1, (1, 1), (1, 1), (0, 0, 0, 0)),
    "one channel": ((9, 1, 3, 2), 1, (1, 1), (2, 1), (2, 1, 2, 0)),
    "groups": ((6, 2, 3, 3), 3, (1, 1), (1, 1), (1, 1, 1, 1)),
    "depthwise": ((6, 1, 3, 3), 6, (1, 1), (1, 1), (1, 1, 1, 1)),
    "depthwise, stride 2": ((5, 1, 3, 3), 5, (2, 2), (1, 1), (1, 1, 0, 1)),
    "depthwise, many taps": ((4, 1, 7, 5), 4, (1, 3), (2, 1), (3, 2, 6, 1)),
}


@functools.lru_cache
def lacks(target):
    """What this machine lacks of a target; empty when it can run it."""
    g = Graph()
    g("Neg", "x", name="y")
    try:
        pliant.compile(g.model([("x", TensorProto.FLOAT, [1])], [("y", TensorProto.FLOAT, [1])]), target=target)
    except pliant.ArtifactError as e:
        return str(e)
    return ""


def compile_for(target, model):
    if lacks(target):
        pytest.skip(lacks(target))
    return pliant.compile(model, target=target)


def values(dtype, shape, rng):
    info = np.iinfo(dtype)
    return rng.integers(info.min, info.max + 1, shape).astype(dtype)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("types", ["u8 u8", "u8 i8", "i8 i8"])
@pytest.mark.parametrize("case", CASES)
def test_convolutions(case, types, target):
    shape, group, strides, dilations, pads = CASES[case]
    (x_onnx, x_type), (_, w_type) = (TYPES[t] for t in types.split())
    rng = np.random.default_rng(5)
    w, x_zero, w_zero = values(w_type, shape, rng), values(x_type, (), rng), values(w_type, (), rng)
    g = Graph()
    for name, a in {"w": w, "wz": w_zero}.items():
        g.initializers.append(numpy_helper.from_array(np.asarray(a), name))
    g("ConvInteger", "x", "w", "xz", "wz", name="y", group=group, strides=list(strides), dilations=list(dilations),
      pads=list(pads))
    channels = shape[1] * group
    inputs = [("x", x_onnx, ["n", channels, "h", "v"]), ("xz", x_onnx, [])]
    exe = compile_for(target, g.model(inputs, [("y", TensorProto.INT32, None)]))
    for n, size in [(0, PLANES[-1])] + [(1 + k % 2, s) for k, s in enumerate(PLANES)]:
        if not fits(size, shape[2:], dilations, pads):
            continue
        x = values(x_type, (n, channels, *size), rng)
        want = conv(x.astype(np.int64) - int(x_zero), w.astype(np.int64) - int(w_zero), group, strides, dilations, pads)
        np.testing.assert_array_equal(exe.run({"x": x, "xz": x_zero})["y"], want, err_msg=f"{n} {size}")


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("types", ["u8 u8", "u8 i8", "i8 i8"])
@pytest.mark.parametrize("inner, columns", [(1, 3), (2, 16), (7, 33), (64, 65), (333, 40)])
def test_products(inner, columns, types, target):
    (x_onnx, x_type), (_, w_type) = (TYPES[t] for t in types.split())
    rng = np.random.default_rng(6)
    w = values(w_type, (inner, columns), rng)
    x_zero, w_zero = values(x_type, (), rng), values(w_type, (columns,), rng)
    g = Graph()
    for name, a in {"w": w, "xz": x_zero, "wz": w_zero}.items():
        g.initializers.append(numpy_helper.from_array(np.asarray(a), name))
    g("MatMulInteger", "x", "w", "xz", "wz", name="y")
    exe = compile_for(target, g.model([("x", x_onnx, ["b", "m", inner])], [("y", TensorProto.INT32, None)]))
    for rows in [(0, 3), (2, 0), (1, 1), (1, 7), (3, 33)]:
        x = values(x_type, (*rows, inner), rng)
        want = (x.astype(np.int64) - int(x_zero)) @ (w.astype(np.int64) - w_zero.astype(np.int64))
        np.testing.assert_array_equal(exe.run({"x": x})["y"], want, err_msg=str(rows))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("types", ["u8 u8", "u8 i8", "i8 u8", "i8 i8"])
@pytest.mark.parametrize("zeros", ["", "w", "x columns"])
def test_products_of_two_inputs(zeros, types, target):
    """Every size is a symbol; the second matrix may serve a whole batch."""
    (x_onnx, x_type), (w_onnx, w_type) = (TYPES[t] for t in types.split())
    rng = np.random.default_rng(9)
    for batch in ([], ["b"]):
        g = Graph()
        names = ["xz" if "x" in zeros else "", "wz" if "w" in zeros or "columns" in zeros else ""]
        g("MatMulInteger", "x", "w", *names, name="y")
        inputs = [("x", x_onnx, ["b", "m", "k"]), ("w", w_onnx, [*batch, "k", "n"]), ("xz", x_onnx, []),
                  ("wz", w_onnx, ["n" if "columns" in zeros and not batch else 1])]
        exe = compile_for(target, g.model([i for i in inputs if i[0] in ("x", "w", *names)], [("y", TensorProto.INT32, None)]))
        for b, m, k, n in [(1, 1, 1, 1), (2, 3, 4, 5), (2, 17, 7, 33), (1, 40, 64, 64), (3, 2, 33, 70), (2, 3, 0, 5), (0, 3, 4, 5),
                           (2, 0, 4, 5), (2, 3, 4, 0)]:
            x, w = values(x_type, (b, m, k), rng), values(w_type, (b, k, n) if batch else (k, n), rng)
            fed = {"x": x, "w": w}
            if names[0]:
                fed["xz"] = values(x_type, (), rng)
            if names[1]:
                fed["wz"] = values(w_type, (n if "columns" in zeros and not batch else 1,), rng)
            wide = {name: np.asarray(a).astype(np.int64) for name, a in fed.items()}
            want = (wide["x"] - wide.get("xz", 0)) @ (wide["w"] - wide.get("wz", 0))
            np.testing.assert_array_equal(exe.run(fed)["y"], want, err_msg=f"{b} {m} {k} {n} {batch}")


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("types", ["u8 u8", "u8 i8", "i8 i8"])
@pytest.mark.parametrize("inner, columns", [(8, 16), (37, 19)])
def test_a_zero_point_a_row(inner, columns, types, target):
    (x_onnx, x_type), (_, w_type) = (TYPES[t] for t in types.split())
    rng = np.random.default_rng(8)
    w = values(w_type, (inner, columns), rng)
    g = Graph()
    g.initializers.append(numpy_helper.from_array(w, "w"))
    g("MatMulInteger", "x", "w", "xz", name="y")
    inputs = [("x", x_onnx, ["m", inner]), ("xz", x_onnx, ["m"])]
    exe = compile_for(target, g.model(inputs, [("y", TensorProto.INT32, None)]))
    for rows in (0, 2, 5, 31):
        x, x_zero = values(x_type, (rows, inner), rng), values(x_type, (rows,), rng)
        want = (x.astype(np.int64) - x_zero.astype(np.int64)[:, None]) @ w.astype(np.int64)
        np.testing.assert_array_equal(exe.run({"x": x, "xz": x_zero})["y"], want, err_msg=str(rows))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("types", ["u8 u8", "u8 i8", "i8 i8"])
def test_extreme_values(types, target):
    """Sums that would saturate in 16 bits, and long ones that wrap in 32."""
    (x_onnx, x_type), (_, w_type) = (TYPES[t] for t in types.split())
    inner = 70000
    w = np.stack([np.full(inner, edge, w_type) for edge in (np.iinfo(w_type).min, np.iinfo(w_type).max)], axis=1)
    w = np.concatenate([w, w[:, ::-1]], axis=1)
    g = Graph()
    for name, a in {"w": w, "wz": np.array([0, 0, 3, 100], w_type)}.items():
        g.initializers.append(numpy_helper.from_array(a, name))
    g("MatMulInteger", "x", "w", "xz", "wz", name="y")
    inputs = [("x", x_onnx, ["m", inner]), ("xz", x_onnx, [])]
    exe = compile_for(target, g.model(inputs, [("y", TensorProto.INT32, None)]))
    edges = [np.iinfo(x_type).min, np.iinfo(x_type).max]
    x = np.stack([np.full(inner, edge, x_type) for edge in edges])
    for zero in edges:
        want = (x.astype(np.int64) - zero) @ (w.astype(np.int64) - np.array([0, 0, 3, 100]))
        np.testing.assert_array_equal(exe.run({"x": x, "xz": np.array(zero, x_type)})["y"], want.astype(np.int32))


@pytest.mark.parametrize("target", TARGETS)
def test_requantised(target):
    rng = np.random.default_rng(7)
    shape = (17, 6, 3, 3)
    w, bias = values(np.int8, shape, rng), rng.integers(-9999, 9999, shape[0]).astype(np.int32)
    scales = rng.uniform(0.01, 0.02, shape[0]).astype(np.float32)
    g = Graph()
    parts = {"xs": np.float32(0.5), "xz": np.uint8(120), "w": w, "ws": scales, "wz": np.zeros(shape[0], np.int8),
             "ys": np.float32(4), "yz": np.uint8(7), "b": bias}
    for name, a in parts.items():
        g.initializers.append(numpy_helper.from_array(np.asarray(a), name))
    g("QLinearConv", "x", *parts, name="y", pads=[1, 1, 1, 1])
    exe = compile_for(target, g.model([("x", TensorProto.UINT8, ["n", 6, "h", "v"])], [("y", TensorProto.UINT8, None)]))
    for size in PLANES:
        x = values(np.uint8, (2, 6, *size), rng)
        total = conv(x.astype(np.int64) - 120, w.astype(np.int64), 1, (1, 1), (1, 1), (1, 1, 1, 1))
        total = (total + bias.reshape(-1, 1, 1)).astype(np.float32)
        scale = (np.float32(0.5) * scales / np.float32(4)).reshape(-1, 1, 1)
        want = np.clip(np.round(total * scale) + 7, 0, 255)
        np.testing.assert_array_equal(exe.run({"x": x})["y"], want)
