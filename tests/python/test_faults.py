"""Faults of whoever calls: each is the error that it should be, and none is called a bug of ours."""
import subprocess
import sys
import textwrap

import numpy as np
import onnx
import pytest

import models
import pliant
from test_cli import folder, tool  # noqa: F401  (a fixture)


@pytest.fixture(scope="module")
def add():
    """y = a + b over [n]."""
    g = models.Graph()
    g("Add", "a", "b", name="y")
    return pliant.compile(g.model([("a", models.F32, ["n"]), ("b", models.F32, ["n"])], [("y", models.F32, ["n"])]))


# ---- what run() takes

def test_one_array_is_one_input(mlp_exe, add):
    x = np.random.default_rng(0).standard_normal((3, 8)).astype(np.float32)
    want = mlp_exe.run({"x": x})["y"]
    np.testing.assert_array_equal(mlp_exe.run(x)["y"], want)
    np.testing.assert_array_equal(mlp_exe.run([x])["y"], want)
    np.testing.assert_array_equal(mlp_exe.run((x,))["y"], want)
    arrays = np.ones((2, 5), np.float32), np.ones(2, np.float32)
    for one in (*arrays, np.float32(1), 1.0, "ab", b"ab", (i for i in arrays)):
        with pytest.raises(TypeError, match="2 inputs"):
            add.run(one)
    for one in ("ab", b"ab"):
        with pytest.raises(TypeError):
            mlp_exe.run(one)


def test_names_are_text(add, mlp_exe):
    x = np.ones(2, np.float32)
    for key in (0, None, b"a", ("a",)):
        with pytest.raises(TypeError, match="name"):
            add.run({"a": x, key: x})
    for name in ("c", "", "a\0", "\udcff"):
        with pytest.raises(pliant.InputError, match="there is no input"):
            add.run({"a": x, name: x})
        with pytest.raises(pliant.InputError):
            add.set_input(name, x)
    with pytest.raises(TypeError):
        add.set_input(1.5, x)
    with pytest.raises(IndexError):
        add.set_input(7, x)


@pytest.mark.parametrize("bad, error", [(-1, ValueError), (-2**70, ValueError), (1.5, TypeError), ("5", TypeError)])
def test_numbers_that_count(bad, error, mlp, mlp_exe, tmp_path):
    x = np.ones((2, 8), np.float32)
    mlp_exe.save(tmp_path / "m")
    for call in (lambda: mlp_exe.run({"x": x}, memory_limit=bad), lambda: pliant.load(tmp_path / "m", memory_limit=bad),
                 lambda: pliant.load(tmp_path / "m", threads=bad), lambda: pliant.compile(str(mlp), memory_limit=bad),
                 lambda: pliant.compile(str(mlp), threads=bad)):
        with pytest.raises(error):
            call()


@pytest.mark.parametrize("bad", ["5", 1.5, b"5", [5]])
def test_seeds_are_looked_at_first(bad, mlp, mlp_exe, tmp_path):
    mlp_exe.save(tmp_path / "m")
    for call in (lambda: pliant.compile(str(mlp), seed=bad), lambda: pliant.load(tmp_path / "m", seed=bad),
                 lambda: mlp_exe.run({"x": np.ones((2, 8), np.float32)}, seed=bad)):
        with pytest.raises(TypeError):
            call()


@pytest.mark.parametrize("option", ["shapes", "bounds", "likely"])
def test_what_is_no_dict_is_refused_when_it_is_empty_too(option, mlp):
    for bad in (0, "", [], np.zeros((1, 1))):
        with pytest.raises((AttributeError, TypeError)):
            pliant.compile(str(mlp), **{option: bad})


@pytest.mark.parametrize("progress", [None, True])
def test_compiling_without_standard_error(progress, mlp, monkeypatch):
    monkeypatch.setattr(sys, "stderr", None)
    assert pliant.compile(str(mlp), progress=progress).inputs


