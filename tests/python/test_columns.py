"""Reductions and running sums along outer axes, whose columns are taken several vectors at a time, at every width."""

import numpy as np
import pytest
from onnx import helper

import pliant
from models import Graph

WIDTHS = [0, 1, 7, 16, 63, 64, 65, 127, 128, 255, 256, 257, 300, 1029]
ROWS = [1, 3, 300]


@pytest.mark.parametrize("target", ["native", "x86-64-v3"])
@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.float16])
def test_every_width(dtype, target):
    g = Graph()
    tensor = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    g("ReduceSum", "x", g.constant(np.array([0])), name="sum", keepdims=0)
    g("ReduceMax", "x", name="max", axes=[0], keepdims=0)
    g("CumSum", "x", g.constant(np.int64(0)), name="running")
    g("CumSum", "x", g.constant(np.int64(0)), name="behind", reverse=1, exclusive=1)
    outputs = [(name, tensor, ["w"]) for name in ("sum", "max")] + [(name, tensor, ["r", "w"]) for name in ("running", "behind")]
    if dtype == np.float16:  # no CumSum of opset 17 takes it
        g.nodes, outputs = g.nodes[:2], outputs[:2]
    exe = pliant.compile(g.model([("x", tensor, ["r", "w"])], outputs, opset=17), target=target)
    rng = np.random.default_rng(0)
    for rows in ROWS:
        for width in WIDTHS:
            x = rng.integers(-9, 10, (rows, width)).astype(dtype)
            got = exe.run({"x": x})
            wide = x.astype(np.float64)
            np.testing.assert_array_equal(got["sum"], wide.sum(0).astype(dtype))
            np.testing.assert_array_equal(got["max"], x.max(0))
            if "running" not in got:
                continue
            np.testing.assert_array_equal(got["running"], wide.cumsum(0))
            np.testing.assert_array_equal(got["behind"], wide.sum(0) - wide.cumsum(0))
