"""Operators of onnxruntime's own domain, beside onnxruntime."""

import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

import pliant


def normal(*shape):
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


def check(op, inputs, weights, outputs, rtol=1e-5, domain="com.microsoft", **attributes):
    """One node; `inputs` have open sizes, of `weights` None is an absent input. `outputs` are the names of those that are asked for."""
    names, initializers = list(inputs), []
    for k, w in enumerate(weights):
        names.append("" if w is None else f"w{k}")
        if w is not None:
            initializers.append(numpy_helper.from_array(np.asarray(w), f"w{k}"))
    graph = helper.make_graph(
        [helper.make_node(op, names, outputs, domain=domain, name="node", **attributes)],
        "g",
        [helper.make_tensor_value_info(n, TensorProto.FLOAT, [f"{n}{a}" for a in range(v.ndim)]) for n, v in inputs.items()],
        [helper.make_empty_tensor_value_info(n) for n in outputs if n],
        initializers,
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=8)
    exe = pliant.compile(model, progress=False)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1  # with more each quantises the state of its own part of a batch
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    want = session.run(None, inputs)
    got = exe.run(inputs)
    for name, value in zip([n for n in outputs if n], want):
        assert got[name].shape == value.shape
        np.testing.assert_allclose(got[name], value, rtol=rtol, atol=rtol, err_msg=name)


@pytest.mark.parametrize("op, bias", [("Gelu", 0), ("BiasGelu", 1), ("FastGelu", 0), ("FastGelu", 1), ("QuickGelu", 0)])
def test_gelu(op, bias):
    check(op, {"x": normal(3, 5, 7)}, [normal(7)] * bias, ["y"])


@pytest.mark.parametrize("flags", range(4))
@pytest.mark.parametrize("alpha", [1.0, 0.25])
def test_fused_matmul(flags, alpha):
    a, b = normal(2, 3, 4, 5), normal(2, 3, 5, 6)
    a, b = a.swapaxes(-1, -2) if flags & 1 else a, b.swapaxes(-1, -2) if flags & 2 else b
    feeds = {"a": np.ascontiguousarray(a), "b": np.ascontiguousarray(b)}
    check("FusedMatMul", feeds, [], ["y"], alpha=alpha, transA=flags & 1, transB=flags >> 1)


def test_fused_matmul_with_batches_inside():
    feeds = {"a": normal(4, 2, 3, 5), "b": normal(5, 2, 3, 6)}
    check("FusedMatMul", feeds, [], ["y"], transBatchA=1, transBatchB=1)


@pytest.mark.parametrize("skip", [(2, 5, 8), (1, 5, 8), (5, 8)])
@pytest.mark.parametrize("biased", [False, True])
def test_skip_layer_norm(skip, biased):
    feeds = {"x": normal(2, 5, 8), "skip": normal(*skip)}
    weights = [normal(8), normal(8), normal(8) if biased else None]
    check("SkipLayerNormalization", feeds, weights, ["y", "", "", "sum"], epsilon=1e-6)
    check("SkipSimplifiedLayerNormalization", feeds, [weights[0], weights[2]], ["y", "", "", "sum"])
    check("SkipLayerNormalization", feeds, weights[:1], ["y"])


def test_simplified_layer_norm():
    check("SimplifiedLayerNormalization", {"x": normal(2, 5, 8)}, [normal(8)], ["y"], domain="", axis=-1)


@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize("by_column", [False, True])
@pytest.mark.parametrize("dtype", [np.uint8, np.int8])
def test_dynamic_quantize_lstm(direction, by_column, dtype):
    d, hidden, features = 2 if direction == "bidirectional" else 1, 6, 5
    rng = np.random.default_rng(0)
    low, high = (0, 255) if dtype == np.uint8 else (-127, 127)
    scale = [d, 4 * hidden] if by_column else [d]
    # Columns of their own have no zero points.
    zero = np.zeros(scale, dtype) if by_column else np.full(scale, 120 if dtype == np.uint8 else 3, dtype)
    weights = [
        rng.integers(low, high, (d, features, 4 * hidden)).astype(dtype),
        rng.integers(low, high, (d, hidden, 4 * hidden)).astype(dtype),
        normal(d, 8 * hidden),
        None,
        normal(d, 1, hidden),
        normal(d, 1, hidden),
        None,
        rng.uniform(0.001, 0.01, scale).astype(np.float32),
        zero,
        rng.uniform(0.001, 0.01, scale).astype(np.float32),
        zero,
    ]
    for steps, batch in [(7, 1), (5, 3)]:
        feeds = {"x": normal(steps, batch, features)}
        weights[4:6] = normal(d, batch, hidden), normal(d, batch, hidden)
        check("DynamicQuantizeLSTM", feeds, weights, ["y", "h", "c"], rtol=1e-4, direction=direction, hidden_size=hidden)


@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize("padding", [1, 50])
def test_dynamic_quantize_lstm_of_lengths(direction, padding):
    """What lies behind the longest sequence, and states of sequences that ended before, have no part in the ranges of the bytes."""
    d, hidden, features = 2 if direction == "bidirectional" else 1, 6, 5
    rng = np.random.default_rng(3)
    recurrent = [rng.integers(-127, 128, (d, k, 4 * hidden)).astype(np.int8) for k in (features, hidden)]
    quantisation = [rng.uniform(0.001, 0.01, d).astype(np.float32), np.zeros(d, np.int8)]
    for steps, lengths in [(7, [7, 5, 3]), (7, [4, 3, 2]), (7, [4, 0, 2]), (1, [1, 1]), (5, [2])]:
        x = normal(steps, len(lengths), features)
        for b, length in enumerate(lengths):
            x[length:, b] *= padding
        weights = [*recurrent, normal(d, 8 * hidden), np.array(lengths, np.int32), None, None, None, *quantisation, *quantisation]
        check("DynamicQuantizeLSTM", {"x": x}, weights, ["y", "h", "c"], rtol=1e-4, direction=direction, hidden_size=hidden)
