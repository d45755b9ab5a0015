"""Ranks that depend on data: operators whose axes or shapes have a length that only a run tells. Beside onnxruntime, from one
compilation for every case; where the model declares a rank, the others are refused by name."""

import dataclasses
import typing

import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

import models
import pliant

F32, I64, BOOL = models.F32, models.I64, TensorProto.BOOL


def i64(*values):
    return np.array(values, np.int64)


def ramp(*shape):
    return np.arange(np.prod(shape), dtype=np.float32).reshape(shape) + 1


@dataclasses.dataclass
class Model:
    """What to build and what to run it on. `declared` are the ranks of values inside; `refused` are feeds that contradict them."""

    inputs: list
    build: typing.Callable
    feeds: list
    outputs: tuple = (("y", F32, None),)
    declared: dict = dataclasses.field(default_factory=dict)
    refused: list = dataclasses.field(default_factory=list)
    message: str = ""
    opset: int = 18


def squeeze_then(*rest):
    """What follows a Squeeze without axes has to take every rank that may come."""

    def build(g):
        v = g("Squeeze", "x", name="squeezed")
        for k, op in enumerate(rest):
            v = g(op, v, name="y" if k + 1 == len(rest) else None)

    return build


def squeeze_then_split(g):
    """Splitting along axis 1 needs two axes: a size of 1 fails, others run."""
    a, b = g("Split", g("Squeeze", "x"), outputs=2, axis=1)
    g("Concat", b, a, axis=1, name="y")


def squeeze_then_flat(g):
    g("Reshape", g("Mul", g("Squeeze", "x"), g.constant(np.float32(2))), g.constant(i64(-1)), name="y")


def squeeze_twice(g):
    """The second Squeeze decides nothing new."""
    g("Add", g("Squeeze", "x"), g("Squeeze", g("Neg", "x")), name="y")


def two_lengths(op, *, before=(), after=(), lengths):
    """A shape from branches of different lengths."""

    def branch(values):
        node = helper.make_node("Constant", [], ["v"], value_ints=values)
        return helper.make_graph([node], "branch", [], [helper.make_tensor_value_info("v", I64, None)])

    def build(g):
        chosen = g("If", "c", then_branch=branch(lengths[0]), else_branch=branch(lengths[1]))
        g(op, *before, chosen, *after, name="y")

    return build


def one(op, *inputs, **attributes):
    return lambda g: g(op, *inputs, name="y", **attributes)


def flags(**more):
    return [{"c": np.array(c), **more} for c in (True, False)]


X, AXES, SHAPE, C = ("x", F32, ["a", "b", "d"]), ("axes", I64, ["k"]), ("shape", I64, ["k"]), ("c", BOOL, [])

