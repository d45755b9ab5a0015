"""Sizes of inputs, and sizes that data decide, against those of constant weights."""

import numpy as np
import onnxruntime
import pytest

import models
import pliant

F32, I64, U8 = models.F32, models.I64, models.TensorProto.UINT8


def normal(*shape):
    return np.random.default_rng(len(shape)).standard_normal(shape).astype(np.float32)


CASES = {
    # operator, the weights, attributes, the shape of x
    "MatMul": ("MatMul", [normal(16, 8)], {}, (10, 16)),
    "batched": ("MatMul", [normal(2, 16, 8)], {}, (2, 10, 16)),
    "Gemm": ("Gemm", [normal(8, 16), normal(8)], {"transB": 1}, (10, 16)),
    "Einsum": ("Einsum", [normal(2, 16, 8)], {"equation": "bij,bjk->bik"}, (2, 10, 16)),
    "MatMulInteger": ("MatMulInteger", [(normal(16, 8) * 40).astype(np.int8)], {}, (10, 16)),
    "Conv": ("Conv", [normal(8, 4, 3, 3)], {"pads": [1] * 4}, (1, 4, 9, 10)),
    "Conv, two groups": ("Conv", [normal(8, 2, 3, 3)], {"group": 2}, (2, 4, 9, 10)),
    "ConvTranspose": ("ConvTranspose", [normal(4, 8, 3, 3)], {"strides": [2, 2]}, (1, 4, 5, 6)),
    "LSTM": ("LSTM", [normal(1, 16, 8), normal(1, 16, 4)], {"hidden_size": 4}, (5, 2, 8)),
    "GRU": ("GRU", [normal(1, 12, 8), normal(1, 12, 4)], {"hidden_size": 4}, (5, 2, 8)),
}


def value_of(op, shape):
    return (normal(*shape) * 40).astype(np.uint8) if op == "MatMulInteger" else normal(*shape)


def check(model, feeds):
    want = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, feeds)[0]
    got = pliant.compile(model, progress=False).run(feeds)["y"]
    assert got.shape == want.shape
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("case", CASES)
def test_inputs_of_open_sizes(case):
    op, weights, attributes, shape = CASES[case]
    g = models.Graph()
    g(op, "x", *[g.constant(w) for w in weights], name="y", **attributes)
    x = value_of(op, shape)
    model = g.model([("x", U8 if x.dtype == np.uint8 else F32, [f"d{k}" for k in range(x.ndim)])], [("y", F32, None)])
    if op == "MatMulInteger":
        model.graph.output[0].type.tensor_type.elem_type = models.TensorProto.INT32
    check(model, {"x": x})


@pytest.mark.parametrize("case", CASES)
def test_sizes_of_data(case):
    op, weights, attributes, shape = CASES[case]
    g = models.Graph()
    g(op, g("Reshape", "x", "shape"), *[g.constant(w) for w in weights], name="y", **attributes)
    x = value_of(op, shape).reshape(-1)
    model = g.model(
        [("x", U8 if x.dtype == np.uint8 else F32, ["n"]), ("shape", I64, [len(shape)])], [("y", F32, None)]
    )
    if op == "MatMulInteger":
        model.graph.output[0].type.tensor_type.elem_type = models.TensorProto.INT32
    check(model, {"x": x, "shape": np.array(shape)})


def test_wrong_sizes():
    g = models.Graph()
    g("MatMul", "x", g.constant(normal(16, 8)), name="y")
    exe = pliant.compile(g.model([("x", F32, ["n", "k"])], [("y", F32, None)]), progress=False)
    with pytest.raises(pliant.InputError, match='input "x" axis 1 is 15 but 16 is expected'):
        exe.run({"x": normal(3, 15)})
    assert exe.run({"x": normal(0, 16)})["y"].shape == (0, 8)
