"""Slices whose bounds, axes and steps come at run time, and cuts around the middle, beside numpy."""
import numpy as np
import pliant
import pytest
from onnx import TensorProto
from models import F32, I64, Graph

TYPES = {"f32": (F32, np.float32), "i64": (I64, np.int64), "u8": (TensorProto.UINT8, np.uint8),
         "f16": (TensorProto.FLOAT16, np.float16), "bool": (TensorProto.BOOL, np.bool_)}
TARGETS = ["native", "x86-64-v3"]
SIZES = [0, 1, 2, 3, 5, 8, 15, 16, 17, 33, 70]
BOUNDS = [0, 1, 2, 5, 16, -1, -2, -17, 100, -100, 2**31, -(2**62), 2**63 - 1, -(2**63)]
STEPS = [1, 1, 2, 3, 4, 5, -1, -1, -2, -5, 40, -100, 2**63 - 1, -(2**63)]


def sliced(x, starts, ends, axes, steps):
    """numpy's slice, with Python's rule for bounds of any size."""
    index = [slice(None)] * x.ndim
    for start, end, axis, step in zip(starts, ends, axes, steps):
        n = x.shape[axis]
        step = int(np.clip(step, -(2**40), 2**40))
        start, end = int(np.clip(start, -(2**40), 2**40)), int(np.clip(end, -(2**40), 2**40))
        positions = range(n)[slice(start, end, step)]
        index[axis] = list(positions)
        x = np.take(x, np.array(positions, np.int64), axis)
    return x


def run_time_slice(rank, dtype, around=None):
    g = Graph()
    y = g("Slice", "x", "starts", "ends", "axes", "steps", name="s" if around else "y")
    if around == "add":
        g("Add", y, y, name="y")
    if around == "erf":
        g("Erf", y, name="y")
    return g.model([("x", dtype, [f"d{k}" for k in range(rank)])] + [(n, I64, ["k"]) for n in ("starts", "ends", "axes", "steps")],
                   [("y", dtype, None)])


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("rank", [1, 2, 3])
@pytest.mark.parametrize("dtype", TYPES)
def test_steps_at_run_time(dtype, rank, target):
    onnx_type, np_type = TYPES[dtype]
    exe = pliant.compile(run_time_slice(rank, onnx_type), target=target)
    rng = np.random.default_rng(rank)
    for _ in range(150):
        x = rng.integers(0, 2, [int(rng.choice(SIZES)) for _ in range(rank)]).astype(np_type)
        x = np.arange(x.size).reshape(x.shape).astype(np_type) if dtype != "bool" else x
        count = int(rng.integers(0, rank + 1))
        axes = rng.permutation(rank)[:count]
        pick = [[int(rng.choice(values)) if len(values) < 3 else values[int(rng.integers(len(values)))] for _ in axes]
                for values in (BOUNDS, BOUNDS, STEPS)]
        if rng.random() < 0.5:  # the whole axis
            pick[0] = [0 if s > 0 else -1 for s in pick[2]]
            pick[1] = [2**63 - 1 if s > 0 else -(2**63) for s in pick[2]]
        starts, ends, steps = (np.array(p, np.int64) for p in pick)
        got = exe.run({"x": x, "starts": starts, "ends": ends, "axes": axes.astype(np.int64), "steps": steps})["y"]
        np.testing.assert_array_equal(got, sliced(x, starts, ends, axes, steps),
                                      err_msg=f"{x.shape} {starts} {ends} {axes} {steps}")


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("around", ["add", "erf"])
def test_with_what_is_computed_around(around, target):
    exe = pliant.compile(run_time_slice(2, F32, around), target=target)
    plain = pliant.compile(run_time_slice(2, F32), target=target)
    rng = np.random.default_rng(3)
    for step in (1, 2, 3, 4, 5, -1, -2):
        x = rng.standard_normal((9, 40)).astype(np.float32)
        feeds = {"x": x, "starts": np.array([-1 if step < 0 else 0]), "ends": np.array([-100 if step < 0 else 100]),
                 "axes": np.array([1]), "steps": np.array([step])}
        y = plain.run(feeds)["y"]
        np.testing.assert_array_equal(y, x[:, ::step])
        if around == "add":
            np.testing.assert_array_equal(exe.run(feeds)["y"], y + y)
        else:
            whole = exe.run({**feeds, "x": x.copy(), "starts": np.array([0]), "ends": np.array([100]), "steps": np.array([1])})["y"]
            np.testing.assert_allclose(exe.run(feeds)["y"], whole[:, ::step], rtol=1e-6)


