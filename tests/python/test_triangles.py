"""Triangles of matrices, alone and as masks of what follows, beside numpy: every diagonal, odd and empty sizes."""
import numpy as np
import pliant
import pytest
from onnx import TensorProto
from models import F32, I64, Graph

TYPES = {"f32": (F32, np.float32), "i64": (I64, np.int64), "u8": (TensorProto.UINT8, np.uint8), "f64": (TensorProto.DOUBLE, np.float64),
         "f16": (TensorProto.FLOAT16, np.float16), "bool": (TensorProto.BOOL, np.bool_)}
TARGETS = ["native", "x86-64-v3"]
SIZES = [(3, 5), (1, 1), (0, 4), (4, 0), (8, 8), (17, 17), (31, 65), (64, 64), (65, 31), (128, 129), (200, 9), (2, 9001)]
DIAGONALS = [0, 1, -1, 5, -7, 16, 63, -64, 10**6, -(10**6), 2**63 - 1, -(2**63)]


def triangle(x, upper, k):
    rows, columns = np.arange(x.shape[-2])[:, None], np.arange(x.shape[-1])[None, :]
    kept = [[int(c) - int(r) >= k if upper else int(c) - int(r) <= k for c in columns[0]] for r in rows[:, 0]] if abs(k) > 2**40 else (
        columns - rows >= k if upper else columns - rows <= k)
    return np.where(np.array(kept, bool).reshape(x.shape[-2:]), x, np.zeros((), x.dtype))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("upper", [0, 1])
@pytest.mark.parametrize("dtype", TYPES)
def test_diagonals_of_the_run(dtype, upper, target):
    onnx_type, np_type = TYPES[dtype]
    g = Graph()
    g("Trilu", "x", "k", name="y", upper=upper)
    exe = pliant.compile(g.model([("x", onnx_type, ["b", "m", "n"]), ("k", I64, [])], [("y", onnx_type, None)]), target=target)
    rng = np.random.default_rng(1)
    for m, n in SIZES:
        x = rng.integers(1, 100, (3, m, n)).astype(np_type)
        for k in DIAGONALS:
            got = exe.run({"x": x, "k": np.array(k)})["y"]
            np.testing.assert_array_equal(got, triangle(x, upper, k), err_msg=f"{m} {n} {k}")


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("upper", [0, 1])
def test_known_diagonals(upper, target):
    for k in (0, 1, -3, 16):
        g = Graph()
        g("Trilu", "x", g.constant(np.array(k)), name="y", upper=upper)
        exe = pliant.compile(g.model([("x", F32, ["m", "n"])], [("y", F32, None)]), target=target)
        fixed = pliant.compile(g.model([("x", F32, [33, 100])], [("y", F32, None)]), target=target)
        rng = np.random.default_rng(k + 5)
        for m, n in SIZES + [(33, 100)]:
            x = rng.standard_normal((m, n)).astype(np.float32)
            np.testing.assert_array_equal(exe.run({"x": x})["y"], triangle(x, upper, k), err_msg=f"{m} {n} {k}")
        np.testing.assert_array_equal(fixed.run({"x": x})["y"], triangle(x, upper, k))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("negated", [False, True])
def test_masks(negated, target):
    """A triangle of ones as the condition of what is computed with it; the other side's values may be anything."""
    g = Graph()
    mask = g("Trilu", "ones", upper=0)
    if negated:
        mask = g("Not", mask)
    g("Where", mask, g("Mul", "x", g.constant(np.float32(2))), g("Sub", "y", g.constant(np.float32(1))), name="z")
    exe = pliant.compile(g.model([("ones", TensorProto.BOOL, ["m", "n"]), ("x", F32, ["b", "m", "n"]), ("y", F32, ["b", "m", "n"])],
                                 [("z", F32, None)]), target=target)
    rng = np.random.default_rng(4)
    for m, n in SIZES:
        ones = rng.random((m, n)) < 0.9
        x, y = rng.standard_normal((2, 2, m, n)).astype(np.float32)
        want = np.where(triangle(ones, False, 0) != negated, x * np.float32(2), y - np.float32(1))
        np.testing.assert_array_equal(exe.run({"ones": ones, "x": x, "y": y})["z"], want, err_msg=f"{m} {n}")
