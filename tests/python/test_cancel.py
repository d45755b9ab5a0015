"""Runs over sizes that an input decides, which would take years: they end when they are cancelled, and the next run is right."""
import threading
import time

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import pliant

node = helper.make_node


def build(nodes, inputs, opset=20, **options):
    """`inputs`: name -> (element type, axes)."""
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info(k, t, axes) for k, (t, axes) in inputs.items()],
                              [helper.make_empty_tensor_value_info("y")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)
    model = onnx.shape_inference.infer_shapes(model)
    return pliant.compile(model, **options)


def assert_ends_when_cancelled(exe, feed):
    outcome = []

    def run():
        try:
            outcome.append(exe.run(feed))
        except Exception as e:
            outcome.append(e)

    thread = threading.Thread(target=run, daemon=True)  # one that does not end must not keep the tests from ending
    thread.start()
    begin = time.monotonic()
    while not outcome and thread.is_alive():
        time.sleep(.02)
        exe.cancel()
        if time.monotonic() > begin + 120:
            break
    assert outcome, "the run goes on"
    assert isinstance(outcome[0], pliant.CancelledError), outcome[0]


F, I = TensorProto.FLOAT, TensorProto.INT64
EXPANDED = {"x": (F, [1]), "n": (I, [1])}
ROWS = {"x": (F, [1, 1]), "n": (I, [2])}
expand = node("Expand", ["x", "n"], ["e"])


def reduction(op, **attrs):
    return [expand, node(op, ["e"], ["y"], **attrs)]


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("op", ["ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2", "ReduceLogSum",
                                "ReduceLogSumExp", "ReduceSumSquare"])
def test_reductions_of_an_expanded_input(op, threads):
    exe = build(reduction(op, keepdims=0), EXPANDED, threads=threads)
    x = np.ones(1, np.float32)
    assert_ends_when_cancelled(exe, {"x": x, "n": np.array([1 << 40])})
    small = {"ReduceSum": 5, "ReduceL1": 5, "ReduceSumSquare": 5, "ReduceL2": 5 ** .5, "ReduceLogSum": np.log(5),
             "ReduceLogSumExp": 1 + np.log(5)}
    np.testing.assert_allclose(exe.run({"x": x, "n": np.array([5])})["y"], small.get(op, 1), rtol=1e-5)


@pytest.mark.parametrize("threads", [1, 3])
def test_many_rows_and_long_ones(threads):
    exe = build([expand, node("Sin", ["e"], ["s"]), node("Constant", [], ["a"], value_ints=[1]),
                 node("ReduceMean", ["s", "a"], ["m"], keepdims=0), node("ReduceMax", ["m"], ["y"], keepdims=0)],
                ROWS, threads=threads)
    x = np.ones((1, 1), np.float32)
    for shape in ([1 << 20, 1 << 40], [3, 1 << 50], [1 << 24, 1 << 24]):
        assert_ends_when_cancelled(exe, {"x": x, "n": np.array(shape)})
    np.testing.assert_allclose(exe.run({"x": x, "n": np.array([4, 1000])})["y"], np.sin(1), rtol=1e-6)


@pytest.mark.parametrize("op", ["ArgMax", "ArgMin"])
def test_positions(op):
    exe = build([expand, node(op, ["e"], ["y"], axis=0, keepdims=0)], EXPANDED)
    assert_ends_when_cancelled(exe, {"x": np.ones(1, np.float32), "n": np.array([1 << 44])})


@pytest.mark.parametrize("native", [True, False])
def test_loops_with_long_iterations(native):
    body = helper.make_graph([node("Expand", ["v", "n"], ["e"]), node("ReduceMean", ["e"], ["w"], keepdims=0), node("Identity", ["c"],
         ["d"])], "body",
                             [helper.make_tensor_value_info("i", I, []), helper.make_tensor_value_info("c", TensorProto.BOOL, []),
                              helper.make_tensor_value_info("v", F, [])],
                             [helper.make_tensor_value_info("d", TensorProto.BOOL, []), helper.make_tensor_value_info("w", F, [])])
    exe = build([node("Loop", ["m", "", "x"], ["y"], body=body)], {"x": (F, []), "m": (I, []), "n": (I, [1])}, native_loops=native)
    x = np.float32(3)
    assert_ends_when_cancelled(exe, {"x": x, "m": np.int64(1), "n": np.array([1 << 44])})
    assert_ends_when_cancelled(exe, {"x": x, "m": np.int64(1 << 62), "n": np.array([1])})
    np.testing.assert_allclose(exe.run({"x": x, "m": np.int64(3), "n": np.array([7])})["y"], 3)


def test_long_sequences():
    # Taking a long list apart takes long itself: the next run does it.
    for axis, keepdims in ((0, 0), (1, 1)):
        graph = helper.make_graph([node("SplitToSequence", ["x"], ["y"], axis=axis, keepdims=keepdims)], "g",
                                  [helper.make_tensor_value_info("x", F, ["a", "b"])],
                                  [helper.make_tensor_sequence_value_info("y", F, None)])
        exe = pliant.compile(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10))
        assert_ends_when_cancelled(exe, {"x": np.zeros((1 << 23, 1)[::-1 if axis else 1], np.float32)})
        x = np.arange(6, dtype=np.float32).reshape(2, 3)
        y = exe.run({"x": x})["y"]
        assert len(y) == x.shape[axis]
        np.testing.assert_array_equal(y[1], x[1] if axis == 0 else x[:, 1:2])
