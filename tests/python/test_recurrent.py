"""RNN, GRU and LSTM beside onnxruntime, every attribute at random and at odd sizes."""
import itertools

import numpy as np
import onnx
import onnxruntime
import pliant
import pytest
from onnx import TensorProto, helper, numpy_helper

GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
ACTIVATIONS = ["Relu", "Tanh", "Sigmoid", "Softsign", "Softplus", "LeakyRelu", "ThresholdedRelu", "Elu", "Affine", "ScaledTanh",
               "HardSigmoid"]
WITH_ALPHA = {"LeakyRelu", "ThresholdedRelu", "Elu", "Affine", "ScaledTanh", "HardSigmoid"}
WITH_BETA = {"Affine", "ScaledTanh", "HardSigmoid"}


def random_attributes(op, rng, directions):
    """Attributes of the node; layout is not among them."""
    attributes = {}
    if rng.random() < 0.4:
        count = {"RNN": 1, "GRU": 2, "LSTM": 3}[op] * directions
        names = [str(rng.choice(ACTIVATIONS)) for _ in range(count)]
        attributes["activations"] = names
        alphas = [float(rng.uniform(0.1, 0.9)) for n in names if n in WITH_ALPHA]
        betas = [float(rng.uniform(0.1, 0.9)) for n in names if n in WITH_BETA]
        if alphas:
            attributes["activation_alpha"] = alphas
        if betas:
            attributes["activation_beta"] = betas
    if rng.random() < 0.3:
        attributes["clip"] = float(rng.uniform(0.2, 1.0))
    if op == "GRU":
        attributes["linear_before_reset"] = int(rng.integers(0, 2))
    if op == "LSTM" and rng.random() < 0.3:
        attributes["input_forget"] = 1
    return attributes


class Case:
    """One model; steps and batch are symbols of it unless `steps` fixes the former."""

    def __init__(self, op, direction, layout, seed, known_steps=None):
        rng = np.random.default_rng(seed)
        self.op, self.layout, self.rng = op, layout, rng
        self.directions = 2 if direction == "bidirectional" else 1
        self.features, self.hidden = int(rng.integers(1, 7)), int(rng.integers(1, 20))
        d, g, h, f = self.directions, GATES[op], self.hidden, self.features
        scale = lambda *s: (rng.standard_normal(s) * 0.5).astype(np.float32)
        self.constants = {"W": scale(d, g * h, f), "R": scale(d, g * h, h)}
        inputs = ["x", "W", "R"]
        self.has = {"B": rng.random() < 0.7, "lens": rng.random() < 0.5, "h0": rng.random() < 0.6,
                    "c0": op == "LSTM" and rng.random() < 0.6, "P": op == "LSTM" and rng.random() < 0.4}
        if self.has["B"]:
            self.constants["B"] = scale(d, 2 * g * h)
        if self.has["P"]:
            self.constants["P"] = scale(d, 3 * h)
        for name in ("B", "lens", "h0") + (("c0", "P") if op == "LSTM" else ()):
            inputs.append(name if self.has[name] else "")
        while not inputs[-1]:
            inputs.pop()
        outputs = ["Y", "Y_h"] + (["Y_c"] if op == "LSTM" else [])
        kept = [n for n in outputs if rng.random() < 0.8] or ["Y"]
        self.kept = kept
        attributes = dict(random_attributes(op, rng, d), hidden_size=h, direction=direction)
        steps = known_steps if known_steps is not None else "t"
        self.models = {}
        for swapped in {0, layout}:
            x, state = (["b", steps, f], ["b", d, h]) if swapped else ([steps, "b", f], [d, "b", h])
            params = [helper.make_tensor_value_info("x", TensorProto.FLOAT, x)]
            if self.has["lens"]:
                params.append(helper.make_tensor_value_info("lens", TensorProto.INT32, ["b"]))
            params += [helper.make_tensor_value_info(n, TensorProto.FLOAT, state) for n in ("h0", "c0") if self.has[n]]
            node = helper.make_node(op, inputs, [n if n in kept else "" for n in outputs], name="layer", layout=swapped, **attributes)
            graph = helper.make_graph([node], "g", params, [helper.make_tensor_value_info(n, TensorProto.FLOAT, None) for n in kept],
                                      [numpy_helper.from_array(a, n) for n, a in self.constants.items()])
            self.models[swapped] = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8).SerializeToString()

    def feed(self, steps, batch):
        draw = lambda *s: self.rng.standard_normal(s).astype(np.float32)
        feed = {"x": draw(steps, batch, self.features)}
        if self.has["lens"]:
            feed["lens"] = self.rng.integers(0, steps + 1, batch).astype(np.int32)
        for name in ("h0", "c0"):
            if self.has[name]:
                feed[name] = draw(self.directions, batch, self.hidden)
        return feed


