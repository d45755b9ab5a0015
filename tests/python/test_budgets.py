"""Small models that ask for much: code is not copied without a limit, sizes made of sizes stay small, attributes are bounded by what
exists.

Values against numpy, and sizes of artifacts, which grow as the models do."""

import sys

import numpy as np
import onnx
import pytest
from conftest import ROOT
from models import F32, I64, Graph

import pliant

sys.path[:0] = [str(ROOT / "bench")]
from compile_bombs import BOMBS, calling_twice, other_ranks, sizes_of  # noqa: E402
from compile_graphs import GRAPHS, finish, ints, repeated  # noqa: E402


def compiled(model, **options):
    return pliant.compile(model.SerializeToString(), progress=False, **options)


def artifact_bytes(model, tmp_path):
    compiled(model).save(tmp_path / "m.pliant")
    return (tmp_path / "m.pliant").stat().st_size


def ramp(*shape):
    return (np.arange(np.prod(shape), dtype=np.float32).reshape(shape) % 7 - 3) / 4


# ---- steps that read the value before them at several places


def shifted_sum(x):
    return x[1:] + x[:-1]


def shifted_where(x):
    a, b = x[1:], x[:-1]
    return np.where(a < b, a, b)


def shifted_pad(x):
    zero = np.zeros_like(x[:1])
    return np.concatenate([zero, x]) + np.concatenate([x, zero])


def reversed_sum(x, k):
    return x + np.flip(x, k % 2)


def pad_step(g, x, k):
    return g("Mul", g("Add", g("Pad", x, ints(g, 1, 0, 0, 0)), g("Pad", x, ints(g, 0, 0, 1, 0))), g.constant(np.float32(0.5)))


def where_step(g, x, k):
    a = g("Slice", x, ints(g, 1), ints(g, 2**60), ints(g, 0))
    b = g("Slice", x, ints(g, 0), ints(g, -1), ints(g, 0))
    return g("Where", g("Less", a, b), a, b)


def sum_step(g, x, k):
    a = g("Slice", x, ints(g, 1), ints(g, 2**60), ints(g, 0))
    b = g("Slice", x, ints(g, 0), ints(g, -1), ints(g, 0))
    return g("Mul", g("Add", a, b), g.constant(np.float32(0.5)))


STEPS = {
    "slices": (sum_step, lambda x, k: shifted_sum(x) * np.float32(0.5)),
    "where": (where_step, lambda x, k: shifted_where(x)),
    "pads": (pad_step, lambda x, k: shifted_pad(x) * np.float32(0.5)),
}


@pytest.mark.parametrize("name", STEPS)
@pytest.mark.parametrize("level", [0, 3])
def test_steps_that_read_twice(name, level):
    step, expected = STEPS[name]
    exe = compiled(repeated(step, 24, 1), opt_level=level)
    for rows in (24, 25, 40):
        x = want = ramp(rows, 8)
        for k in range(24):
            want = expected(want, k)
        np.testing.assert_array_equal(exe(x)[0], want)


@pytest.mark.parametrize("name", STEPS)
def test_code_of_steps_grows_with_their_number(name, tmp_path):
    short, long = (artifact_bytes(repeated(STEPS[name][0], n, 1), tmp_path) for n in (8, 32))
    assert long < 6 * short


# ---- many nodes of one kind


def test_thousand_elementwise_nodes():
    exe = compiled(GRAPHS["add_chain"](1000))
    x = ramp(5, 8)
    want = x
    for _ in range(1000):
        want = want + x
    np.testing.assert_array_equal(exe(x)[0], want)


@pytest.mark.parametrize("name", ["elementwise_chain", "layer_norm_chain", "wide_sum", "ladder", "tree"])
def test_groups_have_a_most_size(name, tmp_path):
    """Ten times the nodes: kernels of the same size, several of them."""
    short, long = (artifact_bytes(GRAPHS[name](n), tmp_path) for n in (100, 800))
    assert long < 12 * short


# ---- sizes


