"""Random numbers: streams of their own for each node, iteration and run; the same ones where a seed says so."""
import numpy as np
import pliant
import pytest
from models import F32, I64, Graph
from onnx import TensorProto, helper

LIKE = {"RandomNormalLike": {}, "RandomUniformLike": {}, "Bernoulli": {}}
KINDS = ["RandomNormal", "RandomUniform", *LIKE, "Multinomial"]


def draw(g, kind, name=None, **attributes):
    if kind == "Multinomial":
        return g(kind, "logits", name=name, sample_size=500, dtype=TensorProto.INT64, **attributes)
    if kind in LIKE:
        return g(kind, "x", name=name, **attributes)
    return g(kind, name=name, shape=[500], **attributes)


def drawing(kind, count=2, **attributes):
    g = Graph()
    names = [f"y{k}" for k in range(count)]
    for name in names:
        draw(g, kind, name, **attributes)
    dtype = TensorProto.INT64 if kind == "Multinomial" else F32
    return g.model([("x", F32, ["n"]), ("logits", F32, [1, "c"])], [(n, dtype, None) for n in names])


FEED = {"x": np.full(500, 0.5, np.float32), "logits": np.log(np.array([[1, 2, 3, 4]], np.float32))}


def differ(*arrays):
    flat = [a.ravel() for a in arrays]
    return all(np.mean(a == b) < 0.9 for i, a in enumerate(flat) for b in flat[:i])


@pytest.mark.parametrize("kind", KINDS)
def test_nodes_and_runs_differ(kind):
    exe = pliant.compile(drawing(kind))
    first, second = exe.run(FEED), exe.run(FEED)
    assert differ(*first.values(), *second.values())
    other = pliant.compile(drawing(kind)).run(FEED)
    assert differ(*first.values(), *other.values())


@pytest.mark.parametrize("level", [0, 3])
@pytest.mark.parametrize("kind", KINDS)
def test_a_seed_of_the_run_repeats_it(kind, level, tmp_path):
    exe = pliant.compile(drawing(kind), opt_level=level)
    once = exe.run(FEED, seed=7)
    exe.run(FEED)
    exe.save(tmp_path / "m.pliant")
    for other in (exe.run(FEED, seed=7), pliant.load(tmp_path / "m.pliant", threads=1).run(FEED, seed=7)):
        for name in once:
            np.testing.assert_array_equal(once[name], other[name])
    assert differ(*once.values(), *exe.run(FEED, seed=8).values())
    assert differ(*once.values(), *exe.run(FEED, seed=-7).values())


def test_a_seed_of_the_executable_repeats_the_series(tmp_path):
    exe = pliant.compile(drawing("RandomNormal"), seed=3)
    exe.save(tmp_path / "m.pliant")
    series = [exe.run(FEED)["y0"] for _ in range(3)]
    assert differ(*series)
    again = pliant.load(tmp_path / "m.pliant", seed=3)
    np.testing.assert_array_equal(series, [again.run(FEED)["y0"] for _ in range(3)])
    with pytest.raises(TypeError):
        exe.run(FEED, seed="three")


@pytest.mark.parametrize("kind", ["RandomNormal", "RandomUniform", "RandomUniformLike", "RandomNormalLike", "Bernoulli", "Multinomial"])
def test_a_node_with_a_seed_repeats(kind):
    exe = pliant.compile(drawing(kind, 1, seed=1.5))
    first = exe.run(FEED)["y0"]
    np.testing.assert_array_equal(first, exe.run(FEED)["y0"])
    np.testing.assert_array_equal(first, pliant.compile(drawing(kind, 1, seed=1.5)).run(FEED)["y0"])
    assert differ(first, pliant.compile(drawing(kind, 1, seed=0.0)).run(FEED)["y0"])


@pytest.mark.parametrize("native_loops", [True, False])
def test_iterations_differ(native_loops):
    body = helper.make_graph(
        [helper.make_node("RandomUniformLike", ["x"], ["r"]), helper.make_node("Identity", ["go"], ["on"])], "body",
        [helper.make_tensor_value_info("i", I64, []), helper.make_tensor_value_info("go", TensorProto.BOOL, [])],
        [helper.make_tensor_value_info("on", TensorProto.BOOL, []), helper.make_tensor_value_info("r", F32, ["n"])])
    for trips in ("trips", None):
        g = Graph()
        g("Loop", trips or g.constant(np.int64(4)), "", name="y", body=body)
        exe = pliant.compile(g.model([("x", F32, ["n"]), ("trips", I64, [])], [("y", F32, None)]), native_loops=native_loops)
        rows = exe.run({"x": FEED["x"], "trips": np.array(4)})["y"]
        assert rows.shape == (4, 500) and differ(*rows)


def test_distributions():
    g = Graph()
    g("RandomNormal", name="normal", shape=[40000], mean=2.0, scale=3.0)
    g("RandomUniform", name="uniform", shape=[40000], low=-1.0, high=3.0)
    g("Bernoulli", "p", name="hits", dtype=TensorProto.INT32)
    g("Multinomial", "logits", name="classes", sample_size=40000)
    exe = pliant.compile(g.model([("p", F32, ["n"]), ("logits", F32, ["rows", "c"])], [
        ("normal", F32, None), ("uniform", F32, None), ("hits", TensorProto.INT32, None), ("classes", TensorProto.INT32, None)]))
    weights = np.array([[1, 0, 3, 6], [5, 5, 0, 0]])
    with np.errstate(divide="ignore"):
        logits = np.log(weights).astype(np.float32) + 17
    out = exe.run({"p": np.repeat(np.array([0, 0.25, 1], np.float32), 20000), "logits": logits}, seed=1)
    assert abs(out["normal"].mean() - 2) < 0.06 and abs(out["normal"].std() - 3) < 0.05
    assert -1 <= out["uniform"].min() < -0.99 and 2.99 < out["uniform"].max() < 3 and abs(out["uniform"].mean() - 1) < 0.02
    hits = out["hits"].reshape(3, 20000).mean(1)
    assert hits[0] == 0 and abs(hits[1] - 0.25) < 0.015 and hits[2] == 1
    for row, weight in zip(out["classes"], weights):
        np.testing.assert_allclose(np.bincount(row, minlength=4) / 40000, weight / weight.sum(), atol=0.015)
    assert exe.run({"p": np.ones(2, np.float32), "logits": np.zeros((0, 3), np.float32)})["classes"].shape == (0, 40000)
