"""Files that are written and read: whole or not at all, and never what they are not."""
import os
import pathlib
import resource
import shutil
import signal
import socket
import stat
import subprocess
import sys
import threading
import time

import numpy as np
import onnx
import pytest

import models
import pliant
from test_cli import TOOL, tool


@pytest.fixture(scope="module")
def artifact(mlp, tmp_path_factory):
    path = tmp_path_factory.mktemp("artifact") / "mlp.pliant"
    tool("compile", mlp, "-o", path)
    return path.read_bytes()


def names_in(folder):
    return sorted(os.listdir(folder))


# ---- where the tool writes to

def test_devices_are_written_to_and_not_replaced(mlp):
    before = os.stat("/dev/null")
    tool("compile", mlp, "-o", "/dev/null")
    after = os.stat("/dev/null")
    assert stat.S_ISCHR(after.st_mode) and (before.st_ino, before.st_rdev) == (after.st_ino, after.st_rdev)


def test_links_are_followed(mlp, artifact, tmp_path):
    (tmp_path / "far").mkdir()
    (tmp_path / "far" / "real").write_bytes(b"old")
    os.symlink("far/real", tmp_path / "link")
    os.symlink(tmp_path / "far" / "new", tmp_path / "dangling")
    for name, target in (("link", "real"), ("dangling", "new")):
        tool("compile", mlp, "-o", tmp_path / name)
        assert os.path.islink(tmp_path / name)
        assert (tmp_path / "far" / target).read_bytes() == artifact
    assert names_in(tmp_path / "far") == ["new", "real"]
    os.symlink("circle", tmp_path / "circle")
    assert "symbolic links" in tool("compile", mlp, "-o", tmp_path / "circle", status=1)


def test_standard_output(mlp, artifact, tmp_path):
    for name in ("-", "/dev/stdout"):
        done = subprocess.run([TOOL, "compile", str(mlp), "-o", name], capture_output=True, cwd=tmp_path)
        assert done.returncode == 0 and done.stdout[:len(artifact)] == artifact
        if name == "-":
            assert done.stdout == artifact and b"precision fp32" in done.stderr
    with open(tmp_path / "redirected", "wb") as f:
        assert subprocess.run([TOOL, "compile", str(mlp), "-o", "-"], stdout=f, stderr=subprocess.DEVNULL).returncode == 0
    assert (tmp_path / "redirected").read_bytes() == artifact
    assert names_in(tmp_path) == ["redirected"]


@pytest.mark.parametrize("reader_first", [True, False])
def test_pipes_are_written_into(mlp, artifact, tmp_path, reader_first):
    os.mkfifo(tmp_path / "pipe")
    got = []

    def read():
        if not reader_first:
            time.sleep(1)
        got.append((tmp_path / "pipe").read_bytes())
    reader = threading.Thread(target=read)
    reader.start()
    tool("compile", mlp, "-o", tmp_path / "pipe")
    reader.join()
    assert got == [artifact] and stat.S_ISFIFO(os.stat(tmp_path / "pipe").st_mode)


def test_only_pipes_are_waited_for(mlp):
    """A process without a terminal: opening /dev/tty fails as opening a pipe does that nobody reads."""
    done = subprocess.run([TOOL, "compile", mlp, "-o", "/dev/tty"], capture_output=True, text=True, start_new_session=True)
    assert done.returncode == 1 and "No such device or address [file]" in done.stderr, done.stderr


def test_what_cannot_be_written_is_refused_before_the_work(tmp_path):
    """The model is none: had it been looked at first, it would be what is refused."""
    (tmp_path / "bad.onnx").write_bytes(b"no model")
    (tmp_path / "file").write_bytes(b"x")
    with socket.socket(socket.AF_UNIX) as s:
        s.bind(str(tmp_path / "socket"))
        for target, why in ((tmp_path, "Is a directory"), (tmp_path / "none" / "x", "No such file or directory"),
                            (tmp_path / "file" / "x", "Not a directory"), (tmp_path / "socket", "is a socket"),
                            (tmp_path / ("n" * 300), "File name too long"), ("", "No such file or directory")):
            text = tool("compile", tmp_path / "bad.onnx", "-o", target, status=1)
            assert why in text and "[file]" in text, text
    assert "[file]" in tool("bench", tmp_path / "bad.onnx", "--json", tmp_path / "none" / "x", status=1)
    assert "[file]" in tool("run", tmp_path / "bad.onnx", "--output", tmp_path / "file" / "x", status=1)
    assert (tmp_path / "file").read_bytes() == b"x"