def test_squared_sizes():
    exe = compiled(sizes_of(lambda g, s, k: g("Mul", s, s), 5))
    for n in (1, 2, 3):
        if n**32 < 1 << 24:
            assert exe(np.zeros(n, np.float32))[0].shape == (n**32,)
    with pytest.raises(pliant.Error):
        compiled(sizes_of(lambda g, s, k: g("Mul", s, s), 16))(np.zeros(3, np.float32))


def floored(g, s, k):
    return g("Div", g("Add", g("Mul", s, ints(g, 3)), ints(g, 1)), ints(g, 2))


def mixed(g, s, k):
    return g("Add", g("Mod", g("Mul", s, s), g("Add", s, ints(g, k + 1))), ints(g, 2))


@pytest.mark.parametrize(
    "step, value, times",
    [
        (floored, lambda n, k: (3 * n + 1) // 2, 25),
        (mixed, lambda n, k: n * n % (n + k + 1) + 2, 32),
    ],
)
@pytest.mark.parametrize("level", [0, 3])
def test_sizes_made_of_sizes(step, value, times, level):
    exe = compiled(sizes_of(step, times), opt_level=level)
    for n in (1, 5, 17):
        want = n
        for k in range(times):
            want = value(want, k)
        if want < 1 << 24:
            assert exe(np.zeros(n, np.float32))[0].shape == (want,)


def test_a_long_chain_of_resizes():
    exe = compiled(GRAPHS["resize_chain"](16))
    h = w = 24
    for k in range(16):
        scale = (1.5, 0.7) if k % 2 else (0.7, 1.5)
        h, w = int(np.floor(h * np.float32(scale[0]))), int(np.floor(w * np.float32(scale[1])))
    assert exe(np.zeros((1, 2, 24, 24), np.float32))[0].shape == (1, 2, h, w)


def test_inputs_of_120_sizes():
    count = 120
    g = Graph()
    y = g("Sum", *[f"x{k}" for k in range(count)])
    exe = compiled(finish(g, y, [(f"x{k}", F32, [f"n{k}"]) for k in range(count)], rank=1))
    arrays = [ramp(1 if k % 3 else 6) + k for k in range(count)]
    want = arrays[0]
    for a in arrays[1:]:
        want = want + a
    np.testing.assert_array_equal(exe(*arrays)[0], want)


# ---- kernels that differ in their sizes


def code_of(model, folder, **options):
    """How many kernels the model has, and how many pieces of code they share."""
    compiled(model, dump_dir=folder, **options)
    lines = [line.split()[2:] for line in (folder / "kernels.txt").read_text().splitlines()]
    return sum(map(len, lines)), sum(map(bool, lines))


def split_open(count, axis):
    g = Graph()
    parts = g("Split", "x", outputs=count, axis=axis, num_outputs=count)
    return g.model([("x", F32, ["n", "m"])], [(p, F32, None) for p in parts], 18)


def concat_open(count, axis):
    g = Graph()
    y = g("Concat", *[f"x{k}" for k in range(count)], axis=axis)
    return finish(g, y, [(f"x{k}", F32, [f"n{k}", f"m{k}"]) for k in range(count)])


@pytest.mark.parametrize("make", [split_open, concat_open])
@pytest.mark.parametrize("axis", [0, 1])
def test_parts_of_open_sizes_share_code(make, axis, tmp_path):
    kernels, code = code_of(make(60, axis), tmp_path)
    assert kernels >= 60 and code <= 16


def test_resizes_in_a_row_share_code(tmp_path):
    kernels, code = code_of(GRAPHS["resize_chain"](40), tmp_path)
    assert kernels >= 120 and code <= 50


def test_parts_of_one_size_have_kernels_of_a_most_size(tmp_path):
    kernels, code = code_of(GRAPHS["wide_split"](600), tmp_path)
    assert kernels >= 300 // 64 and code <= kernels
    offsets = sorted(int(line.split()[0]) for line in (tmp_path / "kernels.txt").read_text().splitlines())
    assert max(b - a for a, b in zip(offsets, offsets[1:])) < 64 << 10


def test_values_of_many_parts_of_one_size():
    x = ramp(4 * 150, 8)
    np.testing.assert_array_equal(compiled(GRAPHS["wide_split"](300))(x)[0], np.maximum(x, 0))


@pytest.mark.parametrize("level", [0, 3])
@pytest.mark.parametrize("axis", [0, 1])
def test_values_of_parts_that_share_code(axis, level):
    exe = compiled(split_open(9, axis), opt_level=level)
    for size in (0, 1, 9, 10, 72, 131):
        shape = (size, 5) if axis == 0 else (5, size)
        x, chunk = ramp(*shape), -(-size // 9)
        for k, part in enumerate(exe(x)):
            at = slice(min(k * chunk, size), min((k + 1) * chunk, size))
            np.testing.assert_array_equal(part, x[at] if axis == 0 else x[:, at])
    joined = compiled(concat_open(9, axis), opt_level=level)
    for sizes in ([0] * 9, [1, 0, 3, 17, 0, 64, 5, 2, 31]):
        arrays = [ramp(*((s, 5) if axis == 0 else (5, s))) + k for k, s in enumerate(sizes)]
        np.testing.assert_array_equal(joined(*arrays)[0], np.concatenate(arrays, axis))


# ---- what is imported several times


@pytest.mark.parametrize("depth", [1, 6, 9])
def test_functions_that_call_each_other_twice(depth):
    def call(x, k):
        if k == 0:
            return x * np.float32(0.5)
        p = call(x, k - 1)
        return p + call(p, k - 1)

    model = calling_twice(depth)
    model.functions[0].node[0].CopyFrom(onnx.helper.make_node("Mul", ["a", "half"], ["r"]))
    model.functions[0].node.insert(0, onnx.helper.make_node("Constant", [], ["half"], value_float=0.5))
    x = ramp(2, 8)
    np.testing.assert_array_equal(compiled(model)(x)[0], call(x, depth))


def test_functions_that_call_each_other_too_often_are_refused():
    with pytest.raises(pliant.CompileError, match="take more than [0-9]+ nodes"):
        compiled(calling_twice(24))


@pytest.mark.parametrize("depth", [2, 6])
def test_branches_of_other_ranks(depth):
    exe = compiled(other_ranks(depth))
    x = ramp(3, 8)
    for bits in (0, 1, (1 << depth) - 1, 0b0101 & ((1 << depth) - 1)):
        conds = [np.bool_(bits >> k & 1) for k in range(depth)]
        want = x if all(conds) else np.maximum(x, 0)
        np.testing.assert_allclose(exe(x, *conds)[0], want.sum(dtype=np.float64), rtol=1e-5)


# ---- attributes that name more than exists


def one(op, inputs, opset=20, outputs=1, **attributes):
    g = Graph()
    names = [name for name, _, _ in inputs]
    made = g(op, *names, outputs=outputs, name="y", **attributes)
    made = [made] if outputs == 1 else made
    return g.model(inputs, [(name, F32 if k == 0 else I64, None) for k, name in enumerate(made)], opset)


@pytest.mark.parametrize("count", [-1, 0, 3, 2**31, 2**62])
def test_split_has_as_many_parts_as_outputs(count):
    with pytest.raises(pliant.CompileError, match="num_outputs"):
        compiled(one("Split", [("x", F32, ["n"])], outputs=2, num_outputs=count))


@pytest.mark.parametrize("size", [3, 7, 301, 10**9, 2**62])
@pytest.mark.parametrize("channels", [5, "c"])
def test_local_response_normalisation_over_more_channels_than_there_are(size, channels):
    exe = compiled(one("LRN", [("x", F32, ["n", channels, "h"])], size=size, alpha=0.7 * size, beta=0.5, bias=1.5))
    x = ramp(2, 5, 3)
    before, after = (size - 1) // 2, size - 1 - (size - 1) // 2
    sums = np.stack([(x[:, max(0, k - before) : min(5, k + after + 1)] ** 2).sum(1) for k in range(5)], 1)
    np.testing.assert_allclose(exe(x)[0], x / np.sqrt(1.5 + np.float32(0.7) * sums), rtol=1e-5)


def pooled(x, kernel, stride, pad, reduce):
    size = (x.shape[2] + 2 * pad - kernel) // stride + 1
    out = []
    for o in range(size):
        first = o * stride - pad
        out.append(reduce(x[:, :, max(0, first) : max(0, min(x.shape[2], first + kernel))]))
    return np.stack(out, 2)


@pytest.mark.parametrize(
    "kernel, stride, pad", [(300, 1, 299), (300, 7, 150), (2**31, 2**31 - 5, 2**31 - 1), (2**31, 2**31, 2**30), (2**40, 2**40, 2**39)]
)
def test_windows_far_larger_than_the_input(kernel, stride, pad):
    x = ramp(1, 2, 11) + np.float32(2)
    attributes = dict(kernel_shape=[kernel], strides=[stride], pads=[pad, pad])
    size = (11 + 2 * pad - kernel) // stride + 1
    spans = [(max(0, o * stride - pad), max(0, min(11, o * stride - pad + kernel))) for o in range(size)]
    full = all(a < b for a, b in spans)
    if full:
        most = compiled(one("MaxPool", [("x", F32, [1, 2, "n"])], **attributes))(x)[0]
        np.testing.assert_array_equal(most, pooled(x, kernel, stride, pad, lambda v: v.max(2)))
        mean = compiled(one("AveragePool", [("x", F32, [1, 2, "n"])], **attributes))(x)[0]
        np.testing.assert_allclose(mean, pooled(x, kernel, stride, pad, lambda v: v.mean(2)), rtol=1e-5)
        y, at = compiled(one("MaxPool", [("x", F32, [1, 2, "n"])], outputs=2, **attributes))(x)
        np.testing.assert_array_equal(np.take(x.ravel(), at), y)
    norm = compiled(one("LpPool", [("x", F32, [1, 2, "n"])], p=2, **attributes))(x)[0]
    np.testing.assert_allclose(norm, pooled(x, kernel, stride, pad, lambda v: np.sqrt((v**2).sum(2))), rtol=1e-5)


# ---- axes from inputs

AXES = [(0,), (-1,), (1, 3), (2, 0, -1), (0, 1, 2, 3), ()]


@pytest.mark.parametrize(
    "op, function", [("ReduceSum", np.sum), ("ReduceMax", np.max), ("ReduceMean", np.mean), ("ReduceProd", np.prod)]
)
@pytest.mark.parametrize("keep", [0, 1])
def test_axes_to_reduce_from_an_input(op, function, keep):
    x = ramp(2, 3, 4, 5) + np.float32(1)
    for count in ("m", 2):
        exe = compiled(one(op, [("x", F32, ["a", "b", "c", "d"]), ("axes", I64, [count])], keepdims=keep))
        for axes in AXES:
            if count == "m" or len(axes) == count:
                want = function(x, axis=axes or None, keepdims=bool(keep))
                np.testing.assert_allclose(exe(x, np.array(axes, np.int64))[0], want, rtol=1e-5)


def test_axes_to_reduce_must_differ_and_exist():
    exe = compiled(one("ReduceSum", [("x", F32, ["a", "b", "c"]), ("axes", I64, ["m"])], keepdims=1))
    with pytest.raises(pliant.RunError, match="differ"):
        exe(ramp(2, 3, 4), np.array([1, -2], np.int64))
    with pytest.raises(pliant.RunError, match="out of range"):
        exe(ramp(2, 3, 4), np.array([3], np.int64))


def test_unsqueezed_and_reduced_along_axes_from_inputs():
    exe = compiled(BOMBS["axes_that_are_inputs"]())
    x = ramp(2, 3, 4)
    for where, axes in (((0, 1), (1, 3)), ((1, -1), (0, 2)), ((2, 4), (-1, 1))):
        shape = list(x.shape)
        for a in sorted(w % (3 + len(where)) for w in where):
            shape.insert(a, 1)
        want = x.reshape(shape).sum(axis=axes)
        np.testing.assert_allclose(exe(x, np.array(where, np.int64), np.array(axes, np.int64))[0], want, rtol=1e-5)


# ---- shapes that are not what an operator takes


def test_a_new_shape_has_a_most_rank():
    with pytest.raises(pliant.CompileError, match="60 axes"):
        compiled(one("Reshape", [("x", F32, ["n"]), ("shape", I64, [60])]))
