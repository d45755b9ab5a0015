"""Attributes that name axes: negative ones count from the end, and what does not exist or comes twice is refused."""
import numpy as np
import pliant
import pytest
from models import F32, I64, Graph
from onnx import TensorProto, helper

RANK = 4
SHAPE = (2, 3, 4, 5)
X = np.random.default_rng(0).standard_normal(SHAPE).astype(np.float32)


def i64(*values):
    return np.array(values, np.int64)


def one(op, *constants, outputs=1, opset=17, feeds=(), **attributes):
    """A model of one node; `constants` follow x among its inputs, arrays or None."""
    g = Graph()
    names = ["x"] + ["" if c is None else g.constant(c) for c in constants]
    out = g(op, *names, outputs=outputs, name="y", **attributes)
    first = out if outputs == 1 else out[0]
    dtype = {"ArgMax": I64, "ArgMin": I64}.get(op, F32)
    return g.model([("x", F32, [f"d{k}" for k in range(RANK)])], [(first, dtype, None)], opset)


ONE_AXIS = {
    "Concat": lambda a: one("Concat", X, axis=a) if a % RANK in (0, 1, 2, 3) else None,
    "Split": lambda a: one("Split", axis=a, outputs=1, opset=11),
    "Gather": lambda a: one("Gather", i64(1, 0), axis=a),
    "GatherElements": lambda a: one("GatherElements", np.zeros(SHAPE, np.int64), axis=a),
    "ScatterElements": lambda a: one("ScatterElements", np.ones(SHAPE, np.int64), X, axis=a),
    "Softmax": lambda a: one("Softmax", axis=a),
    "Softmax-11": lambda a: one("Softmax", axis=a, opset=11),
    "LogSoftmax": lambda a: one("LogSoftmax", axis=a),
    "Hardmax": lambda a: one("Hardmax", axis=a),
    "ArgMax": lambda a: one("ArgMax", axis=a),
    "ArgMin": lambda a: one("ArgMin", axis=a, keepdims=0),
    "ReduceSum-11": lambda a: one("ReduceSum", axes=[a], opset=11),
    "ReduceSum": lambda a: one("ReduceSum", i64(a)),
    "ReduceMax": lambda a: one("ReduceMax", axes=[a]),
    "ReduceL2": lambda a: one("ReduceL2", axes=[a], keepdims=0),
    "CumSum": lambda a: one("CumSum", i64(a)),
    "TopK": lambda a: one("TopK", i64(1), outputs=2, axis=a),
    "Slice": lambda a: one("Slice", i64(1), i64(2), i64(a)),
    "Slice-9": lambda a: one("Slice", starts=[1], ends=[2], axes=[a], opset=9),
    "LpNormalization": lambda a: one("LpNormalization", axis=a),
    "LayerNormalization": lambda a: one("LayerNormalization", np.float32([2]), axis=a),
    "MeanVarianceNormalization": lambda a: one("MeanVarianceNormalization", axes=[a]),
    "Flatten": lambda a: one("Flatten", axis=a),
    "Pad": lambda a: one("Pad", i64(1, 2), None, i64(a), opset=18),
    "Compress": lambda a: one("Compress", np.array([True, True]), axis=a),
    "Unique": lambda a: one("Unique", axis=a),
    "CenterCropPad": lambda a: one("CenterCropPad", i64(2), axes=[a], opset=18),
    "Resize": lambda a: one("Resize", None, None, i64(3), axes=[a], mode="nearest", opset=18),
    "SplitToSequence": lambda a: split_to_sequence(a),
    "ConcatFromSequence": lambda a: concat_from_sequence(a, 0),
    "Scan": lambda a: scan(a),
}


def split_to_sequence(axis):
    g = Graph()
    g("SequenceAt", g("SplitToSequence", "x", axis=axis, keepdims=0), g.constant(np.int64(1)), name="y")
    return g.model([("x", F32, [f"d{k}" for k in range(RANK)])], [("y", F32, None)])


def concat_from_sequence(axis, new_axis):
    g = Graph()
    s = g("SequenceConstruct", "x", "x")
    g("ConcatFromSequence", s, axis=axis, new_axis=new_axis, name="y")
    return g.model([("x", F32, [f"d{k}" for k in range(RANK)])], [("y", F32, None)])


def scan(axis):
    body = helper.make_graph([helper.make_node("Identity", ["v"], ["w"])], "body", [helper.make_tensor_value_info("v", F32, None)],
                             [helper.make_tensor_value_info("w", F32, None)])
    g = Graph()
    g("Scan", "x", name="y", body=body, num_scan_inputs=1, scan_input_axes=[axis], scan_output_axes=[axis])
    return g.model([("x", F32, [f"d{k}" for k in range(RANK)])], [("y", F32, None)])


@pytest.mark.parametrize("name", ONE_AXIS)
def test_an_axis_counts_from_either_end(name):
    for axis in range(RANK):
        if name == "LayerNormalization" and axis != RANK - 1:
            continue
        results = [pliant.compile(ONE_AXIS[name](a)).run([X])["y"] for a in (axis, axis - RANK)]
        np.testing.assert_array_equal(*results)


@pytest.mark.parametrize("axis", [RANK, RANK + 1, -RANK - 1, 2**40, -(2**40), 2**63 - 1, -(2**63)])
@pytest.mark.parametrize("name", ONE_AXIS)
def test_an_axis_that_does_not_exist(name, axis):
    if name in ("Flatten", "Softmax-11") and axis == RANK:  # all axes before it
        return
    with pytest.raises(pliant.CompileError):
        pliant.compile(ONE_AXIS[name](axis))


