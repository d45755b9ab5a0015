"""Values that only a run brings and that cannot be: each is refused with the node's name and the sizes, and nothing is left behind."""
import re

import numpy as np
import pytest
from onnx import TensorProto

import models
import pliant

F32, I64 = models.F32, models.I64
HUGE = 2**62


def i64(*values):
    return np.array(values, np.int64)


def ones(*shape):
    return np.ones(shape, np.float32)


def sort(g, x):
    g("TopK", x, g.constant(i64(1)), outputs=2, name="y", axis=0)


def one(op, *inputs, **attributes):
    return lambda g: g(op, *inputs, name="y", **attributes)


X = ("x", F32, ["n", "m"])
S = ("s", I64, [2])
# Inputs, the model, what works, and what is refused with which message.
CASES = {
    "reshape": (
        [X, S], one("Reshape", "x", "s"), {"x": ones(4, 6), "s": i64(8, 3)},
        [
            ({"s": i64(5, 5)}, r"the elements of \[n, m\] and of its new shape \[.*\]: 24 and 25 are different"),
            ({"s": i64(-1, 5)}, "24 and 20 are different"),
            ({"s": i64(-1, -1)}, "2 sizes to infer"),
            ({"s": i64(-2, 12)}, "size -2 of the new shape is negative"),
            ({"s": i64(HUGE + 6, 4)}, "are different|negative"),
        ],
    ),
    "reshape_allowzero": (
        [X, S], one("Reshape", "x", "s", allowzero=1), {"x": ones(0, 6), "s": i64(0, 9)},
        [({"s": i64(0, -1)}, "a size 0 cannot have one to infer"), ({"s": i64(-1, 0)}, "a size 0 cannot have one to infer")],
    ),
    "expand": (
        [X, S], one("Expand", "x", "s"), {"x": ones(3, 1), "s": i64(3, 2)},
        [({"s": i64(4, 2)}, "size 4 of axis -2 does not broadcast to 3"), ({"s": i64(3, -1)}, "one size is -1")],
    ),
    "tile": (
        [X, S], one("Tile", "x", "s"), {"x": ones(4, 2), "s": i64(1, 2)},
        [
            ({"s": i64(-1, 1)}, "one size is -1"),
            ({"s": i64(HUGE, 1)}, "too large"),
            ({"s": i64(HUGE + 1, 1)}, "too large"),
            ({"s": i64(1, 2**63 - 1)}, "too large"),
        ],
    ),
    "constant_of_shape": (
        [S], one("ConstantOfShape", "s"), {"s": i64(2, 0)},
        [
            ({"s": i64(2**32, 2**32)}, "too large"),
            ({"s": i64(0, 2**62)}, "too large"),
            ({"s": i64(-1, 2)}, "one size is -1"),
        ],
    ),
    "constant_of_shape_sorted": (
        [S], lambda g: sort(g, g("ConstantOfShape", "s")), {"s": i64(2, 3)},
        [({"s": i64(2**32, 2**32)}, "too large"), ({"s": i64(HUGE, 4)}, "too large"), ({"s": i64(0, 2)}, "1 is more than 0")],
    ),
    "constant_of_shape_unique": (
        [S], lambda g: g("Unique", g("ConstantOfShape", "s"), outputs=4, name="y"), {"s": i64(2, 3)},
        [({"s": i64(2**32, 2**32)}, "too large"), ({"s": i64(HUGE, 4)}, "too large")],
    ),
    "constant_of_shape_gather": (
        [S], lambda g: g("Gather", g("ConstantOfShape", "s"), g.constant(i64(0, 1)), name="y"), {"s": i64(2, 3)},
        [({"s": i64(2**33, 2**33)}, "too large|no memory")],
    ),
    "expand_matmul": (
        [("x", F32, [1, 1]), S], lambda g: g("MatMul", g("Expand", "x", "s"), g("Transpose", g("Expand", "x", "s")), name="y"),
        {"x": ones(1, 1), "s": i64(2, 3)}, [({"s": i64(2**32, 2**32)}, "too large"), ({"s": i64(2**61, 8)}, "too large")],
    ),
    "resize": (
        [("x", F32, [1, 1, "h", "w"]), ("s", I64, [4])], lambda g: sort(g, g("Resize", "x", "", "", "s")),
        {"x": ones(1, 1, 2, 2), "s": i64(1, 1, 4, 3)},
        [({"s": i64(1, 1, 2**32, 2**32)}, "too large"), ({"s": i64(1, 1, -1, 2)}, "size -1 of the result is negative")],
    ),
    "resize_scales": (
        [("x", F32, [1, 1, "h", "w"]), ("s", F32, [4])], one("Resize", "x", "", "s"),
        {"x": ones(1, 1, 2, 2), "s": np.array([1, 1, 1.5, 2], np.float32)},
        [
            ({"s": np.array([1, 1, np.nan, 2], np.float32)}, "the scale of axis 2 is negative or no number"),
            ({"s": np.array([1, 1, 2, -1], np.float32)}, "the scale of axis 3 is negative or no number"),
            ({"s": np.array([1, 1, np.inf, 2], np.float32)}, "too large"),
        ],
    ),
    "pad": (
        [X, ("s", I64, [4])], one("Pad", "x", "s"), {"x": ones(3, 2), "s": i64(1, 0, -1, 2)},
        [({"s": i64(2**63 - 1, 0, 2**63 - 1, 0)}, "too large"), ({"s": i64(HUGE, 0, 0, 0)}, "too large")],
    ),
    "range": (
        [("a", F32, []), ("b", F32, []), ("c", F32, [])], one("Range", "a", "b", "c"),
        {"a": np.float32(0), "b": np.float32(2), "c": np.float32(0.5)},
        [
            ({"c": np.float32(0)}, "the step must not be 0, and all three must be finite"),
            ({"b": np.float32(0), "c": np.float32(0)}, "the step must not be 0"),
            ({"a": np.float32(np.nan)}, "must be finite"),
            ({"b": np.float32(np.inf)}, "must be finite"),
        ],
    ),
    "range_int": (
        [("a", I64, []), ("b", I64, []), ("c", I64, [])], one("Range", "a", "b", "c"), {"a": i64(0)[0], "b": i64(3)[0], "c": i64(2)[0]},
        [({"c": i64(0)[0]}, "the step must not be 0"), ({"a": i64(-(2**63))[0], "b": i64(2**63 - 1)[0]}, "too large")],
    ),
    "top_k": (
        [X, ("k", I64, [1])], lambda g: g("TopK", "x", "k", outputs=2, name="y"), {"x": ones(2, 4), "k": i64(4)},
        [({"k": i64(5)}, "5 is more than 4"), ({"k": i64(-1)}, "the number of elements asked for: -1 is negative")],
    ),
    "split": (
        [X, S], lambda g: g("Split", "x", "s", outputs=2, name="y"), {"x": ones(5, 2), "s": i64(5, 0)},
        [({"s": i64(2, 2)}, "4 and 5 are different"), ({"s": i64(6, -1)}, "the size of a part: -1 is negative")],
    ),
    "one_hot": (
        [("x", I64, ["n"]), ("d", I64, [])], lambda g: g("OneHot", "x", "d", g.constant(np.array([0, 1], np.float32)), name="y"),
        {"x": i64(0, 1), "d": i64(2)[0]}, [({"d": i64(-1)[0]}, "the depth: -1 is negative"), ({"d": i64(HUGE)[0]}, "too large")],
    ),
    "squeeze": (
        [("x", F32, ["n", 1, "m"]), ("a", I64, [1])], one("Squeeze", "x", "a"), {"x": ones(2, 1, 3), "a": i64(-2)},
        [({"a": i64(0)}, "must have size 1, but of 6 elements the other axes hold 3"), ({"a": i64(3)}, "out of range")],
    ),
    "unsqueeze": (
        [X, ("a", I64, [2])], one("Unsqueeze", "x", "a"), {"x": ones(2, 3), "a": i64(0, -1)},
        [({"a": i64(0, 0)}, "the axes to add must be different"), ({"a": i64(0, 4)}, "out of range")],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_refused(name):
    inputs, build, good, bad = CASES[name]
    g = models.Graph()
    build(g)
    outputs = [o for n in g.nodes for o in n.output if o.startswith("y")]
    exe = pliant.compile(g.model(inputs, [(o, TensorProto.UNDEFINED, None) for o in outputs], opset=19), progress=False)
    want = exe.run(good)
    for feed, message in bad:
        with pytest.raises(pliant.Error) as error:
            exe.run({**good, **feed})
        assert re.search(message, str(error.value)), str(error.value)
        for output, value in exe.run(good).items():
            np.testing.assert_array_equal(value, want[output])
