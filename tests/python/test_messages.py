"""What a wrong input, request or model is told: the input, the axis, the symbol, what was expected and what came."""
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import models
import pliant


@pytest.fixture(scope="module")
def exe():
    return pliant.compile(models.two_inputs())


def feed(**changes):
    values = {"a": np.ones((3, 4), np.float32), "b": np.ones((3, 4), np.float32), "c": np.ones((1, 4), np.float32)}
    values.update(changes)
    return {k: v for k, v in values.items() if v is not None}


def message(exe, **changes):
    with pytest.raises(pliant.InputError) as e:
        exe.run(feed(**changes))
    text = str(e.value)
    print(text)
    return text


def assert_names(text, *words):
    missing = [w for w in words if str(w) not in text]
    assert not missing, f"{missing} not in: {text}"


def test_right_inputs_run(exe):
    np.testing.assert_array_equal(exe.run(feed())["y"], np.full((3, 4), 3, np.float32))


def test_missing_input(exe):
    assert_names(message(exe, b=None), '"b"')


def test_unknown_input(exe):
    assert_names(message(exe, d=np.ones(3, np.float32)), '"d"')


def test_wrong_dtype(exe):
    assert_names(message(exe, b=np.ones((3, 4), np.float64)), '"b"', "f32", "f64")


def test_wrong_rank(exe):
    assert_names(message(exe, a=np.ones((3, 4, 1), np.float32)), '"a"', "2", "3")


def test_wrong_fixed_size(exe):
    assert_names(message(exe, c=np.ones((1, 5), np.float32)), '"c"', "axis 1", "4", "5")


def test_inputs_that_disagree_on_a_symbol(exe):
    assert_names(message(exe, b=np.ones((7, 4), np.float32)), '"b"', "axis 0", "n", "3", "7", '"a"')


def test_not_an_array(exe):
    assert_names(message(exe, a=Exception()), "'a'")


def test_dtype_that_models_do_not_have(exe):
    assert_names(message(exe, a=np.ones((3, 4), np.complex64)), "'a'")


def test_too_many_positional(exe):
    with pytest.raises(pliant.InputError, match="3 inputs, 4"):
        exe(*[np.ones((3, 4), np.float32)] * 4)


def test_names_of_set_input_and_get_output(exe):
    with pytest.raises(pliant.InputError, match='"q"'):
        exe.set_input("q", 1)
    with pytest.raises(pliant.Error, match="run"):
        pliant.compile(models.mlp()).get_output(0)


def test_unsupported_operators_are_reported_at_once():
    nodes = [helper.make_node("Foo", ["x"], ["a"], name="first", domain="custom"),
             helper.make_node("Bar", ["a"], ["b"], name="second", domain="custom"),
             helper.make_node("Foo", ["b"], ["c"], name="third", domain="custom"),
             helper.make_node("Baz", ["c"], ["y"], name="fourth", domain="custom")]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n"])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n"])])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("custom", 1)])
    with pytest.raises(pliant.CompileError) as e:
        pliant.compile(model)
    assert_names(str(e.value), "Foo", "Bar", "Baz", "first", "second", "fourth", "2")


def test_shape_fault_of_a_model_names_the_node():
    g = models.Graph()
    g("MatMul", "x", g.weight(7, 4), name="proj")
    model = g.model([("x", TensorProto.FLOAT, ["n", 5])], [("proj", TensorProto.FLOAT, None)])
    with pytest.raises(pliant.CompileError) as e:
        pliant.compile(model)
    assert_names(str(e.value), "proj", "MatMul", "5", "7")


def test_index_out_of_range_names_the_node():
    g = models.Graph()
    g("Gather", g.weight(5, 3), "ids", name="embed")
    exe = pliant.compile(g.model([("ids", TensorProto.INT64, ["n"])], [("embed", TensorProto.FLOAT, ["n", 3])]))
    assert exe(np.array([0, 4, -1]))[0].shape == (3, 3)
    with pytest.raises(pliant.RunError) as e:
        exe(np.array([0, 5]))
    assert_names(str(e.value), "embed", "5")


@pytest.mark.parametrize("options, words", [
    ({"target": "pdp-11"}, ["pdp-11", "x86-64-v3"]),
    ({"precision": "fp7"}, ["fp7"]),
    ({"opt_level": 9}, ["9"]),
    ({"shapes": {"z": ["n"]}}, ["z"]),
    ({"shapes": {"x": ["n"]}}, ["x", "1", "2"]),
    ({"bounds": {"nope": (1, 2)}}, ["nope"]),
])
def test_wrong_options(options, words):
    with pytest.raises(pliant.CompileError) as e:
        pliant.compile(models.mlp(), **options)
    assert_names(str(e.value), *words)


def test_files_that_are_not_there(tmp_path):
    with pytest.raises(pliant.CompileError, match="nowhere.onnx"):
        pliant.compile(tmp_path / "nowhere.onnx")
    with pytest.raises(pliant.ArtifactError, match="nowhere.pliant"):
        pliant.load(tmp_path / "nowhere.pliant")


def test_not_a_model(tmp_path):
    path = tmp_path / "text.onnx"
    path.write_text("this is no protobuf")
    with pytest.raises(pliant.CompileError, match="text.onnx"):
        pliant.compile(path)


def test_a_model_of_an_opset_that_is_too_old():
    model = models.mlp()
    model.opset_import[0].version = 3
    assert onnx.IR_VERSION > 3
    with pytest.raises(pliant.CompileError, match="3"):
        pliant.compile(model)
