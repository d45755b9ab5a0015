"""Angles of two coordinates, as PyTorch, Paddle and others write them out, are 0 at the origin and elsewhere what the model says."""
import numpy as np
import pliant
import pytest
from models import Graph
from onnx import TensorProto, helper, numpy_helper

TYPES = {"f16": (TensorProto.FLOAT16, np.float16), "f32": (TensorProto.FLOAT, np.float32), "f64": (TensorProto.DOUBLE, np.float64)}
LEVELS = [0, 3]


class Angle(Graph):
    """A graph with what the forms share; its constants are initializers or nodes."""

    def __init__(self, dtype, as_nodes=False):
        super().__init__()
        self.onnx_type, self.dtype = TYPES[dtype]
        self.as_nodes = as_nodes
        self.zero, self.pi = self.number(0), self.number(np.pi)
        self.arc = self("Atan", self("Div", "y", "x"))

    def number(self, value, dtype=None):
        array = np.asarray(value, dtype or self.dtype)
        return self("Constant", value=numpy_helper.from_array(array)) if self.as_nodes else self.constant(array)

    def built(self, y_shape, x_shape):
        return self.model([("y", self.onnx_type, y_shape), ("x", self.onnx_type, x_shape)], [("angle", self.onnx_type, None)])


def torch_chain(g):
    inner = g("Where", g("Greater", "y", g.zero), g("Add", g.arc, g.pi), g("Sub", g.arc, g.pi))
    g("Where", g("Less", "x", g.zero), inner, g.arc, name="angle")


def torch_chain_of_integer_zeros(g):
    zero = g("Cast", g.number(0, np.int64), to=g.onnx_type)
    inner = g("Where", g("Greater", "y", zero), g("Add", g.pi, g.arc), g("Sub", g.arc, g.pi))
    g("Where", g("Less", "x", zero), inner, g.arc, name="angle")


def torch_chain_without_nan(g):
    inner = g("Where", g("Greater", "y", g.zero), g("Add", g.arc, g.pi), g("Sub", g.arc, g.pi))
    angle = g("Where", g("Less", "x", g.zero), inner, g.arc)
    g("Where", g("IsNaN", angle), g.zero, angle, name="angle")


def branches_swapped(g):
    inner = g("Where", g("LessOrEqual", "y", g.zero), g("Sub", g.arc, g.pi), g("Add", g.arc, g.pi))
    g("Where", g("GreaterOrEqual", "x", g.zero), g.arc, inner, name="angle")


def zeros_first(g):
    inner = g("Where", g("LessOrEqual", g.zero, "y"), g("Add", g.arc, g.pi), g("Add", g.arc, g("Neg", g.pi)))
    g("Where", g("Greater", g.zero, "x"), inner, g.arc, name="angle")


def negated_conditions(g):
    inner = g("Where", g("Not", g("Greater", "y", g.zero)), g("Sub", g.arc, g.pi), g("Add", g.arc, g.pi))
    at_least = g("Or", g("Greater", "x", g.zero), g("Equal", "x", g.zero))
    g("Where", at_least, g.arc, inner, name="angle")


def signs_compared(g):
    shift = g("Where", g("Equal", g("Sign", "y"), g.number(1)), g.pi, g("Neg", g.pi))
    g("Where", g("Equal", g("Sign", "x"), g.number(-1)), g("Add", g.arc, shift), g.arc, name="angle")


def paddle_sum(g):
    shift = g("Where", g("Less", "x", g.zero), g("Mul", g("Sign", "y"), g.pi), g.zero)
    g("Add", g.arc, shift, name="angle")


def masks(g):
    """Sums with masks, and the angles on the axis of x = 0 by name."""
    left, up, down = g("Less", "x", g.zero), g("Greater", "y", g.zero), g("Less", "y", g.zero)
    half = g.number(np.pi / 2)
    angle = g("Add", g.arc, g("Where", g("And", up, left), g.pi, g.zero))
    angle = g("Sub", angle, g("Mul", g("Cast", g("And", down, left), to=g.onnx_type), g.pi))
    upright = g("Equal", "x", g.zero)
    angle = g("Where", g("And", up, upright), half, angle)
    g("Where", g("And", down, upright), g("Neg", half), angle, name="angle")


FORMS = [torch_chain, torch_chain_of_integer_zeros, torch_chain_without_nan, branches_swapped, zeros_first, negated_conditions,
         signs_compared, paddle_sum, masks]
ON_LEFT = {torch_chain: -1, torch_chain_of_integer_zeros: -1, torch_chain_without_nan: -1, branches_swapped: -1, zeros_first: 1,
           negated_conditions: -1, signs_compared: -1, paddle_sum: 0, masks: 0}  # for y = 0 and x < 0, in half turns


def coordinates(dtype):
    rng = np.random.default_rng(5)
    info = np.finfo(dtype)
    special = np.array([0.0, -0.0, 1, -1, info.max, info.min, info.tiny, -info.tiny, np.inf, -np.inf, np.nan], dtype)
    y, x = (v.ravel() for v in np.meshgrid(special, special))
    return [np.concatenate([v, rng.standard_normal(300).astype(dtype)]) for v in (y, x)]


def by_the_letter(form, y, x):
    """What the forms say in f64, with 0 at the origin."""
    with np.errstate(all="ignore"):
        arc = np.arctan((y / x).astype(np.float64))
        shift = np.where(y > 0, np.pi, np.where(y < 0, -np.pi, ON_LEFT[form] * np.pi))
        angle = np.where(x < 0, arc + shift, arc)
    if form is masks:
        angle = np.where(x == 0, np.sign(y) * np.pi / 2, angle)
    angle = np.where((y == 0) & (x == 0), 0, angle)
    return np.where(np.isnan(angle), 0, angle) if form is torch_chain_without_nan else angle


