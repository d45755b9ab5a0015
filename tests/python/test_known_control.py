"""Conditions, numbers of iterations and sizes that are constant, but that only folding finds out: as in onnxruntime, and without
the code and the weights of what never runs."""

import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

import models
import pliant

F32, I64, BOOL = models.F32, models.I64, TensorProto.BOOL


def info(name, dtype=F32, shape=None):
    return helper.make_tensor_value_info(name, dtype, shape)


def late(g, value):
    """The number, as the sum of more elements than the import follows."""
    parts = np.zeros(100, np.int64)
    parts[:2] = value - 1, 1
    return g("ReduceSum", g.constant(parts), g.constant(np.array([0], np.int64)), keepdims=0)


def run_both(g, feed, outputs=("y",)):
    model = g.model([("x", F32, ["n", 4])], [(name, F32, None) for name in outputs], opset=17)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    exe = pliant.compile(model, progress=False)
    for x in feed:
        got = exe.run({"x": x})
        for name, want in zip(outputs, session.run(None, {"x": x})):
            if got[name].size == want.size == 0 and got[name].ndim == want.ndim:
                continue  # what no iteration gives has the sizes that are known here, 0 there
            assert got[name].shape == want.shape
            np.testing.assert_allclose(got[name], want, rtol=1e-5)
    return exe


def ramps():
    return [np.arange(n * 4, dtype=np.float32).reshape(n, 4) for n in (3, 1, 0)]


@pytest.mark.parametrize("taken", [True, False])
def test_the_other_branch_leaves_nothing(tmp_path, taken):
    g = models.Graph()
    condition = g("Equal", late(g, 7), g.constant(np.int64(7 if taken else 8)))
    weight = numpy_helper.from_array(np.ones((4, 100_000), np.float32), "w")
    wide = helper.make_graph([helper.make_node("MatMul", ["x", "w"], ["a"])], "wide", [], [info("a")], [weight])
    twice = helper.make_graph([helper.make_node("Concat", ["x", "x"], ["b"], axis=0)], "twice", [], [info("b")])
    branches = {"then_branch": twice, "else_branch": wide} if taken else {"then_branch": wide, "else_branch": twice}
    g("Neg", g("If", condition, **branches), name="y")
    exe = run_both(g, ramps())
    exe.save(tmp_path / "m.pliant")
    assert (tmp_path / "m.pliant").stat().st_size < 200_000


def loop_body(*, goes_on="c"):
    """Concatenates x in each iteration, and stacks it."""
    nodes = [
        helper.make_node("Concat", ["s", "x"], ["t"], axis=0),
        helper.make_node("Exp", ["x"], ["row"]),
        helper.make_node("Identity", [goes_on], ["goes_on"]),
    ]
    inputs = [info("i", I64, []), info("c", BOOL, []), info("s")]
    return helper.make_graph(nodes, "body", inputs, [info("goes_on", BOOL, []), info("t"), info("row", F32, ["r", 4])])


@pytest.mark.parametrize("trip", [0, 1, 2, 9])
def test_a_late_number_of_iterations(trip):
    g = models.Graph()
    g("Loop", late(g, trip), "", "x", outputs=2, name="y", body=loop_body())
    run_both(g, ramps(), ("y", "y_1"))


@pytest.mark.parametrize("starts", [True, False])
def test_a_late_condition(starts):
    g = models.Graph()
    condition = g("Equal", late(g, 7), g.constant(np.int64(7 if starts else 8)))
    g("Loop", g.constant(np.int64(1)), condition, "x", outputs=2, name="y", body=loop_body())
    run_both(g, ramps(), ("y", "y_1"))


def test_a_body_that_stops_at_once():
    g = models.Graph()
    stop = g("Equal", late(g, 7), g.constant(np.int64(8)))
    g("Loop", g.constant(np.int64(5)), "", "x", outputs=2, name="y", body=loop_body(goes_on=stop))
    run_both(g, ramps(), ("y", "y_1"))


def test_late_sizes():
    g = models.Graph()
    rows = g("Unsqueeze", late(g, 2), g.constant(np.array([0], np.int64)))
    shape = g("Concat", rows, g.constant(np.array([-1], np.int64)), axis=0)
    g("Reshape", "x", shape, name="y")
    exe = run_both(g, [np.ones((2, 4), np.float32), np.ones((6, 4), np.float32)])
    assert exe.outputs[0].shape[0] == 2