MODELS = {
    "squeeze": Model([("x", F32, ["n", 3])], one("Squeeze", "x"), [{"x": ramp(n, 3)} for n in (4, 1, 0, 2)]),
    "squeeze_three": Model(
        [X], one("Squeeze", "x"), [{"x": ramp(*s)} for s in ((2, 3, 4), (1, 3, 4), (2, 1, 4), (2, 3, 1), (1, 1, 4), (1, 1, 1), (0, 1, 1))]
    ),
    "squeeze_goes_on": Model(
        [("x", F32, ["n", 1, "m"])], squeeze_then("Relu", "Neg"), [{"x": ramp(n, 1, m)} for n, m in ((2, 3), (1, 3), (2, 1), (1, 1))]
    ),
    "squeeze_flat": Model([("x", F32, ["n", 3])], squeeze_then_flat, [{"x": ramp(n, 3)} for n in (4, 1, 0)], (("y", F32, ["p"]),)),
    "squeeze_twice": Model([("x", F32, ["n", 3])], squeeze_twice, [{"x": ramp(n, 3)} for n in (4, 1)]),
    "squeeze_split": Model(
        [("x", F32, ["n", 4])],
        squeeze_then_split,
        [{"x": ramp(n, 4)} for n in (3, 2, 0)],
        (("y", F32, ["p", 4]),),
        refused=[{"x": ramp(1, 4)}],
        message="Split",
    ),
    "squeeze_declared": Model(
        [("x", F32, ["n", 1, "m"])],
        squeeze_then("Relu"),
        [{"x": ramp(n, 1, m)} for n, m in ((2, 3), (4, 0))],
        declared={"squeezed": 2},
        refused=[{"x": ramp(1, 1, 3)}, {"x": ramp(1, 1, 1)}],
        message="name the axes",
    ),
    "squeeze_declared_between": Model(
        [X],
        one("Squeeze", "x"),
        [{"x": ramp(*s)} for s in ((1, 3, 4), (2, 1, 4), (2, 3, 1), (0, 1, 2))],
        (("y", F32, ["p", "q"]),),
        refused=[{"x": ramp(2, 3, 4)}, {"x": ramp(1, 1, 4)}],
        message="leaves [13] here",
    ),
    "squeeze_declared_scalar": Model(
        [("x", F32, ["n", "m"])],
        one("Squeeze", "x"),
        [{"x": ramp(1, 1)}],
        (("y", F32, []),),
        refused=[{"x": ramp(2, 1)}],
        message="leaves 1",
    ),
    "squeeze_axes": Model(
        [X, AXES],
        one("Squeeze", "x", "axes"),
        [{"x": ramp(1, 3, 1), "axes": i64(*a)} for a in ((0,), (2,), (-1, 0), ())],
    ),
    "squeeze_axes_declared": Model(
        [X, AXES],
        one("Squeeze", "x", "axes"),
        [{"x": ramp(1, 3, 1), "axes": i64(*a)} for a in ((0, 2), (-1, 0))],
        (("y", F32, ["p"]),),
        refused=[{"x": ramp(1, 3, 1), "axes": i64(0)}],
        message="the axes to drop|input \"axes\" axis 0 is 1",
    ),
    "unsqueeze_axes_declared": Model(
        [("x", F32, ["a", "b"]), AXES],
        one("Unsqueeze", "x", "axes"),
        [{"x": ramp(2, 3), "axes": i64(*a)} for a in ((0, 2), (-1, 0), (3, 1))],
        (("y", F32, ["p", "q", "r", "s"]),),
        refused=[{"x": ramp(2, 3), "axes": i64(0)}],
        message="the axes to add|input \"axes\" axis 0 is 1",
    ),
    "reshape_branches": Model([X, C], two_lengths("Reshape", before=("x",), lengths=([-1], [2, -1])), flags(x=ramp(2, 3, 4))),
    "reshape_three_lengths": Model(
        [X, C], two_lengths("Reshape", before=("x",), lengths=([-1], [2, 3, -1])), flags(x=ramp(2, 3, 4))
    ),
    "reshape_declared": Model(
        [X, SHAPE],
        one("Reshape", "x", "shape"),
        [{"x": ramp(2, 3, 4), "shape": i64(*s)} for s in ((2, 12), (-1, 3), (0, -1), (24, 1))],
        (("y", F32, ["p", "q"]),),
        refused=[{"x": ramp(2, 3, 4), "shape": i64(24)}],
        message="the new shape must have 2 elements but has 1|input \"shape\" axis 0 is 1",
    ),
    "expand_branches": Model(
        [("x", F32, ["a", "b"]), C], two_lengths("Expand", before=("x",), lengths=([3, 1], [2, 1, 3])), flags(x=ramp(1, 3))
    ),
    "full_branches": Model([C], two_lengths("ConstantOfShape", lengths=([3], [2, 0, 3])), flags()),
    "tile": Model(
        [X, SHAPE], one("Tile", "x", "shape"), [{"x": ramp(2, 1, 3), "shape": i64(*r)} for r in ((1, 2, 2), (0, 1, 1), (3, 1, 2))]
    ),
    "pad": Model(
        [("x", F32, ["a", "b"]), SHAPE],
        one("Pad", "x", "shape"),
        [{"x": ramp(2, 3), "shape": i64(*p)} for p in ((1, 0, 0, 2), (0, 0, 0, 0))],
        refused=[{"x": ramp(2, 3), "shape": i64(1, 2)}],
        message="the pads must have 4 elements but has 2|input \"shape\" axis 0 is 2",
    ),
    "range": Model(
        [("a", I64, ["k"]), ("b", I64, []), ("d", I64, [])],
        lambda g: g("Range", g("Squeeze", "a", g.constant(i64(0))), "b", "d", name="y"),
        [{"a": i64(2), "b": np.array(9, np.int64), "d": np.array(3, np.int64)}],
        (("y", I64, None),),
    ),
    "affine_grid": Model(
        [("x", F32, ["n", 2, 3]), SHAPE],
        one("AffineGrid", "x", "shape"),
        [{"x": ramp(2, 2, 3), "shape": i64(2, 1, 3, 4)}, {"x": ramp(1, 2, 3), "shape": i64(1, 5, 1, 2)}],
        opset=20,
    ),
    "centre": Model(
        [X, SHAPE],
        one("CenterCropPad", "x", "shape"),
        [{"x": ramp(2, 3, 4), "shape": i64(*s)} for s in ((3, 3, 2), (1, 5, 4))],
    ),
    "reduce_axes_kept": Model(
        [X, AXES], one("ReduceSum", "x", "axes"), [{"x": ramp(2, 3, 4), "axes": i64(*a)} for a in ((0,), (-1, 1), (2, 0, 1), ())]
    ),
    "reduce_axes_none": Model(
        [X, AXES],
        one("ReduceMax", "x", "axes", noop_with_empty_axes=1),
        [{"x": ramp(2, 3, 4), "axes": i64(*a)} for a in ((0,), (-1, 1), ())],
    ),
    "reduce_axes_dropped": Model(
        [X, AXES],
        one("ReduceMean", "x", "axes", keepdims=0),
        [{"x": ramp(2, 3, 4), "axes": i64(*a)} for a in ((0,), (-1,), (2, 0), (2, 0, 1), ())],
    ),
    "reduce_axes_declared": Model(
        [X, AXES],
        one("ReduceMean", "x", "axes", keepdims=0),
        [{"x": ramp(2, 3, 4), "axes": i64(*a)} for a in ((0, 1), (-1, 0))],
        (("y", F32, ["p"]),),
        refused=[{"x": ramp(2, 3, 4), "axes": i64(1)}],
        message="the axes to reduce|input \"axes\" axis 0 is 1",
    ),
}


