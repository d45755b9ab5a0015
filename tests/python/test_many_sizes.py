"""Models with hundreds of sizes that data decide."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import pliant


def compiled(nodes, output, initializers=()):
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n"])],
        [helper.make_tensor_value_info(output, TensorProto.FLOAT, ["m"])],
        list(initializers),
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return pliant.compile(model.SerializeToString(), threads=2)


def above(source, number, threshold):
    """Nodes that keep what of `source` is above a threshold: `k<number>`."""
    return [
        helper.make_node("Greater", [source, threshold], [f"c{number}"]),
        helper.make_node("Compress", [source, f"c{number}"], [f"k{number}"], axis=0),
    ]


def thresholds(count):
    values = np.linspace(0, 1, count, dtype=np.float32)
    return values, [helper.make_tensor(f"t{i}", TensorProto.FLOAT, [], [v]) for i, v in enumerate(values)]


def inputs():
    rng = np.random.default_rng(3)
    return [rng.random(n, dtype=np.float32) for n in (50, 0, 50, 7, 300, 300, 1, 120)]


def test_one_after_the_other():
    count = 300
    values, constants = thresholds(count)
    nodes = []
    for i in range(count):
        nodes += above("x" if i == 0 else f"k{i - 1}", i, f"t{i}")
    exe = compiled(nodes, f"k{count - 1}", constants)
    half = compiled(nodes, f"k{count // 2}", constants)
    for x in inputs():
        np.testing.assert_array_equal(exe(x)[0], x[x > values[-1]])
        np.testing.assert_array_equal(half(x)[0], x[x > values[count // 2]])


@pytest.mark.parametrize("count", [63, 65, 130])
def test_side_by_side(count):
    values, constants = thresholds(count)
    nodes = []
    for i in range(count):
        nodes += above("x", i, f"t{i}")
    nodes.append(helper.make_node("Concat", [f"k{i}" for i in range(count)], ["y"], axis=0))
    exe = compiled(nodes, "y", constants)
    for x in inputs():
        np.testing.assert_array_equal(exe(x)[0], np.concatenate([x[x > v] for v in values]))
