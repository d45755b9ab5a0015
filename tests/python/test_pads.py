"""Pads of every mode, wider than the input, negative (which crop before anything is added) and of no element, beside numpy."""
import numpy as np
import pliant
import pytest
from models import F32, I64, Graph

PADS = [(0, 0), (1, 1), (3, 3), (0, 2), (5, 0), (17, 40), (-1, 2), (3, -2), (-1, -1)]


def cropped_size(size, before, after):
    return size - max(-before, 0) - max(-after, 0)


def padded(x, pads, mode):
    out = x
    for axis, (before, after) in enumerate(pads):
        size = out.shape[axis]
        if mode != "constant":
            begin, size = max(-before, 0), cropped_size(size, before, after)
            out = np.take(out, np.arange(begin, begin + size), axis)
            before, after = max(before, 0), max(after, 0)
        at = np.arange(-before, size + after)
        if mode == "constant":
            part = np.take(out, np.clip(at, 0, max(size - 1, 0)), axis) if size else np.zeros(
                (*out.shape[:axis], len(at), *out.shape[axis + 1:]), x.dtype)
            shape = [1] * x.ndim
            shape[axis] = len(at)
            out = np.where(((at >= 0) & (at < size)).reshape(shape), part, np.float32(7))
            continue
        if mode == "edge":
            at = np.clip(at, 0, size - 1)
        elif mode == "wrap":
            at = at % size
        else:
            period = max(2 * (size - 1), 1)
            at = at % period
            at = np.minimum(at, 2 * (size - 1) - at) if size > 1 else at * 0
        out = np.take(out, at, axis)
    return out


@pytest.mark.parametrize("target", ["native", "x86-64-v3"])
@pytest.mark.parametrize("mode", ["constant", "reflect", "edge", "wrap"])
@pytest.mark.parametrize("known", [False, True])
def test_pads(mode, known, target):
    rng = np.random.default_rng(8)

    def compiled(pads):
        g = Graph()
        value = g.constant(np.float32(7))
        if known:
            pads = g.constant(pads)
            g("Pad", "x", pads, value, name="y", mode=mode)
            return pliant.compile(g.model([("x", F32, ["a", "b"])], [("y", F32, None)], opset=19), target=target)
        g("Pad", "x", "p", value, name="y", mode=mode)
        return pliant.compile(g.model([("x", F32, ["a", "b"]), ("p", I64, [4])], [("y", F32, None)], opset=19),
                              target=target)

    exe = None
    pairs = [(PADS[0], p) for p in PADS] + [(p, PADS[1]) for p in PADS]
    for first, last in pairs[::4] if known else pairs:
        pads = np.array([first[0], last[0], first[1], last[1]], np.int64)
        if known or exe is None:
            exe = compiled(pads)
        for shape in [(3, 5), (2, 33), (5, 100), (4, 3), (3, 16), (0, 4)]:
            left = [cropped_size(size, *p) for size, p in zip(shape, (first, last))]
            nothing = [size <= 0 and max(p) > 0 for size, p in zip(left, (first, last))]
            if min(left) < 0 or (mode != "constant" and any(nothing)):
                continue
            x = rng.standard_normal(shape).astype(np.float32)
            feeds = {"x": x} if known else {"x": x, "p": pads}
            np.testing.assert_array_equal(exe.run(feeds)["y"], padded(x, (first, last), mode), err_msg=f"{shape} {pads}")
