"""Integer divisions and remainders by zero stop the run with the node's name; everything else is numpy's."""
import numpy as np
import pliant
import pytest
from models import Graph, I64
from onnx import TensorProto, helper

INTS = {np.int8: TensorProto.INT8, np.int16: TensorProto.INT16, np.int32: TensorProto.INT32, np.int64: TensorProto.INT64,
        np.uint8: TensorProto.UINT8, np.uint16: TensorProto.UINT16, np.uint32: TensorProto.UINT32, np.uint64: TensorProto.UINT64}
LEVELS = [0, 3]


def truncated(a, b):
    """C's quotient; numpy rounds towards minus infinity."""
    wide = a.astype(object)
    pairs = zip(*(v.ravel() for v in np.broadcast_arrays(wide, b)))
    out = [abs(int(x)) // abs(int(y)) * (1 if (x < 0) == (y < 0) else -1) for x, y in pairs]
    return np.array(out, object).reshape(np.broadcast_shapes(a.shape, b.shape)).astype(np.int64).astype(a.dtype)


WANT = {"div": truncated, "mod": np.mod, "fmod": np.fmod}


def division(kind, dtype, a_shape, b_shape, opset=17):
    g = Graph()
    g("Div" if kind == "div" else "Mod", "a", "b", name="quotient", **({"fmod": 1} if kind == "fmod" else {}))
    return g.model([("a", dtype, a_shape), ("b", dtype, b_shape)], [("quotient", dtype, None)], opset)


def by_zero(exe, feeds, name="quotient"):
    with pytest.raises(pliant.RunError, match=f"{name}.*integer division by zero"):
        exe.run(feeds)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("kind", WANT)
@pytest.mark.parametrize("dtype", INTS, ids=lambda t: t.__name__)
def test_each_type(dtype, kind, level):
    exe = pliant.compile(division(kind, INTS[dtype], ["n"], ["n"]), opt_level=level)
    rng = np.random.default_rng(1)
    info = np.iinfo(dtype)
    for n in (0, 1, 3, 8, 33, 5000):
        a = rng.integers(info.min, info.max, n, dtype, endpoint=True)
        b = rng.integers(info.min, info.max, n, dtype, endpoint=True)
        b[b == 0] = 1
        np.testing.assert_array_equal(exe.run([a, b])["quotient"], WANT[kind](a, b))
        for place in {0, n // 2, n - 1} if n else ():
            zero = b.copy()
            zero[place] = 0
            by_zero(exe, [a, zero])
    a, b = rng.integers(1, 100, 40).astype(dtype), np.arange(1, 41).astype(dtype)
    np.testing.assert_array_equal(exe.run([a, b])["quotient"], WANT[kind](a, b))


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("shapes", [(["n", "m"], []), (["n", "m"], ["m"]), (["n", "m"], ["n", 1]), (["m"], ["n", "m"]),
                                    (["n", "m"], ["p", "q"]), ([], ["n"]), ([], [])], ids=str)
def test_broadcasts(shapes, level):
    exe = pliant.compile(division("div", I64, *shapes), opt_level=level)
    rng = np.random.default_rng(2)
    for n, m, p, q in [(4, 5, 4, 5), (4, 5, 1, 5), (4, 5, 4, 1), (1, 7, 3, 1), (40, 33, 40, 33)]:
        sizes = {"n": n, "m": m, "p": p, "q": q, 1: 1}
        a, b = (rng.integers(1, 50, [sizes[d] for d in s]) for s in shapes)
        np.testing.assert_array_equal(exe.run([a, b])["quotient"], a // b)
        b = np.array(b)
        b.ravel()[-1:] = 0
        by_zero(exe, [a, b])


def test_of_an_empty_result_no_quotient_is_asked_for():
    exe = pliant.compile(division("div", I64, ["n", "m"], ["m"]))
    assert exe.run([np.zeros((0, 3), np.int64), np.zeros(3, np.int64)])["quotient"].shape == (0, 3)
    by_zero(exe, [np.zeros((1, 3), np.int64), np.zeros(3, np.int64)])


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("dtype", [np.int32, np.uint8], ids=lambda t: t.__name__)
def test_constant_divisors(dtype, level):
    g = Graph()
    g("Div", "a", g.constant(np.array([3, 0, 2], dtype)), name="quotient")
    by_zero(pliant.compile(g.model([("a", INTS[dtype], ["n", 3])], [("quotient", INTS[dtype], None)]), opt_level=level),
            [np.ones((2, 3), dtype)])
    g = Graph()
    folded = g("Mod", g.constant(np.array([7], dtype)), g.constant(np.array([0], dtype)), name="quotient")
    g("Add", "a", folded, name="y")
    by_zero(pliant.compile(g.model([("a", INTS[dtype], ["n"])], [("y", INTS[dtype], None)]), opt_level=level), [np.ones(2, dtype)])
    g = Graph()
    g("Div", "a", g.constant(np.array([3, 1, 2], dtype)), name="y")
    a = np.arange(6).reshape(2, 3).astype(dtype)
    np.testing.assert_array_equal(
        pliant.compile(g.model([("a", INTS[dtype], ["n", 3])], [("y", INTS[dtype], None)]), opt_level=level).run([a])["y"],
        a // np.array([3, 1, 2], dtype))


@pytest.mark.parametrize("level", LEVELS)
def test_among_what_is_fused(level):
    """Before, behind and beside other elementwise work, transposes and several divisions; each names its own node."""
    g = Graph()
    sum_ = g("Add", "a", "b")
    first = g("Div", g("Mul", sum_, sum_), g("Sub", "b", "c"), name="first")
    second = g("Mod", g("Add", first, "a"), g("Abs", "c"), name="second")
    g("Mul", g("Transpose", g("Neg", second), perm=[1, 0]), g.constant(np.int64(2)), name="y")
    g("ReduceMax", second, name="best")
    exe = pliant.compile(g.model([(n, I64, ["n", "m"]) for n in "abc"], [("y", I64, None), ("best", I64, None)]), opt_level=level)
    rng = np.random.default_rng(3)
    a, b, c = rng.integers(1, 9, (3, 6, 21))
    b += 10
    first = (a + b) ** 2 // (b - c)
    want = np.mod(first + a, np.abs(c))
    got = exe.run([a, b, c])
    np.testing.assert_array_equal(got["y"], -want.T * 2)
    assert got["best"].ravel() == want.max()
    zero = c.copy()
    zero[3, 4] = 0
    by_zero(exe, [a, b, zero], "second")
    equal = c.copy()
    equal[5, 20] = b[5, 20]
    by_zero(exe, [a, b, equal], "first")


@pytest.mark.parametrize("level", LEVELS)
def test_a_choice_asks_only_for_what_it_takes(level):
    g = Graph()
    zero = g("Equal", "b", g.constant(np.int64(0)))
    g("Where", zero, g.constant(np.int64(-1)), g("Div", "a", "b"), name="y")
    some = g("Not", zero)
    g("Where", some, g("Mod", "a", "b", name="rest"), "a", name="z")
    exe = pliant.compile(g.model([("a", I64, ["n"]), ("b", I64, ["n"])], [("y", I64, None), ("z", I64, None)]), opt_level=level)
    a, b = np.arange(9), np.array([1, 0, 2, 3, 0, 5, 0, 4, 4])
    got = exe.run([a, b])
    safe = np.where(b == 0, 1, b)
    np.testing.assert_array_equal(got["y"], np.where(b == 0, -1, a // safe))
    np.testing.assert_array_equal(got["z"], np.where(b == 0, a, a % safe))
    g = Graph()
    g("Where", "c", g("Div", "a", "b", name="quotient"), "a", name="y")
    inputs = [("c", TensorProto.BOOL, ["n"]), ("a", I64, ["n"]), ("b", I64, ["n"])]
    exe = pliant.compile(g.model(inputs, [("y", I64, None)]), opt_level=level)
    by_zero(exe, [b == 0, a, b])


@pytest.mark.parametrize("native_loops", [True, False])
def test_in_branches_and_loops(native_loops):
    """A branch that is not taken and an iteration that does not run ask for nothing."""
    def body(name, nodes, inputs, outputs):
        return helper.make_graph(nodes, name, [helper.make_tensor_value_info(n, t, s) for n, t, s in inputs],
                                 [helper.make_tensor_value_info(n, t, s) for n, t, s in outputs])
    yes = body("yes", [helper.make_node("Div", ["a", "b"], ["q"], name="quotient")], [], [("q", I64, ["n"])])
    no = body("no", [helper.make_node("Identity", ["a"], ["i"])], [], [("i", I64, ["n"])])
    g = Graph()
    g("If", "flag", name="y", then_branch=yes, else_branch=no)
    exe = pliant.compile(g.model([("flag", TensorProto.BOOL, []), ("a", I64, ["n"]), ("b", I64, ["n"])], [("y", I64, ["n"])]))
    a, b = np.arange(5), np.zeros(5, np.int64)
    np.testing.assert_array_equal(exe.run([np.array(False), a, b])["y"], a)
    by_zero(exe, [np.array(True), a, b])
    step = body("step", [helper.make_node("Gather", ["b", "i"], ["d"]), helper.make_node("Div", ["s", "d"], ["t"], name="quotient"),
                         helper.make_node("Identity", ["go"], ["on"])],
                [("i", I64, []), ("go", TensorProto.BOOL, []), ("s", I64, [])], [("on", TensorProto.BOOL, []), ("t", I64, [])])
    g = Graph()
    g("Loop", "trips", "", "start", name="y", body=step)
    exe = pliant.compile(g.model([("trips", I64, []), ("start", I64, []), ("b", I64, ["n"])], [("y", I64, [])]), native_loops=native_loops)
    feeds = {"start": np.array(1000), "b": np.array([2, 5, 0, 3])}
    assert exe.run({**feeds, "trips": np.array(2)})["y"] == 100
    by_zero(exe, {**feeds, "trips": np.array(3)})


def test_size_arithmetic():
    """Quotients of sizes, which become shapes; a size that is 0 stops the run."""
    g = Graph()
    shape = g("Shape", "x")
    rows = g("Gather", shape, g.constant(np.array([0])))
    columns = g("Gather", shape, g.constant(np.array([1])))
    parts = g("Div", columns, rows, name="quotient")
    g("Reshape", "x", g("Concat", rows, rows, parts, axis=0), name="y")
    exe = pliant.compile(g.model([("x", TensorProto.FLOAT, ["n", "m"])], [("y", TensorProto.FLOAT, None)]))
    assert exe.run([np.zeros((3, 12), np.float32)])["y"].shape == (3, 3, 4)
    by_zero(exe, [np.zeros((0, 4), np.float32)])
    g = Graph()
    g("Reshape", "x", g("Div", "s", "by", name="quotient"), name="y")
    exe = pliant.compile(g.model([("x", TensorProto.FLOAT, ["n"]), ("s", I64, [2]), ("by", I64, [2])], [("y", TensorProto.FLOAT, None)]))
    x = np.arange(12, dtype=np.float32)
    assert exe.run([x, np.array([6, 8]), np.array([2, 2])])["y"].shape == (3, 4)
    assert exe.run([x, np.array([-6, -8]), np.array([-2, -2])])["y"].shape == (3, 4)
    by_zero(exe, [x, np.array([6, 8]), np.array([2, 0])])


def test_floats_divide_by_zero():
    g = Graph()
    g("Div", "a", "b", name="y")
    exe = pliant.compile(g.model([("a", TensorProto.FLOAT, ["n"]), ("b", TensorProto.FLOAT, ["n"])], [("y", TensorProto.FLOAT, None)]))
    np.testing.assert_array_equal(exe.run([np.array([1, -1, 0], np.float32), np.zeros(3, np.float32)])["y"],
                                  np.array([np.inf, -np.inf, np.nan], np.float32))
