"""Elementwise operators whose axes are 1 or equal as the run decides: every mix of both, odd and empty sizes, and layouts
that merge into long runs or do not."""
import itertools

import numpy as np
import pytest
from onnx import TensorProto, helper

import models
import pliant

TYPES = {
    "f32": (TensorProto.FLOAT, np.float32), "f16": (TensorProto.FLOAT16, np.float16), "f64": (TensorProto.DOUBLE, np.float64),
    "i64": (TensorProto.INT64, np.int64), "i8": (TensorProto.INT8, np.int8), "bool": (TensorProto.BOOL, np.bool_),
}
targets = pytest.mark.parametrize("target", ["native", "x86-64-v3"])


def symbolic(name, element, rank):
    return (name, element, [f"{name}{i}" for i in range(rank)])


def array(rng, dtype, shape):
    if dtype == np.bool_:
        return rng.integers(0, 2, shape).astype(dtype)
    return rng.integers(-20, 20, shape).astype(dtype)


def binary(op, ranks, element, result=None):
    g = models.Graph()
    g(op, "x", "y", name="z")
    names = [symbolic("x", element, ranks[0]), symbolic("y", element, ranks[1])]
    return g.model(names, [("z", result or element, None)])


@targets
@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize("ranks", [(1, 1), (2, 2), (3, 2)])
def test_two_operands(name, ranks, target):
    element, dtype = TYPES[name]
    op, reference = ("And", np.logical_and) if dtype == np.bool_ else ("Add", np.add)
    exe = pliant.compile(binary(op, ranks, element), target=target)
    rng = np.random.default_rng(1)
    rank = max(ranks)
    for sizes in [(5, 3, 37)[-rank:], (2, 4, 16)[-rank:], (3, 0, 5)[-rank:], (7, 1, 1)[-rank:], (3, 67, 70)[-rank:]]:
        axes = [(a, b) for n in sizes for a, b in [(n, n)]]
        for mix in itertools.product([(0, 0), (1, 0), (0, 1), (1, 1)], repeat=rank):
            x = array(rng, dtype, [1 if m[0] else a[0] for m, a in zip(mix, axes)][rank - ranks[0]:])
            y = array(rng, dtype, [1 if m[1] else a[1] for m, a in zip(mix, axes)][rank - ranks[1]:])
            got = exe.run({"x": x, "y": y})["z"]
            np.testing.assert_array_equal(got, reference(x, y), f"{x.shape} {y.shape}")


def test_three_operands_of_four_axes():
    g = models.Graph()
    g("Where", "c", "x", "y", name="z")
    exe = pliant.compile(g.model([symbolic("c", TensorProto.BOOL, 4), symbolic("x", TensorProto.FLOAT, 4),
                                  symbolic("y", TensorProto.FLOAT, 3)], [("z", TensorProto.FLOAT, None)]))
    rng = np.random.default_rng(2)
    for sizes in [(2, 3, 5, 7), (1, 4, 1, 19), (3, 1, 8, 1), (2, 0, 3, 4)]:
        for bits in range(0, 1 << 11, 7):
            shapes = [[1 if bits >> (4 * k + i) & 1 else n for i, n in enumerate(sizes)] for k in range(3)]
            c, x, y = (array(rng, t, s) for t, s in zip((np.bool_, np.float32, np.float32), shapes))
            got = exe.run({"c": c, "x": x, "y": y[0]})["z"]
            np.testing.assert_array_equal(got, np.where(c, x, y[0]), str(shapes))


@targets
@pytest.mark.parametrize("name", TYPES)
def test_picks_from_two(name, target):
    element, dtype = TYPES[name]
    g = models.Graph()
    g("Where", "c", "x", "y", name="z")
    exe = pliant.compile(g.model([symbolic("c", TensorProto.BOOL, 2), symbolic("x", element, 2), symbolic("y", element, 2)],
                                 [("z", element, None)]), target=target)
    rng = np.random.default_rng(8)
    for rows, columns in [(3, 37), (5, 64), (1, 1), (0, 5), (4, 0), (300, 129), (2, 20011), (7, 3)]:
        for mix in itertools.product([(rows, columns), (1, columns), (rows, 1), (1, 1)], repeat=3):
            c, x, y = (array(rng, t, s) for t, s in zip((np.bool_, dtype, dtype), mix))
            np.testing.assert_array_equal(exe.run({"c": c, "x": x, "y": y})["z"], np.where(c, x, y), str(mix))