@pytest.mark.parametrize("steps", [(1, 2, 1), (2, 1, 3), (1, -1, -2), (5, 1, -4), (1, 1, 7)])
@pytest.mark.parametrize("dtype", ["f32", "u8"])
def test_known_steps(dtype, steps):
    onnx_type, np_type = TYPES[dtype]
    g = Graph()
    starts = np.array([0 if s > 0 else -1 for s in steps])
    ends = np.array([2**62 if s > 0 else -(2**62) for s in steps])
    g("Slice", "x", g.constant(starts), g.constant(ends), g.constant(np.arange(3)), g.constant(np.array(steps)), name="y")
    exe = pliant.compile(g.model([("x", onnx_type, ["a", "b", "c"])], [("y", onnx_type, None)]))
    for shape in [(0, 3, 4), (1, 1, 1), (3, 5, 17), (4, 16, 33), (2, 7, 130)]:
        x = np.random.default_rng(0).integers(0, 100, shape).astype(np_type)
        np.testing.assert_array_equal(exe.run({"x": x})["y"], x[tuple(slice(None, None, s) for s in steps)])


def cut(x, wanted, axes):
    for size, axis in zip(wanted, axes):
        n = x.shape[axis]
        if n >= size:
            x = np.take(x, np.arange((n - size) // 2, (n - size) // 2 + size), axis)
        else:
            before = (size - n) // 2
            x = np.pad(x, [(before, size - n - before) if a == axis else (0, 0) for a in range(x.ndim)])
    return x


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("axes", [(0, 1), (1, 2), (2, 0)])
def test_cuts_around_the_middle(axes, target):
    g = Graph()
    g("CenterCropPad", "x", "s", axes=list(axes), name="y")
    exe = pliant.compile(g.model([("x", F32, ["a", "b", "c"]), ("s", I64, [2])], [("y", F32, None)], opset=18), target=target)
    rng = np.random.default_rng(1)
    for _ in range(60):
        x = rng.standard_normal([int(rng.choice(SIZES)) for _ in range(3)]).astype(np.float32)
        wanted = rng.choice(SIZES, 2)
        np.testing.assert_array_equal(exe.run({"x": x, "s": wanted.astype(np.int64)})["y"], cut(x, wanted, axes),
                                      err_msg=f"{x.shape} {wanted}")


@pytest.mark.parametrize("shape", [(1, 1), (3, 5), (4, 40), (33, 17)])
def test_the_first_bad_index_is_named(shape):
    g = Graph()
    g("GatherElements", "x", "i", axis=1, name="y")
    exe = pliant.compile(g.model([("x", F32, ["n", "m"]), ("i", I64, ["n", "k"])], [("y", F32, None)]))
    rng = np.random.default_rng(2)
    x = rng.standard_normal((shape[0], 9)).astype(np.float32)
    i = rng.integers(-9, 9, shape)
    np.testing.assert_array_equal(exe.run({"x": x, "i": i})["y"], np.take_along_axis(x, i, 1))
    bad = i.copy()
    bad[-1, -1] = 9
    with pytest.raises(pliant.Error, match="index 9 is out of range for axis 1 of size 9"):
        exe.run({"x": x, "i": bad})
    bad[-1, 0] = -10
    with pytest.raises(pliant.Error, match="index -10 is out of range"):
        exe.run({"x": x, "i": bad})
    assert exe.run({"x": x, "i": np.zeros((shape[0], 0), np.int64)})["y"].shape == (shape[0], 0)


@pytest.mark.parametrize("rank", [0, 2])
def test_bounds_and_axes_are_vectors(rank):
    for wrong in ("s", "a"):
        g = Graph()
        g("Slice", "x", "s", "e", "a", name="y")
        infos = [("x", F32, ["n", "m"])] + [(name, I64, ["k"] * rank if name == wrong else [1]) for name in "sea"]
        with pytest.raises(pliant.CompileError, match="must be a vector"):
            pliant.compile(g.model(infos, [("y", F32, None)]))


@pytest.mark.parametrize("axis", [0, 1])
def test_reversed_outer_axes_beside_what_broadcasts(axis):
    g = Graph()
    bounds = (g.constant(np.array([v])) for v in (-1, -(2**62), axis, -1))
    g("Add", g("Slice", "x", *bounds), "z", name="y")
    exe = pliant.compile(g.model([("x", F32, ["a", "b", "c"]), ("z", F32, ["d", "e", "f"])], [("y", F32, None)]),
                         check_memory=True)
    rng = np.random.default_rng(axis)
    for shape in ((0, 2, 3), (1, 1, 1), (3, 2, 17), (7, 5, 1), (3, 0, 4), (2, 5, 33)):
        x = rng.standard_normal(shape).astype(np.float32)
        for kept in np.ndindex(2, 2, 2):
            z = rng.standard_normal([n if k else 1 for n, k in zip(shape, kept)]).astype(np.float32)
            np.testing.assert_array_equal(exe.run({"x": x, "z": z})["y"], np.flip(x, axis) + z)