def check(form, dtype, y, x, got):
    y, x = np.broadcast_arrays(y, x)
    want = by_the_letter(form, y, x)
    assert got.shape == want.shape and got.dtype == dtype
    finite, no_number = np.isfinite(y) & np.isfinite(x), np.isnan(y) | np.isnan(x)
    eps = np.finfo(dtype).eps
    np.testing.assert_allclose(got[finite].astype(np.float64), want[finite], rtol=4 * eps, atol=np.finfo(dtype).tiny)
    assert form is torch_chain_without_nan or np.isnan(got[no_number]).all()


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("form", FORMS, ids=lambda f: f.__name__)
def test_each_form(form, dtype, level):
    g = Angle(dtype, as_nodes=level == 0)
    form(g)
    exe = pliant.compile(g.built(["n"], ["n"]), opt_level=level)
    y, x = coordinates(g.dtype)
    check(form, g.dtype, y, x, exe.run([y, x])["angle"])
    assert exe.run([y[:0], x[:0]])["angle"].shape == (0,)


@pytest.mark.parametrize("shapes", [((3, 1), (5,)), ((5,), (4, 5)), ((), (7,)), ((2, 1, 3), (1, 4, 1)), ((), ())], ids=str)
@pytest.mark.parametrize("form", [torch_chain, paddle_sum], ids=lambda f: f.__name__)
def test_broadcasts(form, shapes):
    g = Angle("f32")
    form(g)
    exe = pliant.compile(g.built(*[[None if n != 1 else 1 for n in s] for s in shapes]))
    rng = np.random.default_rng(6)
    y, x = (rng.integers(-1, 2, s).astype(np.float32) for s in shapes)
    check(form, np.float32, y, x, exe.run([y, x])["angle"])


def test_parts_of_another_type():
    """The quotient in f32, the comparisons in f16."""
    g = Graph()
    y, x = (g("Cast", v, to=TensorProto.FLOAT) for v in "yx")
    arc, pi = g("Atan", g("Div", y, x)), g.constant(np.float32(np.pi))
    zero = g.constant(np.float16(0))
    inner = g("Where", g("Greater", "y", zero), g("Add", arc, pi), g("Sub", arc, pi))
    g("Cast", g("Where", g("Less", "x", zero), inner, arc), to=TensorProto.FLOAT16, name="angle")
    half = TensorProto.FLOAT16
    exe = pliant.compile(g.model([("y", half, ["n"]), ("x", half, ["n"])], [("angle", half, ["n"])]))
    y, x = coordinates(np.float16)
    check(torch_chain, np.float16, y, x, exe.run([y, x])["angle"])


def test_the_arc_has_other_readers():
    g = Angle("f32")
    torch_chain(g)
    model = g.model([("y", g.onnx_type, ["n"]), ("x", g.onnx_type, ["n"])], [("angle", g.onnx_type, ["n"]), (g.arc, g.onnx_type, ["n"])])
    out = pliant.compile(model).run([np.zeros(9, np.float32), np.zeros(9, np.float32)])
    assert (out["angle"] == 0).all() and np.isnan(out[g.arc]).all()


def test_an_angle_in_a_branch():
    branches = []
    for form in (torch_chain, paddle_sum):
        g = Angle("f32")
        form(g)
        branches.append(helper.make_graph(g.nodes, form.__name__, [], [helper.make_tensor_value_info("angle", g.onnx_type, None)],
                                          g.initializers))
    outer = Graph()
    outer("If", "which", name="y_out", then_branch=branches[0], else_branch=branches[1])
    f32 = TensorProto.FLOAT
    exe = pliant.compile(outer.model([("which", TensorProto.BOOL, []), ("y", f32, ["n"]), ("x", f32, ["n"])], [("y_out", f32, ["n"])]))
    y, x = coordinates(np.float32)
    for which, form in ((True, torch_chain), (False, paddle_sum)):
        check(form, np.float32, y, x, exe.run([np.array(which), y, x])["y_out"])


def half_plane(g):
    g("Where", g("Less", "x", g.zero), g("Add", g.arc, g.pi), g.arc, name="angle")


def other_way_round(g):
    inner = g("Where", g("Greater", "y", g.zero), g("Sub", g.arc, g.pi), g("Add", g.arc, g.pi))
    g("Where", g("Less", "x", g.zero), inner, g.arc, name="angle")


def another_shift(g):
    three = g.number(3)
    inner = g("Where", g("Greater", "y", g.zero), g("Add", g.arc, three), g("Sub", g.arc, three))
    g("Where", g("Less", "x", g.zero), inner, g.arc, name="angle")


def slope(g):
    g("Add", g.arc, g.zero, name="angle")


def coordinates_swapped(g):
    inner = g("Where", g("Greater", "x", g.zero), g("Add", g.arc, g.pi), g("Sub", g.arc, g.pi))
    g("Where", g("Less", "y", g.zero), inner, g.arc, name="angle")


@pytest.mark.parametrize("form", [half_plane, other_way_round, another_shift, slope, coordinates_swapped], ids=lambda f: f.__name__)
def test_what_is_no_angle_is_left_as_it_is(form):
    g = Angle("f32")
    form(g)
    exe = pliant.compile(g.built(["n"], ["n"]))
    assert np.isnan(exe.run([np.zeros(3, np.float32), np.zeros(3, np.float32)])["angle"]).all()
