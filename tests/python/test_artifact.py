"""Artifacts: the same bytes every time, and damaged ones refused."""
import numpy as np
import pytest

import models
import pliant


@pytest.fixture(scope="module")
def artifact(tmp_path_factory):
    path = tmp_path_factory.mktemp("artifact") / "m.pliant"
    pliant.compile(models.convnet()).save(path)
    return path


@pytest.mark.parametrize("make", [models.mlp, models.convnet, models.bert_like])
def test_two_compilations_give_the_same_bytes(make, tmp_path):
    data = []
    for name in ("first", "second"):
        pliant.compile(make()).save(tmp_path / name)
        data.append((tmp_path / name).read_bytes())
    assert data[0] == data[1]


def load_bytes(path, data):
    path.write_bytes(data)
    return pliant.load(path, threads=1)


def test_flipped_bits_are_refused(artifact, tmp_path):
    data = artifact.read_bytes()
    rng = np.random.default_rng(0)
    places = np.unique(np.concatenate([np.arange(256), rng.integers(0, len(data), 2000 - 256)]))
    for place in places:
        damaged = bytearray(data)
        damaged[place] ^= 1 << int(rng.integers(8))
        with pytest.raises(pliant.ArtifactError):
            load_bytes(tmp_path / "damaged", bytes(damaged))


def test_cut_short(artifact, tmp_path):
    data = artifact.read_bytes()
    for length in [0, 1, 7, 63, 64, 65, 4095, 4096, len(data) // 2, len(data) - 33, len(data) - 1]:
        with pytest.raises(pliant.ArtifactError):
            load_bytes(tmp_path / "short", data[:length])
    with pytest.raises(pliant.ArtifactError):
        load_bytes(tmp_path / "long", data + b"\0")


def test_another_version_is_named(artifact, tmp_path):
    data = bytearray(artifact.read_bytes())
    assert int.from_bytes(data[8:12], "little") == 6, "the version follows the magic"
    data[8:12] = (77).to_bytes(4, "little")
    with pytest.raises(pliant.ArtifactError, match="77"):
        load_bytes(tmp_path / "version", bytes(data))


def test_every_target_of_this_machine_agrees():
    image = np.random.default_rng(0).standard_normal((2, 3, 33, 47)).astype(np.float32)
    outputs = []
    for target in ("x86-64-v3", "x86-64-v3-vnni", "x86-64-v4", "x86-64-v4-vnni"):
        try:
            outputs.append(pliant.compile(models.convnet(), target=target)(image)[0])
        except pliant.ArtifactError as e:
            assert "avx" in str(e)
    assert outputs
    for y in outputs[1:]:
        np.testing.assert_allclose(y, outputs[0], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("huge_pages", [None, True, False])
def test_pages_do_not_change_results(tmp_path, huge_pages):
    g = models.Graph()
    g("MatMul", "x", g.weight(600, 700), name="y")
    exe = pliant.compile(g.model([("x", models.F32, ["n", 600])], [("y", models.F32, ["n", 700])]), progress=False)
    exe.save(tmp_path / "m.pliant")
    x = np.ones((3, 600), np.float32)
    loaded = pliant.load(tmp_path / "m.pliant", huge_pages=huge_pages)
    assert loaded.run({"x": x})["y"].tobytes() == exe.run({"x": x})["y"].tobytes()