def test_numbers_that_are_large(mlp, mlp_exe, tmp_path):
    mlp_exe.save(tmp_path / "m")
    for n in (2**31, 2**63, 2**80):
        assert mlp_exe.run({"x": np.ones((2, 8), np.float32)}, memory_limit=n)
        assert pliant.load(tmp_path / "m", memory_limit=n, threads=n).info["threads"] == 1024
        with pytest.raises(pliant.CompileError, match="0 to 3"):
            pliant.compile(str(mlp), opt_level=n)
    for options in ({"bounds": {"batch": (1, 2**63)}}, {"likely": {"batch": [-2**64]}}):
        with pytest.raises(ValueError, match="64 bits"):
            pliant.compile(str(mlp), **options)
    for options in ({"bounds": {"batch": 5}}, {"bounds": {"batch": ("1", "2")}}, {"opt_level": "3"}):
        with pytest.raises(TypeError):
            pliant.compile(str(mlp), **options)


def test_every_error_is_ours():
    names = [name for name in pliant.__all__ if name.endswith("Error")]
    assert len(names) > 5 and all(issubclass(getattr(pliant, name), pliant.Error) for name in names)


# ---- arrays that are more than their elements

def test_masked_arrays(mlp_exe):
    x = np.random.default_rng(0).standard_normal((3, 8)).astype(np.float32)
    want = mlp_exe.run({"x": x})["y"]
    for mask in (np.ma.nomask, np.zeros_like(x, bool)):
        np.testing.assert_array_equal(mlp_exe.run({"x": np.ma.masked_array(x, mask)})["y"], want)
    masked = np.ma.masked_array(x, x > 0)
    for value in (masked, [row for row in masked], np.ma.masked):
        with pytest.raises(pliant.InputError, match="masked"):
            mlp_exe.run({"x": value})
    np.testing.assert_array_equal(mlp_exe.run({"x": masked.filled(0)})["y"], mlp_exe.run({"x": np.where(x > 0, 0, x)})["y"])


def test_numbers_keep_their_values():
    g = models.Graph()
    g("Identity", "x", name="y")
    exe = pliant.compile(g.model([("x", models.I64, ["n"])], [("y", models.I64, ["n"])]))
    assert exe.run({"x": [1, 2]})["y"].tolist() == [1, 2] and exe.run({"x": []})["y"].tolist() == []
    for bad in ([1.5], [2**70], ["a"], [1j], [[1], [2, 3]]):
        with pytest.raises(pliant.InputError):
            exe.run({"x": bad})


class Lazy:
    """A tensor as torch's are: signs and conjugation are put off, and DLPack does not tell of them. As documented,
    resolve_neg() and resolve_conj() give a tensor where that is done, themselves where there is nothing to do."""

    def __init__(self, data, negated=False, requires_grad=False):
        self.data, self.negated, self.requires_grad = data, negated, requires_grad

    def detach(self):
        return Lazy(self.data, self.negated)

    def resolve_conj(self):
        return self

    def resolve_neg(self):
        return Lazy(-self.data) if self.negated else self

    def __dlpack__(self, **kwargs):
        assert not self.requires_grad, "torch refuses these"
        return self.data.__dlpack__(**kwargs)

    def __dlpack_device__(self):
        return self.data.__dlpack_device__()


@pytest.mark.parametrize("requires_grad", [False, True])
def test_tensors_with_the_negative_bit(mlp_exe, requires_grad):
    x = np.random.default_rng(0).standard_normal((3, 8)).astype(np.float32)
    for negated in (False, True):
        want = mlp_exe.run({"x": -x if negated else x})["y"]
        np.testing.assert_array_equal(mlp_exe.run({"x": Lazy(x, negated, requires_grad)})["y"], want)


def test_torch_tensors(mlp_exe):
    torch = pytest.importorskip("torch")
    z = torch.view_as_complex(torch.randn(3, 8, 2))
    x = z.conj().imag
    assert x.is_neg()
    np.testing.assert_array_equal(mlp_exe.run({"x": x.contiguous()})["y"], mlp_exe.run({"x": x.resolve_neg().contiguous().numpy()})["y"])


# ---- the tool

@pytest.mark.parametrize("option", [("bench", "--duration"), ("verify", "--tolerance")])
@pytest.mark.parametrize("number", ["nan", "inf", "-inf", "0", "-1", "1e400", "x", ""])
def test_numbers_that_compare_with_nothing(folder, option, number):  # noqa: F811
    command, name = option
    model = [folder / "bert.pliant"] + ([folder / "bert.onnx"] if command == "verify" else [])
    assert name in tool(command, *model, "--dim", "batch=1,seq=2", name, number, status=2)


