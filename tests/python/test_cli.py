"""The command-line tool: what it prints, what it writes and how it ends."""
import json
import os
import pathlib
import re
import shutil
import subprocess

import numpy as np
import onnx.parser
import pytest

import models
import pliant

ROOT = pathlib.Path(__file__).parents[2]
BUILD = os.environ.get("PLIANT_BUILD")
TOOL = str(pathlib.Path(BUILD) / "tools" / "pliant") if BUILD else shutil.which("pliant")


def tool(*args, status=0):
    done = subprocess.run([TOOL, *map(str, args)], capture_output=True, text=True)
    assert done.returncode == status, f"status {done.returncode}: {done.stdout}{done.stderr}"
    return done.stdout if status == 0 else done.stderr


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with bert.onnx and its artifact bert.pliant."""
    path = tmp_path_factory.mktemp("cli")
    (path / "bert.onnx").write_bytes(models.bert_like().SerializeToString())
    tool("compile", path / "bert.onnx", "-o", path / "bert.pliant")
    return path


def test_compile_is_what_python_compiles(folder, tmp_path):
    pliant.compile(folder / "bert.onnx").save(tmp_path / "python.pliant")
    assert (tmp_path / "python.pliant").read_bytes() == (folder / "bert.pliant").read_bytes()


def test_compile_options(folder, tmp_path):
    target = tmp_path / "m.pliant"
    tool("compile", folder / "bert.onnx", "-o", target, "--target", "x86-64-v3", "--shape", "ids=b,s", "--shape", "mask=b,s", "--bound",
         "b=1..8", "--likely", "b=1,4", "--threads", 1, "--opt-level", 1, "--dump", tmp_path / "dump")
    exe = pliant.load(target)
    assert exe.inputs[0].shape == ("b", "s")
    assert exe.info["symbols"]["b"][:2] == (1, 8) and exe.info["target"] == "x86-64-v3"
    assert "// strategy: contraction" in (tmp_path / "dump" / "kernels.ir").read_text()
    assert "function @" in (tmp_path / "dump" / "host.ir").read_text()


def test_run_from_files_to_files(folder, tmp_path):
    ids = np.random.default_rng(0).integers(0, 100, (2, 9))
    np.save(tmp_path / "ids.npy", ids)
    np.save(tmp_path / "mask.npy", np.ones((2, 9), np.int64))
    for model in ("bert.pliant", "bert.onnx"):
        out = tmp_path / model
        text = tool("run", folder / model, "--input", f"ids={tmp_path}/ids.npy", "--input", f"mask={tmp_path}/mask.npy", "--output", out)
        assert "hidden: f32 2x9x64" in text
        want = pliant.load(folder / "bert.pliant").run({"ids": ids, "mask": np.ones((2, 9), np.int64)})["hidden"]
        np.testing.assert_array_equal(np.load(out / "hidden.npy"), want)


def test_the_ways_to_say_shapes(folder):
    def shapes(*args):
        lines = tool("run", folder / "bert.pliant", *args).splitlines()
        return [line.split()[2] for line in lines if line.startswith("  hidden")]
    assert shapes("--shape", "ids=1x5;2x7;0x3") == ["1x5x64", "2x7x64", "0x3x64"]
    assert shapes("--shape", "ids=1x5;2x7", "--shape", "mask=1x5;2x7") == ["1x5x64", "2x7x64"]
    assert shapes("--shape", "ids=3x4;mask=3x4") == ["3x4x64"]
    assert shapes("--dim", "batch=1,seq=37", "--dim", "batch=4,seq=12") == ["1x37x64", "4x12x64"]


def test_bench_reports(folder, tmp_path):
    text = tool("bench", folder / "bert.pliant", "--dim", "batch=1,seq=8", "--dim", "batch=2,seq=5", "--requests", 20, "--threads", 1,
                "--json", tmp_path / "r.json")
    for word in ("first", "p50", "p90", "p95", "p99", "mean", "min", "max", "runs/s", "peak memory"):
        assert word in text
    report = json.loads((tmp_path / "r.json").read_text())
    assert [row["shape"] for row in report["rows"]] == ["ids=1x8;mask=1x8", "ids=2x5;mask=2x5"]
    for row in report["rows"]:
        assert row["runs"] == 20 and 0 < row["min_ms"] <= row["p50_ms"] <= row["p99_ms"] <= row["max_ms"]
    tool("bench", folder / "bert.pliant", "--dim", "batch=1,seq=8", "--duration", 0.1)


def test_inspect(folder):
    text = tool("inspect", folder / "bert.pliant", "--code")
    for part in ("input  ids: i64[batch, seq]", "output hidden: f32[batch, seq, 64]", "symbol batch", "kernels", "Return"):
        assert part in text
    text = tool("inspect", folder / "bert.onnx")
    assert "input  ids: i64[batch, seq]" in text and "weights" in text
    assert "nn.softmax" in tool("inspect", folder / "bert.onnx", "--graph")


def test_verify(folder, tmp_path):
    text = tool("verify", folder / "bert.pliant", folder / "bert.onnx", "--dim", "batch=2,seq=5", "--dim", "batch=1,seq=3")
    assert text.count("max relative error") == 2
    (tmp_path / "conv.onnx").write_bytes(models.convnet().SerializeToString())
    (tmp_path / "mlp.onnx").write_bytes(models.mlp().SerializeToString())
    tool("compile", tmp_path / "mlp.onnx", "-o", tmp_path / "mlp.pliant")
    assert tool("verify", tmp_path / "mlp.pliant", tmp_path / "mlp.onnx").count("max relative error") == 4
    other = models.mlp()
    other.graph.initializer[0].CopyFrom(models.numpy_helper.from_array(np.ones((8, 16), np.float32), other.graph.initializer[0].name))
    (tmp_path / "other.onnx").write_bytes(other.SerializeToString())
    assert "relative error" in tool("verify", tmp_path / "mlp.pliant", tmp_path / "other.onnx", status=1)


def test_exit_status(folder, tmp_path):
    assert "nowhere.onnx" in tool("compile", tmp_path / "nowhere.onnx", "-o", tmp_path / "x", status=1)
    assert "nope" in tool("run", folder / "bert.pliant", "--shape", "nope=1x2", status=1)
    assert "batch" in tool("run", folder / "bert.pliant", status=1)
    assert "batch" in tool("run", folder / "bert.pliant", "--shape", "ids=1x5;mask=2x5", status=1)
    tool("compile", folder / "bert.onnx", status=2)
    tool("frobnicate", status=2)
    tool("run", folder / "bert.pliant", "--threads", "-3", status=2)
    assert tool("--help")
    (tmp_path / "broken.npy").write_bytes(b"\x93NUMPY\x01\x00\xff\xff")
    assert "broken.npy" in tool("run", folder / "bert.pliant", "--input", f"ids={tmp_path}/broken.npy", status=1)


def test_one_version(folder):
    release = re.search(r"project\(pliant VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text())[1]
    assert tool("--version").strip() == release
    assert f"pliant {release}" in tool("inspect", folder / "bert.pliant")


@pytest.mark.parametrize("dtype", ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32",
                                   "float64"])
def test_npy_of_every_dtype(dtype, tmp_path):
    g = models.Graph()
    kind = models.helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    g("Identity", "x", name="y")
    (tmp_path / "id.onnx").write_bytes(g.model([("x", kind, ["n", 3])], [("y", kind, ["n", 3])]).SerializeToString())
    x = (np.arange(12).reshape(4, 3) % 2).astype(dtype)
    np.save(tmp_path / "x.npy", x)
    tool("run", tmp_path / "id.onnx", "--input", f"x={tmp_path}/x.npy", "--output", tmp_path)
    y = np.load(tmp_path / "y.npy")
    assert y.dtype == x.dtype
    np.testing.assert_array_equal(y, x)


SEQUENCES = """<ir_version: 8, opset_import: ["" : 18]>
m (int64 n, seq(float[a, 3]) s, optional(float[b]) o, float[1, 3] x) => (seq(float[c, 3]) y, float[d, 3] z, optional(float[b]) p) {
    y = Loop(n, , s) <body = b (int64 i, bool c1, seq(float[e, 3]) acc) => (bool c2, seq(float[f, 3]) next) {
        c2 = Identity(c1)
        next = SequenceInsert(acc, x) }>
    z = ConcatFromSequence<axis = 0>(y)
    p = Identity(o) }"""


def test_sequences_from_files_to_files(tmp_path):
    onnx.save(onnx.parser.parse_model(SEQUENCES), tmp_path / "m.onnx")
    tool("compile", tmp_path / "m.onnx", "-o", tmp_path / "m.pliant")
    arrays = {name: np.random.default_rng(0).standard_normal(shape).astype(np.float32)
              for name, shape in {"a": (2, 3), "b": (4, 3), "x": (1, 3), "o": (5,)}.items()}
    arrays["n"] = np.array(2)
    for name, array in arrays.items():
        np.save(tmp_path / f"{name}.npy", array)
    given = ["--input", f"n={tmp_path}/n.npy", "--input", f"x={tmp_path}/x.npy", "--input", f"s={tmp_path}/a.npy,{tmp_path}/b.npy"]
    text = tool("run", tmp_path / "m.pliant", *given, "--input", f"o={tmp_path}/o.npy", "--output", tmp_path / "out")
    assert "y: 4 elements" in text and "y.3: f32 1x3" in text and "z: f32 8x3" in text and "p.0: f32 5" in text
    np.testing.assert_array_equal(np.load(tmp_path / "out" / "y.1.npy"), arrays["b"])
    assert "p: nothing" in tool("run", tmp_path / "m.pliant", *given, "--input", "o=")
    text = tool("inspect", tmp_path / "m.pliant")
    assert "input  s: seq<f32[?, 3]>" in text and "output p: opt<f32[?]>" in text
    assert "max relative error 0.00e+00" in tool("verify", tmp_path / "m.pliant", tmp_path / "m.onnx")


def test_remarks_say_what_runs_slower(tmp_path):
    """A loop that calls a function of the runtime in its body is bytecode; the tool says so, with the node's name."""
    from test_loops import loop_body

    def build(g):
        g("Compress", "v", g("Greater", "v", "low"), axis=0, name="v_out")
    g = models.Graph()
    g("Loop", "n", "", "v0", body=loop_body(build, [("v", models.F32)]), name="filter")
    model = g.model([("n", models.I64, []), ("v0", models.F32, ["m"]), ("low", models.F32, [])], [("filter", models.F32, None)])
    (tmp_path / "m.onnx").write_bytes(model.SerializeToString())
    done = subprocess.run([TOOL, "compile", tmp_path / "m.onnx", "-o", tmp_path / "m.pliant", "--dump", tmp_path / "dump"],
                          capture_output=True, text=True)
    assert done.returncode == 0
    assert 'remark: node "filter" (onnx.Loop) runs as bytecode' in done.stderr
    assert "filter" in (tmp_path / "dump" / "remarks.txt").read_text()
