"""Positions of best values along every axis: ties, NaN, both ends, rows around the number of lanes."""
import numpy as np
import pytest
from onnx import TensorProto

import models
import pliant

TYPES = {"f32": (TensorProto.FLOAT, np.float32), "f16": (TensorProto.FLOAT16, np.float16), "f64": (TensorProto.DOUBLE, np.float64),
         "i64": (TensorProto.INT64, np.int64), "i32": (TensorProto.INT32, np.int32), "u8": (TensorProto.UINT8, np.uint8)}
SIZES = [1, 2, 15, 16, 17, 31, 32, 33, 64, 65, 130]


def expected(x, axis, op, last):
    # A NaN is better than every number.
    best = (np.max if op == "ArgMax" else np.min)(x, axis, keepdims=True)
    hit = (x == best) | (np.isnan(x) & np.isnan(best)) if np.issubdtype(x.dtype, np.floating) else x == best
    return x.shape[axis] - 1 - np.argmax(np.flip(hit, axis), axis) if last else np.argmax(hit, axis)


def values(rng, dtype, shape):
    x = rng.integers(0, 4, shape).astype(dtype)
    if np.issubdtype(dtype, np.floating):
        x[rng.random(shape) < 0.02] = np.nan
        x[rng.random(shape) < 0.05] = np.inf
        x[rng.random(shape) < 0.05] = -np.inf
    return x


@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize("op", ["ArgMax", "ArgMin"])
@pytest.mark.parametrize("last", [0, 1])
def test_every_axis(name, op, last):
    element, dtype = TYPES[name]
    rng = np.random.default_rng(7)
    g = models.Graph()
    for axis in range(3):
        g(op, "x", name=f"y{axis}", axis=axis, keepdims=0, select_last_index=last)
    exe = pliant.compile(g.model([("x", element, ["a", "b", "c"])], [(f"y{k}", TensorProto.INT64, None) for k in range(3)]))
    for n in SIZES:
        for shape in [(2, 3, n), (3, n, 2), (n, 2, 17), (1, n, 100)]:
            x = values(rng, dtype, shape)
            got = exe.run({"x": x})
            for axis in range(3):
                np.testing.assert_array_equal(got[f"y{axis}"], expected(x, axis, op, last), f"{shape} axis {axis}")


@pytest.mark.parametrize("dtype, value", [(np.float32, -np.inf), (np.float32, np.inf), (np.float32, np.nan)])
def test_rows_of_one_value(dtype, value):
    for last in (0, 1):
        g = models.Graph()
        g("ArgMax", "x", name="y", axis=1, keepdims=0, select_last_index=last)
        g("ArgMin", "x", name="z", axis=1, keepdims=0, select_last_index=last)
        exe = pliant.compile(g.model([("x", TensorProto.FLOAT, ["a", "b"])], [(k, TensorProto.INT64, None) for k in "yz"]))
        for n in SIZES:
            got = exe.run({"x": np.full((3, n), value, dtype)})
            for k in "yz":
                np.testing.assert_array_equal(got[k], np.full(3, n - 1 if last else 0), f"{n} {last}")


def test_known_sizes():
    rng = np.random.default_rng(8)
    for n in SIZES:
        g = models.Graph()
        g("ArgMax", "x", name="y", axis=-1, keepdims=0)
        exe = pliant.compile(g.model([("x", TensorProto.FLOAT, [5, n])], [("y", TensorProto.INT64, None)]))
        x = values(rng, np.float32, (5, n))
        np.testing.assert_array_equal(exe.run({"x": x})["y"], expected(x, 1, "ArgMax", 0), str(n))


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_hardmax(axis):
    g = models.Graph()
    g("Hardmax", "x", name="y", axis=axis)
    exe = pliant.compile(g.model([("x", TensorProto.FLOAT, ["a", "b", "c"])], [("y", TensorProto.FLOAT, None)]))
    rng = np.random.default_rng(9)
    for n in SIZES:
        for shape in [(2, 3, n), (2, n, 20), (n, 1, 3)]:
            x = rng.integers(0, 9, shape).astype(np.float32)
            at = np.expand_dims(np.argmax(x, axis), axis)
            want = np.zeros_like(x)
            np.put_along_axis(want, at, 1, axis)
            np.testing.assert_array_equal(exe.run({"x": x})["y"], want, f"{shape}")


def test_empty_outputs():
    g = models.Graph()
    g("ArgMax", "x", name="y", axis=1, keepdims=0)
    exe = pliant.compile(g.model([("x", TensorProto.FLOAT, ["a", "b"])], [("y", TensorProto.INT64, None)]))
    assert exe.run({"x": np.zeros((0, 4), np.float32)})["y"].shape == (0,)


@pytest.mark.parametrize("target", ["native", "x86-64-v3"])
@pytest.mark.parametrize("name", ["f32", "f16", "i64"])
def test_many_short_rows(name, target):
    element, dtype = TYPES[name]
    rng = np.random.default_rng(10)
    for rows, known in [("a", "b"), ("a", 5), (3001, "b")]:
        g = models.Graph()
        g("ArgMax", "x", name="y", axis=1, keepdims=0)
        g("ArgMin", "x", name="z", axis=1, keepdims=0, select_last_index=1)
        exe = pliant.compile(g.model([("x", element, [rows, known])], [(k, TensorProto.INT64, None) for k in "yz"]), target=target)
        for n in [1, 9, 4001] if rows == "a" else [3001]:
            for length in [1, 3, 5, 47, 48, 49, 200] if known == "b" else [5]:
                x = values(rng, dtype, (n, length))
                got = exe.run({"x": x})
                np.testing.assert_array_equal(got["y"], expected(x, 1, "ArgMax", 0), f"{x.shape}")
                np.testing.assert_array_equal(got["z"], expected(x, 1, "ArgMin", 1), f"{x.shape}")