def swapped(feed):
    """The layout that has the batch first: what onnxruntime does not know."""
    return {n: np.ascontiguousarray(v.swapaxes(0, 1)) if v.ndim == 3 else v for n, v in feed.items()}


def back(name, value):
    return value.transpose(1, 2, 0, 3) if name == "Y" else value.swapaxes(0, 1)


@pytest.mark.parametrize("op,direction,layout,seed", [
    (op, direction, layout, seed)
    for op, direction, layout in itertools.product(GATES, ("forward", "reverse", "bidirectional"), (0, 1)) for seed in range(3)])
def test_against_onnxruntime(op, direction, layout, seed, tmp_path):
    known = [None, None, 3][seed]
    case = Case(op, direction, layout, seed * 977 + layout, known)
    path = tmp_path / "model.onnx"
    path.write_bytes(case.models[layout])
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(case.models[0], options, providers=["CPUExecutionProvider"])
    exe = pliant.compile(str(path), check_passes=seed == 0)
    bytecode = pliant.compile(str(path), native_loops=False) if seed == 0 else exe
    for steps, batch in ((1, 1), (5, 3), (2, 1), (17, 2)) if known is None else ((known, 2), (known, 1)):
        feed = case.feed(steps, batch)
        want = dict(zip(case.kept, session.run(case.kept, feed)))
        got = exe.run(swapped(feed) if layout else feed)
        same = bytecode.run(swapped(feed) if layout else feed)
        for name in case.kept:
            np.testing.assert_array_equal(got[name].view(np.int32), same[name].view(np.int32))
            value = back(name, got[name]) if layout else got[name]
            np.testing.assert_allclose(value, want[name], rtol=1e-4, atol=2e-5, err_msg=f"{name} at {steps} x {batch}: {case.has}")


@pytest.mark.parametrize("op", GATES)
def test_no_steps_give_the_initial_state(op, tmp_path):
    cases = (Case(op, "bidirectional", 0, s) for s in range(100))
    case = next(c for c in cases if c.has["h0"] and not c.has["lens"] and {"Y", "Y_h"} <= set(c.kept))
    path = tmp_path / "model.onnx"
    path.write_bytes(case.models[0])
    exe = pliant.compile(str(path))
    feed = case.feed(0, 3)
    out = exe.run(feed)
    assert out["Y"].shape == (0, 2, 3, case.hidden)
    np.testing.assert_array_equal(out["Y_h"], feed["h0"])
    empty = exe.run(case.feed(4, 0))
    assert empty["Y"].shape == (4, 2, 0, case.hidden)


def test_a_length_beyond_the_steps_names_the_layer(tmp_path):
    case = next(c for c in (Case("GRU", "forward", 0, s) for s in range(100)) if c.has["lens"])
    path = tmp_path / "model.onnx"
    path.write_bytes(case.models[0])
    exe = pliant.compile(str(path))
    feed = dict(case.feed(4, 2), lens=np.array([1, 5], np.int32))
    with pytest.raises(pliant.Error, match="layer.*length 5 is not between 0 and 4"):
        exe.run(feed)


@pytest.mark.parametrize("op", GATES)
def test_weights_of_open_sizes(op):
    """Every input is given by the run, no size is written in the model, nor is the hidden size an attribute."""
    cases = (Case(op, "bidirectional", 0, s) for s in range(100))
    case = next(c for c in cases if c.has["h0"] and c.has["B"] and c.has["lens"] and b"activations" not in c.models[0])
    known = onnx.load_model_from_string(case.models[0])
    model = onnx.load_model_from_string(case.models[0])
    del model.graph.initializer[:]
    for i in known.graph.initializer:
        model.graph.input.append(helper.make_tensor_value_info(i.name, TensorProto.FLOAT, [f"{i.name}{a}" for a in range(len(i.dims))]))
    for i in model.graph.input:
        for k, dim in enumerate(i.type.tensor_type.shape.dim):
            dim.dim_param = f"{i.name}{k}"
    attributes = model.graph.node[0].attribute
    attributes.remove(next(a for a in attributes if a.name == "hidden_size"))
    exact = pliant.compile(known, progress=False)
    for native in (True, False):
        exe = pliant.compile(model, progress=False, native_loops=native)
        for steps, batch in ((5, 3), (1, 1), (0, 2)):
            feed = case.feed(steps, batch)
            got, want = exe.run({**feed, **case.constants}), exact.run(feed)
            for name in case.kept:
                np.testing.assert_allclose(got[name], want[name], rtol=1e-3, atol=2e-5, err_msg=name)
    for name, message in (("B", "elements in the biases"), ("R", "in the recurrent weights"), ("W", "in the weights")):
        wrong = {**case.feed(2, 2), **case.constants, name: case.constants[name][:, :-1]}
        with pytest.raises(pliant.RunError, match=f"layer.*{message} of a recurrent layer"):
            exe.run(wrong)
