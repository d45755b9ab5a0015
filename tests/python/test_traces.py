"""How kernels were made: traces replay, naive functions give the same, and the dump and the artifact tell of every kernel."""
import os
import pathlib
import re
import shutil
import subprocess

import numpy as np
import pytest

import models

BUILD = pathlib.Path(os.environ.get("PLIANT_BUILD", pathlib.Path(__file__).parents[2] / "build" / "release"))
TOOL = str(BUILD / "tools" / "pliant") if (BUILD / "tools" / "pliant").exists() else shutil.which("pliant")
REPLAY = BUILD / "tests" / "replay_model"


def quantised():
    """Products of bytes less their zero points, from f32 and back."""
    g = models.Graph(3)
    x, scale, zero = g("DynamicQuantizeLinear", "x", outputs=3)
    weights = g.constant(g.rng.integers(-90, 90, (24, 20)).astype(np.int8))
    total = g("MatMulInteger", x, weights, zero, g.constant(np.int8(3)))
    g("Mul", g("Cast", total, to=models.F32), scale, name="y")
    return g.model([("x", models.F32, ["n", 24])], [("y", models.F32, ["n", 20])])


def upsampler():
    """Transposed convolutions, large windows, borders, positions of best values."""
    g = models.Graph(4)
    x = g("ConvTranspose", "x", g.weight(4, 6, 3, 3), strides=[2, 2], pads=[1, 1, 1, 1], output_padding=[1, 1])
    x = g("MaxPool", g("Relu", x), kernel_shape=[9, 9], pads=[4, 4, 4, 4])
    x = g("Pad", x, g.constant(np.array([0, 0, 1, 1, 0, 0, 1, 2], np.int64)))
    g("ArgMax", x, axis=1, keepdims=0, name="best")
    g("Softmax", g("Transpose", x, perm=[0, 2, 3, 1]), axis=-1, name="share")
    return g.model([("x", models.F32, ["n", 4, "h", "w"])],
                   [("best", models.I64, ["n", None, None]), ("share", models.F32, ["n", None, None, 6])])


def movement():
    """Slices, concatenations, gathers, scatters, sums along an axis one after the other."""
    g = models.Graph(5)
    even = g("Slice", "x", g.constant(np.array([0])), g.constant(np.array([1 << 40])), g.constant(np.array([1])), g.constant(np.array([2])))
    both = g("Concat", even, "x", axis=1)
    picked = g("Gather", both, g.constant(np.array([0, 2, 1])), axis=1)
    moved = g("ScatterElements", picked, g.constant(np.array([[0], [2]])), g.constant(np.ones((2, 1), np.float32)), axis=1)
    g("CumSum", g("Transpose", moved, perm=[1, 0]), g.constant(np.array(1)), name="y")
    return g.model([("x", models.F32, [2, "m"])], [("y", models.F32, [3, 2])])


MODELS = {"mlp": models.mlp, "bert": models.bert_like, "convnet": models.convnet, "quantised": quantised,
          "upsampler": upsampler, "movement": movement}


@pytest.mark.parametrize("target", ["x86-64-v3", "x86-64-v4"])
def test_traces_replay_and_naive_functions_agree(target, tmp_path):
    for name, build in MODELS.items():
        (tmp_path / f"{name}.onnx").write_bytes(build().SerializeToString())
    done = subprocess.run([REPLAY, target, *(tmp_path / f"{name}.onnx" for name in MODELS)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    counts = {pathlib.Path(line.split(":")[0]).stem: [int(n) for n in re.findall(r" (\d+) ", line)] for line in done.stdout.splitlines()}
    assert set(counts) == set(MODELS)
    for nodes, kernels, traces, interpreted in counts.values():
        assert interpreted == nodes > 0 and kernels >= max(nodes, traces), done.stdout
    assert sum(traces for _, _, traces, _ in counts.values()) > 20, done.stdout


@pytest.mark.parametrize("name", ["bert", "quantised", "upsampler"])
def test_the_dump_and_the_artifact_tell_of_every_kernel(name, tmp_path):
    (tmp_path / "m.onnx").write_bytes(MODELS[name]().SerializeToString())
    subprocess.run([TOOL, "compile", tmp_path / "m.onnx", "-o", tmp_path / "m.pliant", "--target", "x86-64-v3", "--dump",
                    tmp_path / "dump"], check=True, capture_output=True)
    dump = (tmp_path / "dump" / "kernels.ir").read_text()
    loops = (tmp_path / "dump" / "loops.ir").read_text()
    made = dict(re.findall(r"^// kernel (\S+): ((?:template|builder) .+|chain|loop)$", dump, re.M))
    kernels = re.findall(r"^(?:loop|function|kernel) @?(\S+?)\(", loops, re.M)
    assert kernels and set(kernels) <= set(made), set(kernels) - set(made)
    assert dump.count("\n// predicted: ") >= len(kernels)
    told = subprocess.run([TOOL, "inspect", "--kernels", tmp_path / "m.pliant"], check=True, capture_output=True, text=True).stdout
    entries = re.split(r"\n(?=\S+\n  nodes: )", told)[1:]
    assert [e.splitlines()[0] for e in entries] == kernels
    for entry in entries:
        assert re.search(r"\n  predicted: \d+ ns\n  made by: ", entry), entry
    parts = re.findall(r"  made by: (.+)\n((?:    .*\n?)*)", told)
    assert all("knobs: " in rest for maker, rest in parts if maker.startswith("template"))
    if name == "bert":
        assert "when: " in told and any("vectorize" in rest for _, rest in parts)
    else:
        assert "rewrite: " + {"quantised": "dot2", "upsampler": "polyphase"}[name] in told


def test_maps_before_a_product_share_a_kernel(tmp_path):
    """What the offsets of a deformable convolution decide is one kernel, in the order in which the offsets lie."""
    g = models.Graph()
    g("DeformConv", "x", "w", "o", name="y", pads=[1, 1, 1, 1])
    shapes = {"x": ["n", "c", "h", "w"], "w": ["m", "c", "a", "b"], "o": ["n", "d", "p", "q"]}
    model = g.model([(name, models.F32, shape) for name, shape in shapes.items()], [("y", models.F32, None)], opset=19)
    (tmp_path / "m.onnx").write_bytes(model.SerializeToString())
    subprocess.run([TOOL, "compile", tmp_path / "m.onnx", "-o", tmp_path / "m.pliant", "--target", "x86-64-v3"], check=True,
                   capture_output=True)
    told = subprocess.run([TOOL, "inspect", "--kernels", tmp_path / "m.pliant"], check=True, capture_output=True, text=True).stdout
    made = re.findall(r"^(\S+)\n  nodes: .+\n(?:  .+\n)*?  made by: (\S+ \S+)", told, re.M)
    assert [name for name, _ in made] == ["y_element", "y_planes", "y_taps", "y"], made
    assert dict(made)["y_element"] == "template map"