@targets
@pytest.mark.parametrize("name", ["i8", "bool", "f32"])
def test_runs_around_a_task(name, target):
    # Rows of about as many elements as a task has, of several tasks, and of which a task has many.
    element, dtype = TYPES[name]
    op, reference = ("Or", np.logical_or) if dtype == np.bool_ else ("Mul", np.multiply)
    exe = pliant.compile(binary(op, (3, 3), element), target=target)
    rng = np.random.default_rng(9)
    for n in (4095, 4096, 4097, 8193, 16383, 16384, 16385, 40000, 33, 1000):
        for x, y in [((3, 2, n), (3, 1, n)), ((3, 2, n), (1, 2, 1)), ((1, 2, n), (5, 2, n)), ((2, 3, n), (2, 3, n)),
                     ((n, 3, 1), (n, 3, 3))]:
            a, b = array(rng, dtype, x), array(rng, dtype, y)
            np.testing.assert_array_equal(exe.run({"x": a, "y": b})["z"], reference(a, b), f"{x} {y}")


@targets
def test_more_than_a_task(target):
    exe = pliant.compile(binary("Sub", (3, 3), TensorProto.FLOAT), target=target)
    rng = np.random.default_rng(3)
    for x, y in [((3, 50, 101), (3, 50, 101)), ((3, 50, 101), (1, 50, 1)), ((3, 50, 101), (101,)), ((1, 9000, 3), (2, 9000, 1)),
                 ((2, 1, 9001), (2, 3, 1)), ((20000, 1, 1), (20000, 1, 1)), ((5000, 3, 1), (1, 3, 7))]:
        a = array(rng, np.float32, x)
        b = array(rng, np.float32, (1,) * (3 - len(y)) + tuple(y))
        np.testing.assert_array_equal(exe.run({"x": a, "y": b})["z"], a - b, f"{x} {y}")


def test_sizes_that_do_not_broadcast_are_refused():
    exe = pliant.compile(binary("Add", (2, 2), TensorProto.FLOAT))
    for x, y in [((2, 3), (2, 4)), ((3, 5), (2, 5)), ((0, 3), (2, 3))]:
        with pytest.raises(pliant.Error):
            exe.run({"x": np.zeros(x, np.float32), "y": np.zeros(y, np.float32)})


@targets
@pytest.mark.parametrize("element, dtype", TYPES.values(), ids=TYPES)
def test_expand_to_sizes_of_the_run(element, dtype, target):
    g = models.Graph()
    g("Expand", "x", "s", name="y")
    exe = pliant.compile(g.model([symbolic("x", element, 3), ("s", TensorProto.INT64, [3])], [("y", element, None)]), target=target)
    rng = np.random.default_rng(4)
    for sizes in [(2, 3, 37), (4, 1, 8), (1, 50, 101), (3, 0, 2)]:
        for bits in range(8):
            x = array(rng, dtype, [1 if bits >> i & 1 else n for i, n in enumerate(sizes)])
            for shape in (sizes, tuple(1 if n and not bits >> i & 1 else n for i, n in enumerate(sizes))):
                got = exe.run({"x": x, "s": np.array(shape, np.int64)})["y"]
                np.testing.assert_array_equal(got, np.broadcast_to(x, np.broadcast_shapes(x.shape, shape)), f"{x.shape} {shape}")


@targets
@pytest.mark.parametrize("element, dtype", TYPES.values(), ids=TYPES)
def test_tile_by_repeats_of_the_run(element, dtype, target):
    g = models.Graph()
    g("Tile", "x", "r", name="y")
    exe = pliant.compile(g.model([symbolic("x", element, 3), ("r", TensorProto.INT64, [3])], [("y", element, None)]), target=target)
    rng = np.random.default_rng(5)
    for shape in [(2, 3, 37), (1, 1, 1), (5, 1, 16), (2, 0, 3), (1, 40, 3), (2, 1, 4099)]:
        x = array(rng, dtype, shape)
        for repeats in [(1, 1, 1), (2, 3, 1), (1, 1, 5), (0, 2, 1), (3, 1, 40), (4, 5, 6)]:
            got = exe.run({"x": x, "r": np.array(repeats, np.int64)})["y"]
            np.testing.assert_array_equal(got, np.tile(x, repeats), f"{shape} {repeats}")


def test_one_vector_of_every_length_beside_rows():
    # What is added may be an element, a row, a column or everything, in a group with a reduction.
    g = models.Graph()
    g("Softmax", g("Add", "x", "y", name="sum"), name="z", axis=-1)
    exe = pliant.compile(g.model([symbolic("x", TensorProto.FLOAT, 2), symbolic("y", TensorProto.FLOAT, 2)],
                                 [("z", TensorProto.FLOAT, None)]))
    rng = np.random.default_rng(6)
    for n in (1, 2, 15, 16, 17, 63, 64, 65, 130):
        x = array(rng, np.float32, (3, n)) / 8
        for shape in [(1, 1), (3, 1), (1, n), (3, n)]:
            y = array(rng, np.float32, shape) / 8
            e = np.exp((x + y) - (x + y).max(-1, keepdims=True))
            np.testing.assert_allclose(exe.run({"x": x, "y": y})["z"], e / e.sum(-1, keepdims=True), 1e-5, 1e-6)
