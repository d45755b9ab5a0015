"""Operators that read their input at computed positions, one compilation for many shapes, beside direct evaluation."""

import itertools

import numpy as np
import pytest
from onnx import helper

import models
import pliant

F32, I64 = models.F32, models.I64


def compiled(op, inputs, order, opset=20, **attributes):
    infos = []
    for name, dtype, rank, shape in inputs:
        infos.append(helper.make_tensor_value_info(name, dtype, shape or [f"{name}{k}" for k in range(rank)]))
    node = helper.make_node(op, order, ["y"], **attributes)
    graph = helper.make_graph([node], "g", infos, [helper.make_empty_tensor_value_info("y")])
    return pliant.compile(helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=9))


def linear_along(x, axis, size):
    """Half-pixel linear resampling of one axis, in f64."""
    n = x.shape[axis]
    at = (np.arange(size) + 0.5) * n / size - 0.5
    low = np.floor(at).astype(int)
    share = (at - low).reshape([-1 if k == axis else 1 for k in range(x.ndim)])
    near, far = (np.take(x, np.clip(low + k, 0, n - 1), axis) for k in (0, 1))
    return near * (1 - share) + far * share


RESIZES = [
    ((2, 3, 5, 7), (2, 3, 9, 40)),
    ((2, 3, 16, 33), (2, 3, 8, 17)),
    ((2, 3, 5, 7), (2, 3, 5, 7)),
    ((2, 3, 5, 7), (4, 3, 6, 7)),
    ((2, 3, 5, 7), (2, 2, 5, 9)),
    ((1, 1, 1, 1), (1, 1, 3, 65)),
    ((0, 3, 5, 7), (0, 3, 4, 4)),
]


def test_linear_resize_with_sizes_of_the_run():
    exe = compiled("Resize", [("x", F32, 4, None), ("s", I64, 1, [4])], ["x", "", "", "s"], mode="linear")
    rng = np.random.default_rng(0)
    for shape, sizes in RESIZES:
        x = rng.standard_normal(shape).astype(np.float32)
        expected = x.astype(np.float64)
        for axis, size in enumerate(sizes):
            expected = linear_along(expected, axis, size)
        (y,) = exe.run({"x": x, "s": np.array(sizes, np.int64)}).values()
        assert y.shape == sizes
        np.testing.assert_allclose(y, expected, rtol=1e-5, atol=1e-5)


def test_batches_that_keep_their_size_do_not_mix():
    exe = compiled("Resize", [("x", F32, 4, None), ("s", I64, 1, [4])], ["x", "", "", "s"], mode="linear")
    x = np.ones((3, 2, 4, 4), np.float32)
    x[1] = np.inf
    (y,) = exe.run({"x": x, "s": np.array([3, 2, 6, 6], np.int64)}).values()
    assert (y[[0, 2]] == 1).all()


@pytest.mark.parametrize("factor", [2, 3, 4, 5])
def test_nearest_resize_by_a_whole_factor(factor):
    g = models.Graph()
    scales = g.constant(np.array([1, 1, factor, factor], np.float32))
    attributes = {"mode": "nearest", "coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
    g("Resize", "x", "", scales, name="y", **attributes)
    exe = pliant.compile(g.model([("x", F32, ["b", "c", "h", "w"])], [("y", F32, ["b", "c", "u", "v"])], opset=18))
    rng = np.random.default_rng(factor)
    for shape in [(1, 2, 3, 40), (2, 1, 5, 1), (1, 1, 1, 17), (1, 0, 3, 4), (1, 3, 16, 16)]:
        x = rng.standard_normal(shape).astype(np.float32)
        (y,) = exe.run({"x": x}).values()
        np.testing.assert_array_equal(y, x.repeat(factor, 2).repeat(factor, 3))


def roi_align(x, regions, batches, bins, ratio):
    def sample(plane, p, q):
        if not (-1 <= p <= plane.shape[0] and -1 <= q <= plane.shape[1]):
            return 0.0
        p, q = (min(max(v, 0), n - 1) for v, n in zip((p, q), plane.shape))
        low = int(p), int(q)
        high = [min(v + 1, n - 1) for v, n in zip(low, plane.shape)]
        a, b = p - low[0], q - low[1]
        top = plane[low[0], low[1]] * (1 - b) + plane[low[0], high[1]] * b
        return top * (1 - a) + (plane[high[0], low[1]] * (1 - b) + plane[high[0], high[1]] * b) * a

    y = np.zeros((len(regions), x.shape[1], *bins))
    for r, (x0, y0, x1, y1) in enumerate(regions.astype(np.float64) - 0.5):
        steps = (y1 - y0) / bins[0], (x1 - x0) / bins[1]
        places = itertools.product(range(x.shape[1]), range(bins[0]), range(bins[1]))
        for c, i, j in places:
            for s, t in itertools.product(range(ratio), repeat=2):
                p, q = y0 + (i + (s + 0.5) / ratio) * steps[0], x0 + (j + (t + 0.5) / ratio) * steps[1]
                y[r, c, i, j] += sample(x[batches[r], c], p, q) / ratio**2
    return y


@pytest.mark.parametrize("bins, ratio", [((7, 7), 2), ((1, 3), 1), ((2, 5), 3)])
def test_roi_align_with_a_known_number_of_samples(bins, ratio):
    inputs = [("x", F32, 4, None), ("r", F32, 2, None), ("b", I64, 1, ["n"])]
    sizes = {"output_height": bins[0], "output_width": bins[1]}
    exe = compiled("RoiAlign", inputs, ["x", "r", "b"], sampling_ratio=ratio, **sizes)
    rng = np.random.default_rng(ratio)
    for shape, n in [((2, 5, 9, 11), 4), ((1, 1, 1, 3), 2), ((1, 3, 20, 6), 0)]:
        x = rng.standard_normal(shape).astype(np.float32)
        start = rng.uniform(-2, 6, (n, 2))
        regions = np.concatenate([start, start + rng.uniform(0.1, 8, (n, 2))], 1).astype(np.float32)
        batches = rng.integers(0, shape[0], n)
        (y,) = exe.run({"x": x, "r": regions, "b": batches}).values()
        np.testing.assert_allclose(y, roi_align(x, regions, batches, bins, ratio), rtol=1e-4, atol=1e-4)


def test_grid_sample_outside_reads_nothing():
    exe = compiled("GridSample", [("x", F32, 4, None), ("g", F32, 4, None)], ["x", "g"], align_corners=1)
    x = np.full((1, 3, 2, 2), np.inf, np.float32)
    x[0, :, 1, 1] = [1, 2, 3]
    grid = np.full((1, 1, 33, 2), 5, np.float32)  # beyond the border
    grid[0, 0, 7] = [1, 1]  # the last pixel, whose neighbours lie outside
    (y,) = exe.run({"x": x, "g": grid}).values()
    expected = np.zeros((1, 3, 1, 33), np.float32)
    expected[0, :, 0, 7] = [1, 2, 3]
    np.testing.assert_array_equal(y, expected)
