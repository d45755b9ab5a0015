"""Mutated ONNX files through the importer, the compiler at level 0 and a run: fuzz/mutate_onnx.py with few of them."""

import sys

import pytest
from conftest import ROOT

sys.path[:0] = [str(ROOT / "fuzz")]
from mutate_onnx import Mutants, faults  # noqa: E402

COUNT = 400


@pytest.fixture(scope="module")
def mutants():
    return Mutants()


def test_mutants_keep_what_is_promised(mutants):
    ended = {}
    for number, wrong, outcome in faults(range(COUNT), mutants):
        assert not wrong, f"mutant {number}: {wrong}"
        ended[outcome.result] = ended.get(outcome.result, 0) + 1
    # Most are refused, but many have to get further.
    assert ended["refused"] > COUNT / 4 and ended["ran"] > COUNT / 10


def test_mutants_are_made_from_their_number(mutants):
    assert [mutants.make(k) for k in range(20)] == [mutants.make(k) for k in range(20)]
