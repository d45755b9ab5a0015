"""Operators that read their input at computed positions, one compilation for many shapes, beside direct evaluation."""

import itertools

import numpy as np
import pytest
from onnx import helper, numpy_helper

import models
import pliant

F32, I64 = models.F32, models.I64


def compiled(op, inputs, order, opset=20, target="native", **attributes):
    infos = []
    for name, dtype, rank, shape in inputs:
        infos.append(helper.make_tensor_value_info(name, dtype, shape or [f"{name}{k}" for k in range(rank)]))
    node = helper.make_node(op, order, ["y"], **attributes)
    graph = helper.make_graph([node], "g", infos, [helper.make_empty_tensor_value_info("y")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=9)
    return pliant.compile(model, target=target)


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
        samples = [ratio or int(np.ceil(step)) for step in steps]
        places = itertools.product(range(x.shape[1]), range(bins[0]), range(bins[1]))
        for c, i, j in places:
            for s, t in itertools.product(*map(range, samples)):
                p, q = y0 + (i + (s + 0.5) / samples[0]) * steps[0], x0 + (j + (t + 0.5) / samples[1]) * steps[1]
                y[r, c, i, j] += sample(x[batches[r], c], p, q) / np.prod(samples)
    return y


@pytest.mark.parametrize("bins, ratio", [((7, 7), 2), ((1, 3), 1), ((2, 5), 3), ((2, 3), 0), ((7, 7), 0)])
def test_roi_align_with_known_samples_and_as_many_as_elements(bins, ratio):
    inputs = [("x", F32, 4, None), ("r", F32, 2, None), ("b", I64, 1, ["n"])]
    sizes = {"output_height": bins[0], "output_width": bins[1]}
    exe = compiled("RoiAlign", inputs, ["x", "r", "b"], sampling_ratio=ratio, **sizes)
    rng = np.random.default_rng(ratio)
    for shape, n in [((2, 5, 9, 11), 4), ((1, 1, 8, 9), 2), ((1, 3, 20, 6), 0), ((1, 40, 8, 8), 3), ((1, 0, 8, 8), 1)]:
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


def max_roi_pool(x, regions, bins, scale):
    y = np.zeros((len(regions), x.shape[1], *bins), x.dtype)
    for r, region in enumerate(regions):
        corners = np.floor(region[1:].astype(np.float32) * np.float32(scale) + 0.5).astype(int)
        start, end = corners[[1, 0]], corners[[3, 2]]
        sizes = np.maximum(end - start + 1, 1)
        for i, j in itertools.product(*map(range, bins)):
            low = [start[k] + (n * sizes[k]) // bins[k] for k, n in enumerate((i, j))]
            high = [start[k] - (-(n + 1) * sizes[k]) // bins[k] for k, n in enumerate((i, j))]
            (t, left), (b, right) = (np.clip(v, 0, x.shape[2:]) for v in (low, high))
            part = x[int(region[0]), :, t:b, left:right]
            y[r, :, i, j] = part.max((1, 2)) if part.size else 0
    return y


def sampled(x, grid, mode, padding):
    """GridSample in f64, without aligned corners."""
    sizes = x.shape[2:]
    at = [((grid[..., k].astype(np.float64) + 1) * n - 1) / 2 for k, n in zip(reversed(range(len(sizes))), sizes)]
    out = np.zeros((*x.shape[:2], *grid.shape[1:-1]))
    image = np.arange(x.shape[0]).reshape([-1] + [1] * len(sizes))
    corners = itertools.product([0, 1], repeat=len(sizes)) if mode == "linear" else [(0,) * len(sizes)]
    for corner in corners:
        weight, inside, places = 1.0, True, []
        for position, side, n in zip(at, corner, sizes):
            place = np.floor(position) + side if mode == "linear" else np.rint(position)
            weight = weight * (1 - np.abs(position - place)) if mode == "linear" else weight
            inside = inside & (place >= 0) & (place < n) if padding == "zeros" else inside
            places.append(np.clip(place, 0, n - 1).astype(int))
        values = np.moveaxis(x, 1, -1)[(image, *places)]
        out += np.moveaxis(values * (weight * inside * np.ones(image.shape))[..., None], -1, 1)
    return out


@pytest.mark.parametrize("target", ["native", "x86-64-v3"])
@pytest.mark.parametrize("space", [2, 3])
@pytest.mark.parametrize("mode, padding", [("linear", "zeros"), ("nearest", "zeros"), ("linear", "border")])
def test_grid_sample_of_any_number_of_channels(mode, padding, space, target):
    """Places are found once for a few channels: counts around a multiple of those, and widths around a vector's."""
    exe = compiled("GridSample", [("x", F32, space + 2, None), ("g", F32, space + 2, ["n", "a", "b", "c"][: space + 1] + [space])],
                   ["x", "g"], target=target, mode=mode, padding_mode=padding)
    rng = np.random.default_rng(space)
    for channels, width in [(1, 9), (3, 1), (7, 16), (8, 8), (9, 33), (17, 7), (0, 4), (5, 0)]:
        x = rng.standard_normal((2, channels, *[4, 5, 3][:space])).astype(np.float32)
        grid = rng.uniform(-1.3, 1.3, (2, *[3, 2][: space - 1], width, space)).astype(np.float32)
        (y,) = exe.run({"x": x, "g": grid}).values()
        want = sampled(x, grid, mode, padding)
        assert y.shape == want.shape
        np.testing.assert_allclose(y, want, rtol=1e-4, atol=1e-5, err_msg=f"{channels} {width}")


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("bins, scale", [((7, 7), 1.0), ((1, 1), 0.25), ((2, 130), 0.5), ((3, 1), 4.0)])
def test_max_roi_pool(bins, scale, dtype):
    tensor = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    inputs = [("x", tensor, 4, None), ("r", tensor, 2, ["n", 5])]
    exe = compiled("MaxRoiPool", inputs, ["x", "r"], pooled_shape=bins, spatial_scale=scale)
    rng = np.random.default_rng(0)
    for shape, n in [((2, 3, 40, 70), 6), ((1, 1, 1, 1), 3), ((3, 2, 5, 9), 4), ((1, 3, 20, 6), 0), ((2, 0, 4, 4), 2)]:
        x = rng.standard_normal(shape).astype(dtype)
        start = rng.integers(-3, 1 + shape[3], (n, 2)) / scale
        regions = [rng.integers(0, shape[0], (n, 1)), start, start + rng.integers(-4, 40, (n, 2)) / scale]
        regions = np.concatenate(regions, 1).astype(dtype)
        (y,) = exe.run({"x": x, "r": regions}).values()
        np.testing.assert_array_equal(y, max_roi_pool(x, regions, bins, scale))


def deform_conv(x, w, offset, bias, mask, strides, dilations, pads, group, offset_group):
    n, channels, height, width = x.shape
    kh, kw = w.shape[2:]
    oh, ow = offset.shape[2:]
    shifts = offset.reshape(n, offset_group, kh * kw, 2, oh, ow)
    masks = np.ones((n, offset_group, kh * kw, oh, ow)) if mask is None else mask.reshape(n, offset_group, kh * kw, oh, ow)
    taps = np.zeros((n, channels, kh * kw, oh, ow))
    for b, c, k, i, j in itertools.product(range(n), range(channels), range(kh * kw), range(oh), range(ow)):
        g = c * offset_group // channels
        at = np.array([i, j]) * strides - pads[:2] + np.array(divmod(k, kw)) * dilations + shifts[b, g, k, :, i, j]
        low = np.floor(at).astype(int)
        for step in itertools.product((0, 1), repeat=2):
            p = low + step
            if (p >= 0).all() and (p < (height, width)).all():
                share = np.prod(np.where(step, at - low, 1 - (at - low)))
                taps[b, c, k, i, j] += share * x[b, c, p[0], p[1]]
        taps[b, c, k, i, j] *= masks[b, g, k, i, j]
    grouped = taps.reshape(n, group, channels // group, kh * kw, oh, ow)
    weights = w.reshape(group, w.shape[0] // group, w.shape[1], kh * kw)
    y = np.einsum("bgckhw,gock->bgohw", grouped, weights).reshape(n, w.shape[0], oh, ow)
    return y if bias is None else y + bias[:, None, None]


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("group, offset_group, masked", [(1, 1, False), (2, 2, True), (1, 3, True), (3, 2, False)])
def test_deform_conv(group, offset_group, masked, known):
    channels, kernel, strides, dilations, pads = 6, (3, 2), (1, 2), (2, 1), (1, 0, 2, 1)
    rng = np.random.default_rng(group)
    w = rng.standard_normal((group * 2, channels // group, *kernel)).astype(np.float32)
    bias = rng.standard_normal(len(w)).astype(np.float32)
    inputs = [("x", F32, 4, ["n", channels, "h", "w"]), ("o", F32, 4, ["n", 2 * 6 * offset_group, "i", "j"])]
    inputs += [("m", F32, 4, ["n", 6 * offset_group, "i", "j"])] if masked else []
    inputs += [] if known else [("w", F32, 4, w.shape), ("b", F32, 1, bias.shape)]
    infos = [helper.make_tensor_value_info(name, dtype, shape) for name, dtype, _, shape in inputs]
    attributes = {"strides": strides, "dilations": dilations, "pads": pads, "group": group, "offset_group": offset_group}
    node = helper.make_node("DeformConv", ["x", "w", "o", "b", "m" if masked else ""], ["y"], **attributes)
    weights = [numpy_helper.from_array(w, "w"), numpy_helper.from_array(bias, "b")] if known else []
    graph = helper.make_graph([node], "g", infos, [helper.make_empty_tensor_value_info("y")], weights)
    exe = pliant.compile(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=9))
    for n, height, width in [(1, 7, 9), (2, 5, 4), (0, 6, 6), (1, 4, 33)]:
        out = (height + 3 - 5) // 1 + 1, (width + 1 - 2) // 2 + 1
        feeds = {"x": rng.standard_normal((n, channels, height, width)).astype(np.float32)}
        feeds["o"] = (rng.standard_normal((n, 12 * offset_group, *out)) * 2).astype(np.float32)
        feeds["o"][..., :1] = np.round(feeds["o"][..., :1])
        if masked:
            feeds["m"] = rng.random((n, 6 * offset_group, *out)).astype(np.float32)
        if not known:
            feeds.update(w=w, b=bias)
        (y,) = exe.run(feeds).values()
        expected = deform_conv(feeds["x"], w, feeds["o"], bias, feeds.get("m"), strides, dilations, pads, group, offset_group)
        np.testing.assert_allclose(y, expected, rtol=1e-4, atol=1e-4)


def test_deform_conv_ignores_what_lies_outside():
    inputs = [("x", F32, 4, None), ("w", F32, 4, [1, 1, 1, 1]), ("o", F32, 4, None)]
    exe = compiled("DeformConv", inputs, ["x", "w", "o"])
    x = np.array([[[[np.inf, 2.0, 3.0]]]], np.float32)
    offset = np.zeros((1, 2, 1, 3), np.float32)
    offset[0, 0] = [[9, np.nan, np.inf]]
    (y,) = exe.run({"x": x, "w": np.ones((1, 1, 1, 1), np.float32), "o": offset}).values()
    np.testing.assert_array_equal(y, np.zeros((1, 1, 1, 3)))


@pytest.mark.parametrize("corners", [0, 1])
@pytest.mark.parametrize("space", [2, 3])
def test_affine_grid(space, corners):
    inputs = [("t", F32, 3, ["n", space, space + 1]), ("s", I64, 1, [space + 2])]
    exe = compiled("AffineGrid", inputs, ["t", "s"], align_corners=corners)
    rng = np.random.default_rng(0)
    for sizes in [(2, 3, 4, 5, 33), (1, 1, 2, 3, 16), (0, 1, 2, 2, 2), (3, 1, 1 + corners, 2, 7)]:
        sizes = sizes[:2] + sizes[-space:]
        theta = rng.standard_normal((sizes[0], space, space + 1)).astype(np.float32)
        at = [np.linspace(-1, 1, n) if corners else (np.arange(n) * 2 + 1) / n - 1 for n in sizes[2:]]
        points = np.stack([*np.meshgrid(*at, indexing="ij")[::-1], np.ones(sizes[2:])], -1)
        expected = np.einsum("nij,...j->n...i", theta, points)
        (y,) = exe.run({"t": theta, "s": np.array(sizes, np.int64)}).values()
        np.testing.assert_allclose(y, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("channels", [2, 3, 4])
@pytest.mark.parametrize("dtype", [np.uint8, np.float16, np.float32, np.float64, np.bool_])
def test_few_channels_beside_each_other(channels, dtype):
    tensor = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    inputs = [("x", tensor, 3, ["h", "w", channels]), ("z", tensor, 3, ["h", 1, channels])]
    infos = [helper.make_tensor_value_info(name, kind, shape) for name, kind, _, shape in inputs]
    node = helper.make_node("Xor" if dtype == np.bool_ else "Add", ["x", "z"], ["y"])
    graph = helper.make_graph([node], "g", infos, [helper.make_empty_tensor_value_info("y")])
    exe = pliant.compile(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9))
    rng = np.random.default_rng(0)
    for height, width in [(3, 64), (2, 65), (1, 7), (2, 0), (0, 40), (5, 130)]:
        x, z = (rng.integers(0, 2 if dtype == np.bool_ else 99, (height, n, channels)).astype(dtype) for n in (width, 1))
        (y,) = exe.run({"x": x, "z": z}).values()
        np.testing.assert_array_equal(y, x ^ z if dtype == np.bool_ else x + z)


def cropping(roi_shape, present=True):
    node = helper.make_node("Resize", ["x", "roi" if present else "", "", "sizes"], ["y"], mode="linear",
                            coordinate_transformation_mode="tf_crop_and_resize")
    infos = [helper.make_tensor_value_info("x", F32, ["h", "w"])]
    if present:
        infos.append(helper.make_tensor_value_info("roi", F32, roi_shape))
    graph = helper.make_graph([node], "g", infos, [helper.make_empty_tensor_value_info("y")],
                              [numpy_helper.from_array(np.array([2, 2]), "sizes")])
    return pliant.compile(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=9))


def test_a_crop_says_what_of_each_axis():
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    exe = cropping(["r"])
    np.testing.assert_allclose(exe(x, np.array([0, 0, 1, 1], np.float32))[0], [[0, 3], [8, 11]])
    for length in (0, 3, 5):
        with pytest.raises(pliant.Error, match="axis 0 is . but 4 is expected"):
            exe(x, np.zeros(length, np.float32))
    with pytest.raises(pliant.CompileError, match="cropped"):
        cropping(None, present=False)
    for shape in ([2, 2], []):
        with pytest.raises(pliant.CompileError, match="cropped"):
            cropping(shape)