def build(m):
    g = models.Graph()
    m.build(g)
    model = g.model(m.inputs, m.outputs, opset=m.opset)
    for name, rank in m.declared.items():
        model.graph.value_info.append(helper.make_tensor_value_info(name, F32, [f"{name}{k}" for k in range(rank)]))
    return model


@pytest.mark.parametrize("name", MODELS)
def test_open_ranks(name):
    m = MODELS[name]
    model = build(m)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    exe = pliant.compile(model, progress=False)
    for feed in m.feeds:
        (want,) = session.run(None, feed)
        got = exe.run(feed)["y"]
        assert got.shape == want.shape
        np.testing.assert_allclose(got, want, rtol=1e-5)
    for feed in m.refused:
        with pytest.raises(pliant.Error, match=m.message):
            exe.run(feed)


def test_lengths_without_limit_are_refused():
    g = models.Graph()
    g("Reshape", "x", "shape", name="y")
    with pytest.raises(pliant.CompileError, match="declare the rank of the result, or bound that size"):
        pliant.compile(g.model([X, SHAPE], [("y", F32, None)]), progress=False)


def test_bounds_decide():
    g = models.Graph()
    g("Squeeze", "x", name="y")
    exe = pliant.compile(g.model([("x", F32, ["n", 3])], [("y", F32, None)]), bounds={"n": (2, 64)}, progress=False)
    assert exe.outputs[0].kind == "tensor"
    np.testing.assert_array_equal(exe.run({"x": ramp(5, 3)})["y"], ramp(5, 3))