def test_folders_that_cannot_be_made(mlp, tmp_path):
    (tmp_path / "file").write_bytes(b"x")
    text = tool("compile", mlp, "-o", tmp_path / "m", "--dump", tmp_path / "file" / "dump", status=1)
    assert "Not a directory" in text and "[file]" in text
    with pytest.raises(pliant.Error, match="Not a directory"):
        pliant.compile(mlp, dump_dir=tmp_path / "file")
    assert names_in(tmp_path) == ["file"]


def test_permissions_stay(mlp, tmp_path):
    (tmp_path / "m").write_bytes(b"old")
    os.chmod(tmp_path / "m", 0o640)
    tool("compile", mlp, "-o", tmp_path / "m")
    assert stat.S_IMODE(os.stat(tmp_path / "m").st_mode) == 0o640
    umask = os.umask(0o027)
    try:
        tool("compile", mlp, "-o", tmp_path / "new")
    finally:
        os.umask(umask)
    assert stat.S_IMODE(os.stat(tmp_path / "new").st_mode) == 0o640


def test_a_file_that_may_not_be_written_stays(mlp, tmp_path):
    if os.geteuid() == 0:
        pytest.skip("the superuser may write to everything")
    (tmp_path / "m").write_bytes(b"old")
    os.chmod(tmp_path / "m", 0o444)
    assert "Permission denied" in tool("compile", mlp, "-o", tmp_path / "m", status=1)
    assert (tmp_path / "m").read_bytes() == b"old"


def limited(kind, value):
    return lambda: resource.setrlimit(kind, (value, value))


