"""Functions of one element beside numpy in f64: remainders exactly, the others within a few units in the last place."""
import numpy as np
import pliant
import pytest
from models import F32, Graph
from onnx import TensorProto

TARGETS = ["native", "x86-64-v3"]
TYPES = {"f16": (TensorProto.FLOAT16, np.float16, 4), "f32": (F32, np.float32, 37), "f64": (TensorProto.DOUBLE, np.float64, 300)}


def same(got, want):
    return ((got == want) & (np.signbit(got) == np.signbit(want))) | (np.isnan(got) & np.isnan(want))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", TYPES)
def test_remainders_are_exact(dtype, target):
    """Quotients of every size, exact multiples, and everything special with everything special."""
    onnx_type, numpy_type, decades = TYPES[dtype]
    g = Graph()
    g("Mod", "x", "z", name="y", fmod=1)
    exe = pliant.compile(g.model([("x", onnx_type, ["n"]), ("z", onnx_type, ["n"])], [("y", onnx_type, ["n"])]), target=target)
    rng = np.random.default_rng(0)
    count = 20000
    x, z = (rng.standard_normal(count) * 10.0 ** rng.uniform(-decades, decades, count) for _ in range(2))
    near = x * 10.0 ** rng.uniform(-2, 2, count)
    info = np.finfo(numpy_type)
    special = np.array([0, -0.0, np.inf, -np.inf, np.nan, 1, -1, 5.5, -5.5, info.tiny, info.max, info.smallest_subnormal])
    with np.errstate(all="ignore"):
        pairs = [(x, z), (near, x), (rng.integers(1, 1000, count) * z, z), tuple(v.ravel() for v in np.meshgrid(special, special))]
        x, z = (np.concatenate([p[k] for p in pairs]).astype(numpy_type) for k in range(2))
        want = np.fmod(x, z)
    got = np.asarray(exe.run({"x": x, "z": z})["y"])
    assert same(got, want).all(), [(x[i], z[i], got[i], want[i]) for i in np.flatnonzero(~same(got, want))[:3]]


FUNCTIONS = {
    "Asin": (np.arcsin, 1, 1.2), "Acos": (np.arccos, 1, 1.2), "Atan": (np.arctan, 50, 1.2), "Sin": (np.sin, 1e4, 1.6),
    "Cos": (np.cos, 1e4, 1.6), "Tanh": (np.tanh, 12, 1.3), "Sigmoid": (lambda v: 1 / (1 + np.exp(-v)), 100, 2.0)}


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype,operators", [("f32", list(FUNCTIONS)), ("f64", ["Sin", "Cos", "Tanh", "Sigmoid"])])
def test_functions_keep_their_last_places(dtype, operators, target):
    onnx_type, numpy_type, _ = TYPES[dtype]
    g = Graph()
    for op in operators:
        g(op, f"x_{op}", name=f"y_{op}")
    exe = pliant.compile(g.model([(f"x_{op}", onnx_type, [f"n_{op}"]) for op in operators],
                                 [(f"y_{op}", onnx_type, [f"n_{op}"]) for op in operators]), target=target)
    rng = np.random.default_rng(1)
    base = np.concatenate([rng.uniform(-1, 1, 50000), [0, -0.0, 1, -1, 0.5, -0.5], 10.0 ** rng.uniform(-30, 0, 5000)])
    edge = np.array([np.nan, np.inf, -np.inf, 1e10, -1e15, 1e30], numpy_type)
    quarters = (np.arange(1, 20000) * (np.pi / 2)).astype(numpy_type)  # where sines vanish
    feed = {f"x_{op}": np.concatenate([(base * FUNCTIONS[op][1]).astype(numpy_type), edge, quarters[: 20000 * (op in ("Sin", "Cos"))]])
            for op in operators}
    got = exe.run(feed)
    wide = np.float64 if numpy_type == np.float32 else np.longdouble
    for op in operators:
        with np.errstate(all="ignore"):
            want = FUNCTIONS[op][0](feed[f"x_{op}"].astype(wide))
        y = np.asarray(got[f"y_{op}"])
        finite = np.isfinite(want)
        assert (np.isnan(y) == np.isnan(want)).all() and (y[np.isinf(want)] == want[np.isinf(want)]).all(), op
        zero = want == 0
        assert (np.signbit(y[zero]) == np.signbit(want[zero])).all() and (y[zero] == 0).all(), op
        unit = np.maximum(np.spacing(np.abs(want[finite]).astype(numpy_type)), np.finfo(numpy_type).smallest_subnormal)
        bound = FUNCTIONS[op][2] if numpy_type == np.float32 else 3
        assert (np.abs(y[finite] - want[finite]) <= bound * unit).all(), (op, (np.abs(y[finite] - want[finite]) / unit).max())
