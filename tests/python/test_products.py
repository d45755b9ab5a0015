"""Products of matrices that are not constants, in every layout, at few and many rows, beside numpy."""
import itertools

import numpy as np
import pliant
import pytest
from onnx import TensorProto
from models import F32, Graph

ROWS = [0, 1, 2, 3, 4, 5, 6, 7, 13, 16, 33, 70]
INNER = [0, 1, 7, 16, 64, 65, 333]
COLUMNS = [0, 1, 7, 16, 31, 64, 65, 333]
TARGETS = [None, "x86-64-v3"]
TYPES = {"f32": (F32, np.float32), "f64": (TensorProto.DOUBLE, np.float64)}


def plain(m, k, n, dtype):
    g = Graph()
    g("MatMul", "a", "b", name="y")
    return g.model([("a", dtype, [m, k]), ("b", dtype, [k, n])], [("y", dtype, [m, n])])


def transposed(m, k, n, dtype):
    g = Graph()
    g("Relu", g("Gemm", "a", "b", "c", transB=1, alpha=0.5), name="y")
    return g.model([("a", dtype, [m, k]), ("b", dtype, [n, k]), ("c", dtype, [n])], [("y", dtype, [m, n])])


def batched(m, k, n, dtype):
    g = Graph()
    g("MatMul", "a", "b", name="y")
    return g.model([("a", dtype, [3, m, k]), ("b", dtype, [3, k, n])], [("y", dtype, [3, m, n])])


def batched_transposed(m, k, n, dtype):
    """As keys of attention lie: batch, position, head, feature."""
    g = Graph()
    g("Mul", g("MatMul", "a", g("Transpose", "b", perm=[0, 2, 3, 1])), g.constant(np.array(0.5, TYPES_OF[dtype])), name="y")
    return g.model([("a", dtype, [2, 3, m, k]), ("b", dtype, [2, n, 3, k])], [("y", dtype, [2, 3, m, n])])


def first_transposed(m, k, n, dtype):
    g = Graph()
    g("MatMul", g("Transpose", "a", perm=[1, 0]), g("Transpose", "b", perm=[1, 0]), name="y")
    return g.model([("a", dtype, [k, m]), ("b", dtype, [n, k])], [("y", dtype, [m, n])])


TYPES_OF = {onnx_type: np_type for onnx_type, np_type in TYPES.values()}
LAYOUTS = {
    "plain": (plain, lambda v: v["a"] @ v["b"]),
    "transposed": (transposed, lambda v: np.maximum(0.5 * (v["a"] @ v["b"].T) + v["c"], 0)),
    "batched": (batched, lambda v: v["a"] @ v["b"]),
    "batched_transposed": (batched_transposed, lambda v: 0.5 * (v["a"] @ v["b"].transpose(0, 2, 3, 1))),
    "first_transposed": (first_transposed, lambda v: v["a"].T @ v["b"].T),
}


def inputs_of(model, sizes, seed):
    rng = np.random.default_rng(seed)
    values = {}
    for i in model.graph.input:
        shape = [sizes[d.dim_param] if d.dim_param else d.dim_value for d in i.type.tensor_type.shape.dim]
        values[i.name] = rng.standard_normal(shape).astype(TYPES_OF[i.type.tensor_type.elem_type])
    return values


def check(exe, model, want, sizes, precise):
    values = inputs_of(model, sizes, sum(sizes.values()))
    expected = want({name: v.astype(np.float64) for name, v in values.items()})
    got = exe.run(values)["y"]
    np.testing.assert_allclose(got, expected, rtol=0, atol=(1e-12 if precise else 4e-6) * max(sizes.get("k", 0), 16),
                               err_msg=str(sizes))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_symbolic_sizes(layout, target):
    make, want = LAYOUTS[layout]
    model = make("m", "k", "n", F32)
    exe = pliant.compile(model, **({"target": target} if target else {}))
    for m, k, n in itertools.product(ROWS, INNER, COLUMNS):
        check(exe, model, want, {"m": m, "k": k, "n": n}, False)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("sizes", [(1, 64, 64), (1, 333, 7), (2, 7, 333), (3, 65, 65), (6, 64, 31), (13, 333, 70), (0, 5, 5), (5, 0, 5)])