def test_bounded_lengths_are_told_apart():
    g = models.Graph()
    g("Reshape", "x", "shape", name="y")
    exe = pliant.compile(g.model([X, SHAPE], [("y", F32, None)]), bounds={"k": (1, 3)}, progress=False)
    for shape in ((24,), (4, -1), (2, 0, -1)):
        want = ramp(2, 3, 4).reshape([d or 3 for d in shape])
        np.testing.assert_array_equal(exe.run({"x": ramp(2, 3, 4), "shape": i64(*shape)})["y"], want)


def loop_body(nodes, state, outputs=()):
    """A body of these nodes, which give `state` from `s` and more outputs; it goes on as long as `go` says."""
    inputs = [helper.make_tensor_value_info("i", I64, []), helper.make_tensor_value_info("go", BOOL, [])]
    inputs += [helper.make_tensor_value_info("s", F32, None)]
    results = [helper.make_tensor_value_info("on", BOOL, []), helper.make_tensor_value_info(state, F32, None)]
    results += [helper.make_tensor_value_info(name, F32, ["r"]) for name in outputs]
    return helper.make_graph([helper.make_node("Identity", ["go"], ["on"]), *nodes], "body", inputs, results)


def accumulate(g):
    """A sum that begins as a scalar and has the shape of x from the first iteration on."""
    nodes = [
        helper.make_node("Cast", ["i"], ["number"], to=F32),
        helper.make_node("Mul", ["x", "number"], ["part"]),
        helper.make_node("Add", ["s", "part"], ["sum"]),
        helper.make_node("Add", ["sum", "part"], ["row"]),
    ]
    body = loop_body(nodes, "sum", ["row"])
    return g("Loop", "trip", "c", g.constant(np.float32(0.5)), outputs=2, name="loop", body=body)


def test_a_carried_value_settles_after_one_iteration():
    g = models.Graph()
    total, rows = accumulate(g)
    g("Identity", total, name="y")
    g("Identity", rows, name="rows")
    inputs = [("x", F32, ["n"]), ("trip", I64, []), C]
    model = g.model(inputs, [("y", F32, None), ("rows", F32, None)], opset=18)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    exe = pliant.compile(model, progress=False)
    for trip in (0, 1, 2, 5):
        for c in (True, False):
            feed = {"x": ramp(3), "trip": np.array(trip, np.int64), "c": np.array(c)}
            want, want_rows = session.run(None, feed)
            got = exe.run(feed)
            np.testing.assert_array_equal(got["y"], want)
            assert got["y"].shape == want.shape
            if want_rows.size:
                np.testing.assert_array_equal(got["rows"], want_rows)
            assert len(got["rows"]) == len(want_rows)


@pytest.mark.parametrize("trip", [0, 1, 3])
def test_a_carried_value_of_ever_more_axes(trip):
    g = models.Graph()
    body = loop_body([helper.make_node("Unsqueeze", ["s", "zero"], ["t"])], "t")
    g.initializers.append(numpy_helper.from_array(i64(0), "zero"))
    g("Loop", g.constant(np.int64(trip)), "", "x", name="y", body=body)
    exe = pliant.compile(g.model([("x", F32, ["n"])], [("y", F32, None)], opset=18), progress=False)
    assert exe.run({"x": ramp(4)})["y"].shape == (1,) * trip + (4,)


def test_a_carried_value_that_never_settles_is_refused():
    g = models.Graph()
    body = loop_body([helper.make_node("Unsqueeze", ["s", "zero"], ["t"])], "t")
    g.initializers.append(numpy_helper.from_array(i64(0), "zero"))
    g("Loop", "trip", "", "x", name="y", body=body)
    message = r"node \"y\".*carried value 0 \('s'\) starts as f32\[n\] but becomes f32\[1, n\].*before the loop"
    with pytest.raises(pliant.CompileError, match=message):
        pliant.compile(g.model([("x", F32, ["n"]), ("trip", I64, [])], [("y", F32, None)], opset=18), progress=False)
