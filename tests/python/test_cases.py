"""Small models that broke other tools and this one, from folders beside the checkout; see their README for the form of a case."""
import json

import numpy as np
import pytest
from conftest import SHARED

import pliant

FOLDERS = [SHARED / "cases", SHARED / "cases_faults"]
PT2 = "exported PyTorch programs are not read yet"
CASES = sorted(p.parent for folder in FOLDERS for p in folder.glob("*/case.json"))


def case_data(folder, index):
    with np.load(folder / f"case_{index}.npz") as data:
        values = {name: data[name] for name in data.files}
    feed = {name[4:]: value for name, value in values.items() if name.startswith("in__")}
    want = {name[5:]: value for name, value in values.items() if name.startswith("out__")}
    return feed, want


def typed(value, dtype):
    """npz files hold bf16 as raw two-byte items."""
    if dtype == "bfloat16" and value.dtype.name != "bfloat16":
        import ml_dtypes
        return value.view(ml_dtypes.bfloat16) if value.dtype.itemsize == 2 else value.astype(ml_dtypes.bfloat16)
    return value


def assert_close(got, want, case):
    assert got.shape == want.shape
    if want.dtype.kind in "fV":
        exact = typed(want, got.dtype.name).astype(np.float64)
        np.testing.assert_allclose(got.astype(np.float64), exact, rtol=case["rtol"], atol=case["atol"])
    else:
        np.testing.assert_array_equal(got, want)


def run_case(folder, case):
    exe = pliant.compile(folder / "model.onnx")
    dtypes = {info.name: info.dtype for info in exe.inputs}
    for index in range(max(case["cases"], 1)):
        if not (folder / f"case_{index}.npz").exists():
            continue
        feed, want = case_data(folder, index)
        got = exe.run({name: typed(value, dtypes.get(name)) for name, value in feed.items()})
        for name, value in want.items():
            assert_close(got[name], value, case)


def assert_names(text, groups):
    missing = [g for g in groups if not any(word.lower() in text.lower() for word in g.split("|"))]
    assert not missing, f"{missing} not in: {text}"


@pytest.mark.skipif(not CASES, reason=f"{FOLDERS} are absent: their cases are not run")
@pytest.mark.parametrize("folder", CASES or ["none"], ids=lambda folder: getattr(folder, "name", folder))
def test_case(folder):
    case = json.loads((folder / "case.json").read_text())
    if not (folder / "model.onnx").exists():
        pytest.skip(PT2)
    if case["expect"] == "run":
        run_case(folder, case)
    elif case["expect"] == "error":
        with pytest.raises(pliant.Error) as e:
            run_case(folder, case)
        assert_names(str(e.value), case["message_should_name"])
    else:
        assert case["expect"] == "run_or_clear_error"
        try:
            run_case(folder, case)
        except pliant.Error as e:
            assert_names(str(e), case["message_should_name"])
