"""The Python interface."""
import threading

import numpy as np
import onnxruntime
import pytest

import models
import pliant


def reference(model, feed):
    data = model if isinstance(model, (str, bytes)) else model.SerializeToString()
    session = onnxruntime.InferenceSession(data, providers=["CPUExecutionProvider"])
    return session.run(None, feed)


def random(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def test_dict_positional_and_executor_styles_agree(mlp, mlp_exe):
    x = random(3, 8)
    want = reference(str(mlp), {"x": x})[0]
    by_name = mlp_exe.run({"x": x})
    assert list(by_name) == ["y"]
    np.testing.assert_allclose(by_name["y"], want, rtol=1e-5, atol=1e-6)
    (positional,) = mlp_exe(x)
    np.testing.assert_array_equal(positional, by_name["y"])
    np.testing.assert_array_equal(mlp_exe(x=x)[0], by_name["y"])
    np.testing.assert_array_equal(mlp_exe.run([x])["y"], by_name["y"])
    mlp_exe.set_input("x", x)
    assert mlp_exe.run() is None
    np.testing.assert_array_equal(mlp_exe.get_output(0), by_name["y"])
    np.testing.assert_array_equal(mlp_exe.get_output("y"), by_name["y"])


def test_descriptions(mlp_exe, bert_exe):
    assert mlp_exe.inputs == [pliant.TensorInfo("x", "float32", ("batch", 8), False)]
    assert mlp_exe.outputs == [pliant.TensorInfo("y", "float32", ("batch", 4), False)]
    assert [i.name for i in bert_exe.inputs] == ["ids", "mask"]
    assert bert_exe.outputs[0].shape == ("batch", "seq", 64)
    assert "x: float32[batch, 8]" in repr(mlp_exe)
    assert mlp_exe.info["precision"] == "fp32"
    assert list(mlp_exe.info["symbols"]) == ["batch"]


@pytest.mark.parametrize("batch", [0, 1, 2, 5, 17, 64])
def test_every_batch(mlp, mlp_exe, batch):
    x = random(batch, 8, seed=batch)
    y = mlp_exe.run({"x": x})["y"]
    assert y.shape == (batch, 4) and y.dtype == np.float32
    np.testing.assert_allclose(y, reference(str(mlp), {"x": x})[0], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("shape", [(1, 1), (1, 37), (4, 64), (3, 5), (2, 0), (0, 3)])
def test_bert_like_shapes(bert_exe, shape):
    ids = np.random.default_rng(1).integers(0, 100, shape)
    mask = np.ones(shape, np.int64)
    y = bert_exe.run({"ids": ids, "mask": mask})["hidden"]
    assert y.shape == (*shape, 64)
    if 0 not in shape:
        np.testing.assert_allclose(y, reference(models.bert_like(), {"ids": ids, "mask": mask})[0], rtol=1e-4, atol=2e-5)


@pytest.mark.parametrize("shape", [(1, 32, 32), (2, 33, 47), (3, 9, 64), (1, 7, 5)])
@pytest.mark.parametrize("opt_level", [0, 1, 2, 3])
def test_convnet_at_every_level(shape, opt_level):
    batch, height, width = shape
    image = random(batch, 3, height, width)
    exe = pliant.compile(models.convnet(), opt_level=opt_level)
    want = reference(models.convnet(), {"image": image})[0]
    np.testing.assert_allclose(exe.run({"image": image})["logits"], want, rtol=1e-4, atol=1e-5)


def test_save_and_load(mlp_exe, tmp_path):
    x = random(4, 8)
    want = mlp_exe.run({"x": x})["y"]
    mlp_exe.save(tmp_path / "m.pliant")
    loaded = pliant.load(tmp_path / "m.pliant", threads=1)
    np.testing.assert_array_equal(loaded.run({"x": x})["y"], want)
    assert loaded.info["threads"] == 1
    loaded.save(str(tmp_path / "again.pliant"))
    assert (tmp_path / "again.pliant").read_bytes() == (tmp_path / "m.pliant").read_bytes()


def test_model_from_path_bytes_and_proto(mlp):
    x = random(2, 8)
    data = mlp.read_bytes()
    outputs = [pliant.compile(m).run({"x": x})["y"] for m in (mlp, str(mlp), data, models.mlp())]
    for y in outputs[1:]:
        np.testing.assert_array_equal(y, outputs[0])


def test_inputs_of_other_kinds(mlp_exe):
    x = random(4, 8)
    want = mlp_exe(x)[0]
    np.testing.assert_array_equal(mlp_exe(x.tolist())[0], want)
    np.testing.assert_array_equal(mlp_exe(np.asfortranarray(x))[0], want)
    np.testing.assert_array_equal(mlp_exe(np.repeat(x, 2, axis=0)[::2])[0], want)
    frozen = x.copy()
    frozen.flags.writeable = False
    np.testing.assert_array_equal(mlp_exe(frozen)[0], want)
    unaligned = np.frombuffer(b"\0" + x.tobytes(), np.uint8)[1:].view(np.float32).reshape(4, 8)
    np.testing.assert_array_equal(mlp_exe(unaligned)[0], want)


class Exporter:
    """An object that offers DLPack and nothing else."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **kwargs):
        return self.array.__dlpack__(**kwargs)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


def test_dlpack_inputs(mlp_exe):
    x = random(4, 8)
    np.testing.assert_array_equal(mlp_exe(Exporter(x))[0], mlp_exe(x)[0])


def test_torch_inputs(mlp_exe):
    torch = pytest.importorskip("torch", reason="torch is not installed: torch tensors as inputs are not tested")
    x = torch.from_numpy(random(4, 8))
    want = mlp_exe(x.numpy())[0]
    np.testing.assert_array_equal(mlp_exe(x)[0], want)
    np.testing.assert_array_equal(mlp_exe(x.clone().requires_grad_())[0], want)
    np.testing.assert_array_equal(mlp_exe(x.t().contiguous().t())[0], want)


def test_outputs_outlive_the_executable(mlp):
    exe = pliant.compile(mlp)
    x = random(4, 8)
    first = exe(x)[0]
    copy = first.copy()
    exe(random(4, 8, seed=9))
    np.testing.assert_array_equal(first, copy)
    del exe
    first += 1
    np.testing.assert_array_equal(first, copy + 1)


def test_renamed_symbols_and_bounds(mlp):
    exe = pliant.compile(mlp, shapes={"x": ["rows", 8]}, bounds={"rows": (1, 16)}, likely={"rows": [1, 4]})
    assert exe.inputs[0].shape == ("rows", 8)
    assert exe.info["symbols"]["rows"][:2] == (1, 16)
    exe(random(16, 8))
    with pytest.raises(pliant.InputError, match="rows"):
        exe(random(17, 8))


def test_fixed_shape(mlp):
    exe = pliant.compile(mlp, shapes={"x": [4, 8]})
    assert exe.inputs[0].shape == (4, 8) and exe.outputs[0].shape == (4, 4)
    np.testing.assert_allclose(exe(random(4, 8))[0], reference(str(mlp), {"x": random(4, 8)})[0], rtol=1e-5, atol=1e-6)


def test_other_threads_run_while_one_compiles():
    ticks, done = [0], threading.Event()

    def tick():
        while not done.is_set():
            ticks[0] += 1

    ticker = threading.Thread(target=tick)
    ticker.start()
    pliant.compile(models.bert_like())
    during = ticks[0]
    done.set()
    ticker.join()
    assert during > 1000


def test_progress_goes_to_standard_error(mlp, capfd):
    pliant.compile(mlp, progress=True)
    assert "compiling" in capfd.readouterr().err
    pliant.compile(mlp)
    assert capfd.readouterr() == ("", "")


def test_backend_runs_one_node():
    import onnx
    from pliant.backend import Backend
    node = onnx.helper.make_node("Add", ["a", "b"], ["c"])
    a, b = random(2, 3), random(3)
    np.testing.assert_array_equal(Backend.run_node(node, [a, b])[0], a + b)
    np.testing.assert_allclose(Backend.run_model(models.mlp(), [random(2, 8)])[0], pliant.compile(models.mlp())(random(2, 8))[0])
    assert Backend.supports_device("CPU") and not Backend.supports_device("CUDA:0")
