"""Transposes, alone and with what is computed around them, at odd and zero sizes, beside numpy."""
import itertools
import math

import numpy as np
import pliant
import pytest
from onnx import TensorProto, helper
from models import F32, Graph

SIZES = [0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 65]
TYPES = {
    "f32": (F32, np.float32), "f64": (TensorProto.DOUBLE, np.float64), "f16": (TensorProto.FLOAT16, np.float16),
    "i64": (TensorProto.INT64, np.int64), "u8": (TensorProto.UINT8, np.uint8), "bool": (TensorProto.BOOL, np.bool_),
}
TARGETS = ["native", "x86-64-v3"]
MOST = 60_000  # elements


def shapes_of(rank, count, rng):
    """Odd shapes, and two of which every axis is long."""
    if rank <= 3:
        yield [67, 131, 70][:rank]
    for _ in range(count):
        shape = [int(rng.choice(SIZES)) for _ in range(rank)]
        while np.prod(shape) > MOST:
            shape[int(rng.integers(rank))] = int(rng.choice(SIZES[:8]))
        yield shape


def array(dtype, shape, rng):
    return rng.integers(0, 2 if dtype == np.bool_ else 100, shape).astype(dtype)


def names(rank):
    return [f"d{k}" for k in range(rank)]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("rank", [2, 3, 4])
def test_every_order_of_axes(rank, dtype, target):
    onnx_type, np_type = TYPES[dtype]
    rng = np.random.default_rng(rank)
    orders = list(itertools.permutations(range(rank)))[1:]
    if rank == 4:
        orders = orders[::6] + [(0, 2, 1, 3), (0, 2, 3, 1), (0, 3, 1, 2)]
    for order in orders:
        g = Graph()
        g("Transpose", "x", perm=list(order), name="y")
        exe = pliant.compile(g.model([("x", onnx_type, names(rank))], [("y", onnx_type, None)]), target=target)
        for shape in shapes_of(rank, 9, rng):
            x = array(np_type, shape, rng)
            np.testing.assert_array_equal(exe.run({"x": x})["y"], x.transpose(order), err_msg=f"{order} {shape}")


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("shape", [(7, 35), (33, 3), (2, 40), (64, 48), (17, 16), (4, 4), (1, 30), (30, 1)])
@pytest.mark.parametrize("dtype", ["f32", "u8"])
def test_known_sizes(dtype, shape, target):
    onnx_type, np_type = TYPES[dtype]
    g = Graph()
    g("Transpose", "x", perm=[0, 2, 1], name="y")
    exe = pliant.compile(g.model([("x", onnx_type, ["n", *shape])], [("y", onnx_type, None)]), target=target)
    for n in (0, 1, 3):
        x = array(np_type, (n, *shape), np.random.default_rng(n))
        np.testing.assert_array_equal(exe.run({"x": x})["y"], x.transpose(0, 2, 1))


def fused(g, kind):
    t = g("Transpose", "x", perm=[0, 2, 3, 1])
    if kind == "add":
        g("Add", t, "b", name="y")
    elif kind == "erf":
        g("Erf", t, name="y")
    elif kind == "cast":
        g("Cast", t, to=TensorProto.UINT8, name="y")
    elif kind == "quantize":
        g("QuantizeLinear", t, g.constant(np.array(0.5, np.float32)), g.constant(np.array(3, np.uint8)), name="y")
    elif kind == "where":
        g("Where", g("Greater", t, "b"), t, g("Transpose", "x", perm=[0, 2, 3, 1]), name="y")
    elif kind == "twice":
        g("Add", t, g("Mul", t, g("Transpose", "z", perm=[0, 2, 3, 1])), name="y")


EXPECTED = {
    "add": lambda t, b, z: t + b,
    "erf": lambda t, b, z: np.vectorize(math.erf, otypes=[np.float32])(t),
    "cast": lambda t, b, z: t.astype(np.uint8),
    "quantize": lambda t, b, z: np.clip(np.rint(t / np.float32(0.5)) + 3, 0, 255).astype(np.uint8),
    "where": lambda t, b, z: t,
    "twice": lambda t, b, z: t + t * z,
}


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("kind", EXPECTED)
def test_with_what_is_computed_around(kind, target):
    g = Graph()
    fused(g, kind)
    byte = kind in ("cast", "quantize")
    model = g.model([("x", F32, names(4)), ("b", F32, ["d0", "d2", "d3", "d1"]), ("z", F32, names(4))],
                    [("y", TensorProto.UINT8 if byte else F32, None)])
    exe = pliant.compile(model, target=target)
    rng = np.random.default_rng(5)
    for shape in [*shapes_of(4, 15, rng), [2, 37, 5, 9], [1, 64, 8, 8], [0, 8, 3, 3]]:
        x, z = array(np.float32, shape, rng), array(np.float32, shape, rng)
        t = x.transpose(0, 2, 3, 1)
        b = array(np.float32, t.shape, rng)
        expected = EXPECTED[kind](t, b, z.transpose(0, 2, 3, 1)) if t.size else np.zeros(t.shape, np.uint8 if byte else np.float32)
        np.testing.assert_allclose(exe.run({"x": x, "b": b, "z": z})["y"], expected, rtol=1e-6, atol=1e-6, err_msg=str(shape))


@pytest.mark.parametrize("target", TARGETS)
def test_in_a_loop(target):
    body = Graph()
    t = body("Transpose", "carried", perm=[1, 0])
    body("Add", t, "carried", name="next")
    body("Identity", "condition", name="goes_on")
    def infos(*rows):
        return [helper.make_tensor_value_info(*row) for row in rows]

    inner = helper.make_graph(
        body.nodes, "body", infos(("index", TensorProto.INT64, []), ("condition", TensorProto.BOOL, []), ("carried", F32, ["n", "n"])),
        infos(("goes_on", TensorProto.BOOL, []), ("next", F32, ["n", "n"])))
    g = Graph()
    g("Loop", g.constant(np.array(3, np.int64)), "", "x", body=inner, name="y")
    exe = pliant.compile(g.model([("x", F32, ["n", "n"])], [("y", F32, ["n", "n"])]), target=target)
    for n in (0, 1, 3, 7, 16, 33, 70):
        x = array(np.float32, (n, n), np.random.default_rng(n))
        expected = x
        for _ in range(3):
            expected = expected.T + expected
        np.testing.assert_array_equal(exe.run({"x": x})["y"], expected)