def test_known_sizes(layout, target, sizes):
    make, want = LAYOUTS[layout]
    model = make(*sizes, F32)
    exe = pliant.compile(model, **({"target": target} if target else {}))
    check(exe, model, want, {"k": sizes[1]}, False)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_doubles(layout):
    make, want = LAYOUTS[layout]
    model = make("m", "k", "n", TYPES["f64"][0])
    exe = pliant.compile(model)
    for m, k, n in itertools.product([1, 3, 7, 40], [1, 9, 64, 130], [1, 8, 65]):
        check(exe, model, want, {"m": m, "k": k, "n": n}, True)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_equal_at_every_number_of_threads(layout):
    make, _ = LAYOUTS[layout]
    model = make("m", "k", "n", F32)
    one, three = pliant.compile(model, threads=1), pliant.compile(model, threads=3)
    for m, k, n in itertools.product([1, 6, 7, 90], [64, 600], [65, 2200]):
        values = inputs_of(model, {"m": m, "k": k, "n": n}, m + k + n)
        np.testing.assert_array_equal(one.run(values)["y"], three.run(values)["y"])


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("batch", [(), ("b",)])
@pytest.mark.parametrize("inner, columns", [(1, 1), (64, 64), (300, 17)])
def test_constant_second_factor_at_rows_of_a_known_bound(inner, columns, batch, target):
    """As few rows as a Slice leaves: none, one or some more; and blocks of rows that are all alike."""
    w = np.random.default_rng(0).standard_normal((inner, columns)).astype(np.float32)
    for most in [0, 1, 2, 7, 720]:
        g = Graph()
        axis = g.constant(np.array([len(batch)]))
        rows = g("Slice", "x", g.constant(np.array([0])), g.constant(np.array([most])), axis)
        g("MatMul", rows, g.constant(w), name="y")
        for m in ["m", 2 * most]:
            model = g.model([("x", F32, [*batch, m, inner])], [("y", F32, None)])
            exe = pliant.compile(model, **({"target": target} if target else {}))
            for n in {0, 1, 9, 2 * most} if m == "m" else [m]:
                x = np.random.default_rng(n).standard_normal((*(3 for _ in batch), n, inner)).astype(np.float32)
                kept = x[..., :most, :].astype(np.float64)
                np.testing.assert_allclose(exe.run({"x": x})["y"], kept @ w, rtol=0, atol=1e-4)


@pytest.mark.parametrize("op", ["RNN", "GRU", "LSTM"])
def test_recurrent_weights_from_inputs(op):
    """Products inside a native loop, beside bytecode."""
    gates, hidden, features = {"RNN": 1, "GRU": 3, "LSTM": 4}[op], 40, 9
    g = Graph()
    g(op, "x", "w", "r", outputs=2, name="y", hidden_size=hidden)
    model = g.model([("x", F32, ["steps", "batch", features]), ("w", F32, [1, gates * hidden, features]),
                     ("r", F32, [1, gates * hidden, hidden])], [("y", F32, ["steps", 1, "batch", hidden])])
    native, bytecode = pliant.compile(model), pliant.compile(model, native_loops=False)
    plain = pliant.compile(model, opt_level=0)
    for steps, batch in itertools.product([0, 1, 7], [0, 1, 2, 5, 6, 23]):
        values = inputs_of(model, {"steps": steps, "batch": batch}, steps + batch)
        values["w"], values["r"] = 0.3 * values["w"], 0.15 * values["r"]
        got = native.run(values)["y"]
        np.testing.assert_array_equal(got, bytecode.run(values)["y"])
        np.testing.assert_allclose(got, plain.run(values)["y"], rtol=0, atol=2e-5, err_msg=f"{steps} steps, batch {batch}")


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("op", ["Erf", "Tanh", "Softplus"])
@pytest.mark.parametrize("inner, columns", [(0, 9), (1, 40), (24, 17), (700, 33)])
def test_results_that_take_long(op, inner, columns, target):
    """Beside code that is not optimised, at open and known rows, of one tile and of some heights."""
    w = np.random.default_rng(1).standard_normal((inner, columns)).astype(np.float32) / 8
    options = {"target": target} if target else {}
    for m in ["m", 5, 14, 45]:
        g = Graph()
        g(op, g("MatMul", "x", g.constant(w)), name="y")
        model = g.model([("x", F32, [m, inner])], [("y", F32, None)])
        exe, plain_code = (pliant.compile(model, opt_level=level, **options) for level in (3, 0))
        for n in [0, 1, 7, 15, 29, 100] if m == "m" else [m]:
            x = np.random.default_rng(n).standard_normal((n, inner)).astype(np.float32)
            expected = plain_code.run({"x": x})["y"]
            np.testing.assert_allclose(exe.run({"x": x})["y"], expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("zeros", [False, True])
def test_bytes_whose_batches_broadcast_at_run_time(target, zeros):
    g = Graph()
    g("MatMulInteger", "a", "b", *(["za", "zb"] if zeros else []), name="y")
    inputs = [("a", TensorProto.UINT8, ["p", "m", "k"]), ("b", TensorProto.UINT8, ["q", "k", "n"])]
    inputs += [("za", TensorProto.UINT8, [1]), ("zb", TensorProto.UINT8, [1])] if zeros else []
    exe = pliant.compile(g.model(inputs, [("y", TensorProto.INT32, None)]), **({"target": target} if target else {}))
    rng = np.random.default_rng(0)
    for p, q, m, k, n in itertools.product([1, 3], [1, 3], [1, 9], [0, 4, 33], [1, 40]):
        a, b = (rng.integers(0, 256, shape).astype(np.uint8) for shape in [(p, m, k), (q, k, n)])
        za, zb = ((3, 200) if zeros else (0, 0))
        given = {"a": a, "b": b} | ({"za": np.array([za], np.uint8), "zb": np.array([zb], np.uint8)} if zeros else {})
        expected = np.matmul(a.astype(np.int32) - za, b.astype(np.int32) - zb)
        np.testing.assert_array_equal(exe.run(given)["y"], expected)