TWICE = {
    "Transpose": lambda a, b: one("Transpose", perm=[a, b, 2, 3]),
    "ReduceSum-11": lambda a, b: one("ReduceSum", axes=[a, b], opset=11),
    "ReduceSum": lambda a, b: one("ReduceSum", i64(a, b)),
    "ReduceMean": lambda a, b: one("ReduceMean", axes=[a, b]),
    "Unsqueeze": lambda a, b: one("Unsqueeze", i64(a, b)),
    "Unsqueeze-11": lambda a, b: one("Unsqueeze", axes=[a, b], opset=11),
    "Slice": lambda a, b: one("Slice", i64(1, 0), i64(2, 1), i64(a, b)),
    "Slice-9": lambda a, b: one("Slice", starts=[1, 0], ends=[2, 1], axes=[a, b], opset=9),
    "Pad": lambda a, b: one("Pad", i64(1, 2, 3, 4), None, i64(a, b), opset=18),
    "CenterCropPad": lambda a, b: one("CenterCropPad", i64(2, 2), axes=[a, b], opset=18),
    "Resize": lambda a, b: one("Resize", None, None, i64(3, 5), axes=[a, b], mode="nearest", opset=18),
    "Resize-linear": lambda a, b: one("Resize", None, np.float32([2, 1.5]), axes=[a, b], mode="linear", opset=18),
    "MeanVarianceNormalization": lambda a, b: one("MeanVarianceNormalization", axes=[a, b]),
}


@pytest.mark.parametrize("name", TWICE)
def test_an_axis_named_twice(name):
    rank = RANK + 2 if name.startswith("Unsqueeze") else RANK
    for axis in (0, 1):
        for other in (axis, axis - rank):
            with pytest.raises(pliant.CompileError):
                pliant.compile(TWICE[name](axis, other))


def test_reverse_sequence():
    lengths = i64(1, 2, 3)
    want = None
    for batch, time in ((1, 2), (-3, 2), (1, -2), (-3, -2)):
        got = pliant.compile(one("ReverseSequence", lengths, batch_axis=batch, time_axis=time)).run([X])["y"]
        want = got if want is None else want
        np.testing.assert_array_equal(got, want)
    for batch, time in ((1, 1), (1, -3), (4, 0), (0, -5)):
        with pytest.raises(pliant.CompileError):
            pliant.compile(one("ReverseSequence", lengths, batch_axis=batch, time_axis=time))


@pytest.mark.parametrize("level", [0, 3])
def test_transposes(level):
    """A perm may count from the end as well, alone and between what is fused with it."""
    rng = np.random.default_rng(1)
    for _ in range(12):
        perm = rng.permutation(RANK)
        mixed = [int(p) - RANK * int(rng.integers(2)) for p in perm]
        g = Graph()
        t = g("Transpose", g("Neg", "x"), perm=mixed)
        g("Transpose", g("Add", t, t), perm=[int(p) - RANK for p in np.argsort(perm)], name="back")
        g("MatMul", t, g("Transpose", t, perm=[0, -3, -1, 2]), name="y")
        exe = pliant.compile(g.model([("x", F32, [f"d{k}" for k in range(RANK)])], [("back", F32, None), ("y", F32, None)]),
                             opt_level=level)
        got = exe.run([X])
        moved = -X.transpose(perm)
        np.testing.assert_array_equal(got["back"], -2 * X)
        np.testing.assert_allclose(got["y"], moved @ moved.transpose(0, 1, 3, 2), rtol=1e-5, atol=1e-5)
    g = Graph()  # of numbers that are known
    known = g("Transpose", g.constant(i64(2, 3, 4, 5).reshape(2, 2)), perm=[-1, 0])
    g("Reshape", "x", g("Reshape", known, g.constant(i64(-1))), name="y")
    assert pliant.compile(g.model([("x", F32, [120])], [("y", F32, None)])).run([X.ravel()])["y"].shape == (2, 4, 3, 5)
    for perm in ([0, 1, 2], [0, 1, 2, 4], [0, 1, 2, -5], [0, 1, 2, 3, 0], [0, 1, 2, 2], [0, 1, 3, -1]):
        with pytest.raises(pliant.CompileError):
            pliant.compile(one("Transpose", perm=perm), opt_level=level)


def test_axes_that_the_run_decides():
    g = Graph()
    g("Slice", "x", "starts", "ends", "axes", name="y")
    bounds = [(n, I64, ["k"]) for n in ("starts", "ends", "axes")]
    exe = pliant.compile(g.model([("x", F32, ["a", "b", "c"]), *bounds], [("y", F32, None)]))
    x = X[0]
    np.testing.assert_array_equal(exe.run([x, i64(1, 0), i64(2, 2), i64(-1, 0)])["y"], x[0:2, :, 1:2])
    for axes in (i64(1, 1), i64(1, -2), i64(0, -3)):
        with pytest.raises(pliant.RunError, match="named 2 times"):
            exe.run([x, i64(1, 0), i64(2, 2), axes])
    for axes in (i64(3, 0), i64(0, -4), i64(2**62, 1)):
        with pytest.raises(pliant.RunError):
            exe.run([x, i64(1, 0), i64(2, 2), axes])
    g = Graph()
    g("Pad", "x", "pads", "", "axes", name="y")
    exe = pliant.compile(g.model([("x", F32, ["a", "b"]), ("pads", I64, [4]), ("axes", I64, [2])], [("y", F32, None)], opset=18))
    np.testing.assert_array_equal(exe.run([x[0], i64(1, 2, 3, 4), i64(-1, 0)])["y"], np.pad(x[0], [(2, 4), (1, 3)]))
    for axes in (i64(1, 1), i64(1, -1), i64(0, -2), i64(0, 2), i64(-3, 1)):
        with pytest.raises(pliant.RunError):
            exe.run([x[0], i64(1, 2, 3, 4), axes])
