"""Determinants of matrices of any size, in batches, beside numpy."""
import numpy as np
import pliant
import pytest
from models import Graph
from onnx import TensorProto

TYPES = {np.float32: (TensorProto.FLOAT, 2e-4), np.float64: (TensorProto.DOUBLE, 1e-9), np.float16: (TensorProto.FLOAT16, 2e-2)}


def det(dtype, shape):
    g = Graph()
    g("Det", "x", name="y")
    return pliant.compile(g.model([("x", dtype, shape)], [("y", dtype, None)]))


def expected(x):
    return np.linalg.det(x.astype(np.float64))


@pytest.mark.parametrize("dtype", TYPES, ids=lambda t: t.__name__)
def test_sizes(dtype):
    onnx_type, rtol = TYPES[dtype]
    rng = np.random.default_rng(0)
    run_time = det(onnx_type, ["b", "n", "n"])
    for n in (0, 1, 2, 3, 4, 5, 6, 9, 17):
        fixed = det(onnx_type, ["b", n, n])
        for batch in (0, 1, 5):
            x = (rng.standard_normal((batch, n, n)) / np.sqrt(max(n, 1))).astype(dtype)
            for exe in (fixed, run_time):
                got = exe.run([x])["y"]
                assert got.shape == (batch,) and got.dtype == dtype
                np.testing.assert_allclose(got.astype(np.float64), expected(x), rtol=rtol, atol=rtol)


def test_ranks():
    rng = np.random.default_rng(1)
    for shape, named in (((6, 6), ["n", "n"]), ((2, 3, 7, 7), ["a", "b", "n", "m"]), ((2, 0, 8, 8), ["a", "b", 8, 8])):
        x = rng.standard_normal(shape).astype(np.float32)
        got = det(TensorProto.FLOAT, named).run([x])["y"]
        assert got.shape == shape[:-2]
        np.testing.assert_allclose(got, expected(x), rtol=1e-4, atol=1e-4)


def test_pivots_and_scales():
    """Rows to exchange, singular matrices, pivots whose product overflows on the way, and what is no number."""
    exe = det(TensorProto.DOUBLE, ["n", "n"])
    for order in np.random.default_rng(2).permuted(np.tile(np.arange(8), (10, 1)), axis=1):
        x = np.eye(8)[order]
        assert exe.run([x])["y"] == round(np.linalg.det(x))
    assert exe.run([np.ones((6, 6))])["y"] == 0 and exe.run([np.zeros((9, 9))])["y"] == 0
    assert exe.run([np.diag([1e200, 1e200, 1e-200, 1e-200, 3.0])])["y"] == pytest.approx(3, rel=1e-14)
    assert exe.run([np.diag([1e-200] * 2 + [1e200] * 2 + [-2.0])])["y"] == pytest.approx(-2, rel=1e-14)
    assert exe.run([np.diag([1e200] * 5)])["y"] == np.inf and exe.run([np.diag([1e-200] * 5)])["y"] == 0
    x = np.eye(6)
    x[2, 3] = x[3, 2] = np.nan
    assert np.isnan(exe.run([x])["y"])
    n = 12
    hilbert = 1 / (np.arange(n)[:, None] + np.arange(n) + 1.0)
    assert exe.run([hilbert[:8, :8]])["y"] == pytest.approx(np.linalg.det(hilbert[:8, :8]), rel=1e-4)


def test_large():
    rng = np.random.default_rng(3)
    x = rng.standard_normal((2, 300, 300)) / 17
    np.testing.assert_allclose(det(TensorProto.DOUBLE, ["b", "n", "n"]).run([x])["y"], np.linalg.det(x), rtol=1e-9)


def test_what_is_not_square():
    with pytest.raises(pliant.Error, match="rows and columns of a matrix with a determinant"):
        det(TensorProto.FLOAT, ["n", "m"]).run([np.zeros((5, 6), np.float32)])
    with pytest.raises(pliant.CompileError, match="rows and columns"):
        det(TensorProto.FLOAT, [5, 6])