def test_a_full_disk_leaves_nothing(mlp, artifact, tmp_path):
    (tmp_path / "m").write_bytes(b"old")
    done = subprocess.run([TOOL, "compile", str(mlp), "-o", str(tmp_path / "m")], capture_output=True, text=True,
                          preexec_fn=limited(resource.RLIMIT_FSIZE, len(artifact) // 2))
    assert done.returncode == 1 and "File too large" in done.stderr
    assert names_in(tmp_path) == ["m"] and (tmp_path / "m").read_bytes() == b"old"
    if os.path.exists("/dev/full"):
        assert "No space left" in tool("compile", mlp, "-o", "/dev/full", status=1)


SLOW = """<ir_version: 8, opset_import: ["" : 18]>
m (float[n, k] x) => (float[a, b] y) {{
{nodes}
    y = Identity(v{last})
}}"""


def slow_model(count=400):
    nodes = [f"    v{i} = {'MatMul' if i % 2 else 'Softmax'}({f'v{i - 1}' if i else 'x'}{', x' if i % 2 else ''})" for i in range(count)]
    return onnx.parser.parse_model(SLOW.format(nodes="\n".join(nodes), last=count - 1)).SerializeToString()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_leave_nothing(tmp_path, number):
    (tmp_path / "slow.onnx").write_bytes(slow_model())
    (tmp_path / "out").mkdir()
    for wait in (0.05, 0.4):
        command = [TOOL, "compile", str(tmp_path / "slow.onnx"), "-o", str(tmp_path / "out" / "m")]
        process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        time.sleep(wait)
        process.send_signal(number)
        assert process.wait(timeout=20) == -number
    assert names_in(tmp_path / "out") == []


def test_nobody_can_plant_the_temporary(artifact, tmp_path):
    """What stood under the fixed name of old must not be written through."""
    (tmp_path / "victim").write_bytes(b"precious")
    for name in ("m.partial", "m.tmp", "m~", ".m.partial"):
        os.symlink(tmp_path / "victim", tmp_path / name)
    exe = pliant.compile(models.mlp())
    exe.save(tmp_path / "m")
    assert (tmp_path / "victim").read_bytes() == b"precious" and (tmp_path / "m").stat().st_size == len(artifact)


# ---- save()

def test_save_writes_what_was_loaded(artifact, tmp_path):
    pliant.compile(models.convnet()).save(tmp_path / "other")
    (tmp_path / "p").write_bytes(artifact)
    exe = pliant.load(tmp_path / "p")
    os.replace(tmp_path / "other", tmp_path / "p")
    exe.save(tmp_path / "q")
    assert (tmp_path / "q").read_bytes() == artifact
    (tmp_path / "p").unlink()
    exe.save(tmp_path / "p")
    assert (tmp_path / "p").read_bytes() == artifact


def large_model():
    g = models.Graph()
    g("MatMul", "x", g.weight(1000, 1000), name="y")
    return g.model([("x", models.F32, ["n", 1000])], [("y", models.F32, ["n", 1000])])


def test_save_of_a_mapped_file(tmp_path):
    pliant.compile(large_model()).save(tmp_path / "p")
    data = (tmp_path / "p").read_bytes()
    exe = pliant.load(tmp_path / "p")
    shutil.copyfile(tmp_path / "p", tmp_path / "kept")
    os.replace(tmp_path / "kept", tmp_path / "p")
    exe.save(tmp_path / "p")  # over its own name
    assert (tmp_path / "p").read_bytes() == data
    exe = pliant.load(tmp_path / "p")
    with open(tmp_path / "p", "r+b") as f:  # in place: what is mapped changes
        f.seek(len(data) // 2)
        f.write(bytes(100))
    (tmp_path / "q").write_bytes(b"old")
    with pytest.raises(pliant.Error, match="has been changed since"):
        exe.save(tmp_path / "q")
    os.truncate(tmp_path / "p", 8192)
    with pytest.raises(pliant.Error):
        exe.save(tmp_path / "q")
    assert (tmp_path / "q").read_bytes() == b"old" and names_in(tmp_path) == ["p", "q"]


def test_save_says_why_not(tmp_path):
    exe = pliant.compile(models.mlp())
    for target in (tmp_path, tmp_path / "none" / "x"):
        with pytest.raises(pliant.Error, match="Is a directory|No such file"):
            exe.save(target)
    with pytest.raises(ValueError, match="zero byte"):
        exe.save(str(tmp_path / "a\0b"))
    exe.save("/dev/null")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)
    name = os.fsencode(tmp_path) + b"/caf\xe9"
    exe.save(name)
    assert pliant.load(name).inputs[0].name == "x" and pliant.load(os.fsdecode(name)).inputs[0].name == "x"
    with pytest.raises(pliant.ArtifactError, match=r"caf\\xe9"):
        pliant.load(name + b"-none")


# ---- what is read

def test_small_files_may_change_while_they_are_loaded(artifact, tmp_path):
    (tmp_path / "p").write_bytes(artifact)
    exe = pliant.load(tmp_path / "p", huge_pages=False)
    os.truncate(tmp_path / "p", 100)
    assert exe.run({"x": np.ones((2, 8), np.float32)})["y"].shape == (2, 4)
    exe.save(tmp_path / "q")
    assert (tmp_path / "q").read_bytes() == artifact


@pytest.mark.parametrize("read", [pliant.load, pliant.compile])
def test_pipes_are_not_read(read, tmp_path):
    os.mkfifo(tmp_path / "pipe.ir")
    for path in (tmp_path / "pipe.ir", tmp_path, "/dev/zero"):
        with pytest.raises(pliant.Error, match="regular file|folder"):
            read(path)
    for command in (["run", tmp_path / "pipe.ir"], ["inspect", tmp_path / "pipe.ir"]):
        assert subprocess.run([TOOL, *map(str, command)], capture_output=True, timeout=20).returncode == 1


def external_model(location):
    """y = x + w, where w is told to lie in a file."""
    w = onnx.TensorProto(name="w", data_type=1, dims=[4], data_location=onnx.TensorProto.EXTERNAL)
    w.external_data.add(key="location", value=location)
    g = models.Graph()
    g("Add", "x", "w", name="y")
    model = g.model([("x", models.F32, ["n", 4])], [("y", models.F32, ["n", 4])])
    model.graph.initializer.append(w)
    return model.SerializeToString()


def test_external_data(tmp_path):
    folder = tmp_path / "model"
    (folder / "sub").mkdir(parents=True)
    weights = np.arange(4, dtype=np.float32)
    (folder / "sub" / "w").write_bytes(weights.tobytes())
    (tmp_path / "outside").write_bytes(weights.tobytes())
    os.symlink("sub/w", folder / "inside_link")
    os.symlink("../outside", folder / "outside_link")
    os.symlink("..", folder / "up")
    os.symlink("model.onnx", folder / "model_link")
    os.link(folder / "sub" / "w", folder / "hard")
    os.mkfifo(folder / "pipe")
    os.symlink("/dev/zero", folder / "zero")

    def compile_with(location, name="model.onnx"):
        data = external_model(location)
        (folder / name).write_bytes(data + bytes(0))
        return pliant.compile(folder / name)
    for good in ("sub/w", "inside_link", "hard", "./sub/../sub/w"):
        np.testing.assert_array_equal(compile_with(good)(np.zeros((1, 4), np.float32))[0][0], weights)
    for bad, why in (("outside_link", "leads out of the model's folder"), ("up/outside", "leads out"), ("../outside", "outside"),
                     (str(tmp_path / "outside"), "outside"), ("model.onnx", "is the model itself"), ("model_link", "is the model itself"),
                     ("pipe", "not a regular file"), ("zero", "leads out"), ("sub", "folder"), ("none", "No such file"),
                     ("sub/w\0x", "zero byte")):
        with pytest.raises(pliant.CompileError, match=why):
            compile_with(bad)


def test_external_data_beside_the_file_that_a_link_names(tmp_path):
    """As caches of models lie: links to files whose names are digests, all in one folder."""
    (tmp_path / "blobs").mkdir()
    (tmp_path / "snapshot").mkdir()
    (tmp_path / "blobs" / "1").write_bytes(external_model("w"))
    (tmp_path / "blobs" / "2").write_bytes(np.arange(4, dtype=np.float32).tobytes())
    os.symlink("../blobs/1", tmp_path / "snapshot" / "model.onnx")
    os.symlink("../blobs/2", tmp_path / "snapshot" / "w")
    assert pliant.compile(tmp_path / "snapshot" / "model.onnx").inputs[0].name == "x"


# ---- names

def test_names_that_are_no_text(tmp_path):
    model = models.mlp()
    data = model.SerializeToString()
    assert data.count(b"batch") == 2
    folder = os.fsencode(tmp_path)
    for name in (b"\xff\xfe", b"caf\xe9"):
        (tmp_path / "m").write_bytes(data.replace(b"batch", b"b\xfftch"))
        os.rename(tmp_path / "m", folder + b"/" + name)
        exe = pliant.compile(os.fsdecode(folder + b"/" + name))
        assert exe.inputs[0].shape == ("`b\\xfftch`", 8) and "\\x" in exe.info["model"]
        exe.save(tmp_path / "a")
        text = tool("bench", os.fsdecode(folder + b"/" + name), "--shape", "x=2x8", "--requests", 1, "--json", tmp_path / "r")
        assert "x=2x8" in text and "\\\\x" in (tmp_path / "r").read_text()
        assert "b\\xfftch" in tool("inspect", tmp_path / "a")
    with pytest.raises(pliant.CompileError, match=r"none\\xff"):
        pliant.compile(os.fsdecode(folder + b"/none\xff"))


def test_a_zero_byte_does_not_end_a_name():
    g = models.Graph()
    g("Add", "a", "a2", name="y")
    data = g.model([("a", models.F32, ["n"]), ("a2", models.F32, ["n"])], [("y", models.F32, ["n"])]).SerializeToString()
    exe = pliant.compile(data.replace(b"a2", b"a\0"))
    assert [i.name for i in exe.inputs] == ["a", "a\\x00"]
    x = np.ones(3, np.float32)
    np.testing.assert_array_equal(exe.run({"a": x, "a\\x00": 2 * x})["y"], 3 * x)
    with pytest.raises(pliant.InputError, match="there is no input"):
        exe.run({"a": x, "a\\x00": x, "a\0": x})
    with pytest.raises(ValueError, match="zero byte"):
        pliant.compile("a\0.onnx")


# ---- memory

@pytest.mark.parametrize("limit", [90, 100, 120, 160, 200, 300])
def test_little_address_space_is_an_error(limit, tmp_path):
    (tmp_path / "m.onnx").write_bytes(models.mlp().SerializeToString())
    done = subprocess.run([TOOL, "compile", str(tmp_path / "m.onnx"), "-o", str(tmp_path / "a"), "--threads", "4"], capture_output=True,
                          text=True, preexec_fn=limited(resource.RLIMIT_AS, limit << 20))
    assert done.returncode in (0, 1), done.stderr
    assert done.returncode == 0 or "memory" in done.stderr.lower(), done.stderr
    assert names_in(tmp_path) == (["a", "m.onnx"] if done.returncode == 0 else ["m.onnx"])
