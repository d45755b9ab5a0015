"""Runs ONNX backend node tests through pliant.backend: one test name a line on standard input, one JSON line a result.

A process of its own, so that a crash costs one test. {"name", "ok", "why"}; the names of all tests come first.
"""
import json
import sys

import numpy as np
import onnx
import onnx.backend.test.loader as loader
from onnx.backend.test.runner import Runner

from pliant.backend import Backend


def as_value(item):
    """Arrays and nested lists of arrays, from what the test cases hold."""
    if isinstance(item, onnx.TensorProto):
        return onnx.numpy_helper.to_array(item)
    if isinstance(item, onnx.SequenceProto):
        return onnx.numpy_helper.to_list(item)
    if isinstance(item, onnx.OptionalProto):
        return onnx.numpy_helper.to_optional(item)
    return item


def assert_similar(want, got, case):
    assert len(want) == len(got), f"{len(got)} values instead of {len(want)}"
    for w, g in zip(want, got):
        if isinstance(w, list):
            assert isinstance(g, list), f"{type(g)} instead of a list"
            assert_similar(w, g, case)
        elif w is None:
            assert g is None, f"{type(g)} instead of None"
        else:
            Runner.assert_similar_outputs([w], [g], rtol=case.rtol, atol=case.atol)


def run(case):
    rep = Backend.prepare(case.model, "CPU", progress=False)
    for inputs, expected in case.data_sets:
        got = rep.run([as_value(x) for x in inputs])
        want = [as_value(x) for x in expected]
        assert_similar(want, got, case)


def main():
    cases = {case.name: case for case in loader.load_model_tests(kind="node")}
    print(json.dumps(sorted(cases)), flush=True)
    for line in sys.stdin:
        name = line.strip()
        try:
            with np.errstate(all="ignore"):
                run(cases[name])
            result = {"name": name, "ok": True, "why": ""}
        except Exception as e:
            result = {"name": name, "ok": False, "why": f"{type(e).__name__}: {e}"}
        print(json.dumps(result), flush=True)


if __name__ == "__main__":
    main()
