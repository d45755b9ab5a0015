import importlib.util
import os
import pathlib

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SHARED = ROOT.parent / "shared"
MODELS = pathlib.Path(os.environ.get("PLIANT_MODELS", ROOT / "build" / "models"))


def load_script(path):
    """A Python file as a module."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def pytest_terminal_summary(terminalreporter):
    """What tests recorded as properties, whichever process they ran in."""
    for report in [r for kind in ("passed", "failed") for r in terminalreporter.stats.get(kind, ())]:
        for name, value in report.user_properties:
            terminalreporter.write_line(f"{name}: {value}")


@pytest.fixture(scope="session")
def mlp(tmp_path_factory):
    """The path of a small model: x f32[batch, 8] -> y f32[batch, 4]."""
    import models
    path = tmp_path_factory.mktemp("mlp") / "mlp.onnx"
    path.write_bytes(models.mlp().SerializeToString())
    return path


@pytest.fixture(scope="session")
def mlp_exe(mlp):
    import pliant
    return pliant.compile(mlp)


@pytest.fixture(scope="session")
def bert_exe():
    import models
    import pliant
    return pliant.compile(models.bert_like())