def test_two_different_models(folder, tmp_path):  # noqa: F811
    (tmp_path / "mlp.onnx").write_bytes(models.mlp().SerializeToString())
    text = tool("verify", folder / "bert.pliant", tmp_path / "mlp.onnx", status=1)
    assert "compiled from another model" in text and "[verify]" in text
    g = models.Graph()
    g("Identity", "x", name="y")
    other = g.model([("x", models.I64, ["batch", 8])], [("y", models.I64, ["batch", 8])])
    (tmp_path / "other.onnx").write_bytes(other.SerializeToString())
    tool("compile", tmp_path / "mlp.onnx", "-o", tmp_path / "mlp.pliant")
    assert '"x", i64 of rank 2' in tool("verify", tmp_path / "mlp.pliant", tmp_path / "other.onnx", status=1)


@pytest.mark.parametrize("number", ["99999999999", "9223372036854775807", "99999999999999999999999", "-1", "nan", ""])
def test_numbers_on_the_command_line(folder, number):  # noqa: F811
    bert, model, at = folder / "bert.pliant", folder / "bert.onnx", ["--dim", "batch=1,seq=2"]
    for args in (["run", bert, "--dim", f"batch={number},seq={number}"], ["run", bert, "--shape", f"ids={number}x{number}"],
                 ["bench", bert, "--dim", f"batch=1,seq={number}"], ["verify", bert, model, "--dim", f"batch={number},seq=2"],
                 ["compile", model, "-o", "/dev/null", "--bound", f"batch={number}..1"]):
        assert "internal" not in tool(*args, status=1)
    for args in (["run", bert, *at, f"--threads={number}"], ["bench", bert, *at, f"--requests={number}"],
                 ["verify", bert, model, f"--samples={number}"], ["compile", model, "-o", "/dev/null", f"--opt-level={number}"]):
        tool(*args, status=2)


def test_split_into_less_than_nothing():
    for count in (-1, 0, -2**63):
        node = onnx.helper.make_node("Split", ["x"], ["y", "z"], axis=0, num_outputs=count)
        values = [onnx.helper.make_tensor_value_info(name, 1, [4]) for name in "xyz"]
        model = onnx.helper.make_model(onnx.helper.make_graph([node], "g", values[:1], values[1:]),
                                       opset_imports=[onnx.helper.make_opsetid("", 18)])
        with pytest.raises(pliant.CompileError, match="num_outputs"):
            pliant.compile(model.SerializeToString())


# ---- ends

def python(source, **kwargs):
    return subprocess.run([sys.executable, "-c", textwrap.dedent(source)], capture_output=True, text=True, **kwargs)


ENDLESS = """
    import pathlib, sys, threading, time
    import numpy as np
    sys.path.insert(0, "tests/python")
    import models, pliant
    from test_loops import loop_body
    def build(g):
        g("Add", "v", "one", name="v_out")
    g = models.Graph()
    g("Loop", "n", "", "v0", body=loop_body(build, [("v", models.F32)]), name="out")
    exe = pliant.compile(g.model([("n", models.I64, []), ("v0", models.F32, []), ("one", models.F32, [])], [("out", models.F32, None)]),
                         native_loops=NATIVE)
    feed = {"n": np.array(2**62), "v0": np.float32(0), "one": np.float32(1)}
"""


@pytest.mark.parametrize("native", [True, False])
def test_a_daemon_thread_in_a_run_at_the_end(native):
    done = python(ENDLESS.replace("NATIVE", str(native)) + """
    threading.Thread(target=exe.run, args=(feed,), daemon=True).start()
    time.sleep(0.3)
    print("end", flush=True)
    """, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "end\n", "")


def test_daemon_threads_in_short_runs_and_compilations_at_the_end():
    for _ in range(3):
        done = python("""
        import sys, threading, time
        sys.path.insert(0, "tests/python")
        import numpy as np
        import models, pliant
        exe = pliant.compile(models.mlp())
        x = np.ones((2, 8), np.float32)
        def run():
            while True:
                exe.run({"x": x})
        def compile():
            while True:
                pliant.compile(models.bert_like())
        for target in (run, run, compile):
            threading.Thread(target=target, daemon=True).start()
        time.sleep(0.3)
        """, timeout=60)
        assert (done.returncode, done.stderr) == (0, ""), done.stderr
