"""Random slices beside numpy: bounds, axes and steps from inputs or fixed, over every rank and type, alone and among what is
fused with them. `PLIANT_SLICES` sets how many are tried."""
import os

import numpy as np
import pliant
import pytest
from models import Graph, I64
from onnx import TensorProto, helper

COUNT = int(os.environ.get("PLIANT_SLICES", "1600"))
TYPES = [np.float32, np.int64, np.uint8, np.float16, np.bool_, np.float64, np.int32]
SIZES = [0, 1, 1, 1, 2, 3, 5, 8, 16, 17, 33]
BOUNDS = [0, 1, 2, 5, 16, -1, -2, -17, 100, -100, 2**31, -(2**62), 2**63 - 1, -(2**63)]
STEPS = [1, 1, 2, 3, 5, -1, -1, -2, -3, 40, -100, 2**63 - 1, -(2**63)]
AROUND = ["", "add", "broadcast", "pair", "reduce", "cast"]
RUNS = 16  # of each model


def positions(n, start, end, step):
    """What Python's slice takes of an axis of n elements; numbers beyond what numpy's indices hold act as the nearest do."""
    far = 2**40
    start, end, step = (int(np.clip(v, -far, far)) for v in (start, end, step))
    return np.arange(n)[slice(start, end, step)]


def taken(x, starts, ends, axes, steps):
    for start, end, axis, step in zip(starts, ends, axes, steps):
        x = np.take(x, positions(x.shape[axis], start, end, step), axis)
    return x


class Case:
    """A model of one slice, and what goes with it."""

    def __init__(self, rng):
        self.rng = rng
        self.rank = int(rng.integers(1, 5))
        self.dtype = TYPES[rng.integers(len(TYPES))]
        self.around = AROUND[rng.integers(len(AROUND))]
        self.fixed_axes, self.fixed_steps, self.fixed_bounds = (bool(b) for b in rng.random(3) < (0.5, 0.4, 0.15))
        self.count = int(rng.integers(1, self.rank + 1))
        self.axes = rng.permutation(self.rank)[:self.count]
        self.steps = self.pick(STEPS)
        self.bounds = [self.pick(BOUNDS), self.pick(BOUNDS)]
        # An axis of one element is where strides vanish.
        self.shape = [int(rng.choice([1, 4])) if rng.random() < 0.25 else f"d{k}" for k in range(self.rank)]
        if self.dtype == np.bool_ and self.around in ("add", "broadcast", "pair", "reduce"):
            self.around = ""
        self.options = {"opt_level": int(rng.integers(0, 4)), "target": str(rng.choice(["native", "x86-64-v3"]))}

    def pick(self, values):
        return [int(values[self.rng.integers(len(values))]) for _ in range(self.count)]

    def model(self):
        t = helper.np_dtype_to_tensor_dtype(np.dtype(self.dtype))
        g = Graph()
        inputs = [("x", t, self.shape)]

        def bound(name, fixed, values):
            if fixed:
                return g.constant(np.array(values, np.int64))
            inputs.append((name, I64, [self.count if self.fixed_axes else "k"]))
            return name
        s = g("Slice", "x", bound("starts", self.fixed_bounds, self.bounds[0]), bound("ends", self.fixed_bounds, self.bounds[1]),
              bound("axes", self.fixed_axes, self.axes), bound("steps", self.fixed_steps, self.steps), name="y" if not self.around else "s")
        if self.around == "add":
            g("Add", s, s, name="y")
        elif self.around == "broadcast":
            inputs.append(("row", t, ["r"]))
            g("Add", s, "row", name="y")
        elif self.around == "pair":
            g("Concat", s, g("Add", s, s), axis=0, name="y")
        elif self.around == "reduce":
            g("ReduceMax" if self.dtype not in (np.bool_,) else "Identity", s, axes=[self.rank - 1], keepdims=0, name="y")
        elif self.around == "cast":
            g("Cast", s, to=TensorProto.FLOAT, name="y")
        y = TensorProto.FLOAT if self.around == "cast" else t
        return g.model(inputs, [("y", y, None)])

    def feeds(self):
        rng = self.rng
        sizes = [d if isinstance(d, int) else int(rng.choice(SIZES)) for d in self.shape]
        if np.prod(sizes) > 60000:
            sizes = [min(s, 8) for s in sizes]
        x = rng.integers(0, 2, sizes).astype(self.dtype) if self.dtype == np.bool_ else rng.integers(0, 100, sizes).astype(self.dtype)
        axes = self.axes if self.fixed_axes else rng.permutation(self.rank)[:self.count]
        steps = self.steps if self.fixed_steps else self.pick(STEPS)
        starts, ends = self.bounds if self.fixed_bounds else (self.pick(BOUNDS), self.pick(BOUNDS))
        if not self.fixed_bounds and rng.random() < 0.5:  # the whole axis
            starts = [0 if s > 0 else -1 for s in steps]
            ends = [2**63 - 1 if s > 0 else -(2**63) for s in steps]
        axes = axes - self.rank * rng.integers(0, 2, self.count)
        y = taken(x, starts, ends, axes, steps)
        feeds = {"x": x, "starts": np.array(starts, np.int64), "ends": np.array(ends, np.int64), "axes": np.array(axes, np.int64),
                 "steps": np.array(steps, np.int64)}
        row = None
        if self.around == "broadcast":
            row = rng.integers(0, 9, 1 if rng.random() < 0.5 else y.shape[-1]).astype(self.dtype)
            feeds["row"] = row
        return feeds, y, row

    def want(self, y, row):
        if self.around == "add":
            return y + y
        if self.around == "broadcast":
            return y + row
        if self.around == "pair":
            return np.concatenate([y, y + y])
        if self.around == "reduce":
            low = 0 if self.dtype == np.uint8 else -np.inf if np.dtype(self.dtype).kind == "f" else np.iinfo(self.dtype).min
            return y.max(-1, initial=low)
        return y.astype(np.float32) if self.around == "cast" else y


def check(seed):
    rng = np.random.default_rng(seed)
    case = Case(rng)
    exe = pliant.compile(case.model(), **case.options)
    known = {i.name for i in exe.inputs}
    for _ in range(RUNS):
        feeds, y, row = case.feeds()
        got = exe.run({n: v for n, v in feeds.items() if n in known})["y"]
        np.testing.assert_array_equal(got, case.want(y, row), err_msg=f"seed {seed} {case.around} {case.shape} {case.options} {feeds}")


@pytest.mark.parametrize("part", range(4))
def test_random_slices(part):
    for seed in range(part, COUNT // RUNS, 4):
        check(seed)


@pytest.mark.parametrize("steps", [(-1, 1), (-2, 1), (-1, -1), (2, -2), (1, -1)], ids=str)
@pytest.mark.parametrize("dtype", TYPES, ids=lambda t: t.__name__)
def test_reversed_columns(dtype, steps):
    """Over [n, 1] with bounds from inputs: strides of 1, -1 and more stand where a run's steps are 0 or 1."""
    t = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    for shape in (["n", 1], ["n", "m"], ["n", 1, 1]):
        g = Graph()
        g("Slice", "x", "starts", "ends", g.constant(np.arange(2)), g.constant(np.array(steps)), name="y")
        exe = pliant.compile(g.model([("x", t, shape), ("starts", I64, [2]), ("ends", I64, [2])], [("y", t, None)]))
        for n in (1, 2, 9, 40):
            x = np.arange(n).astype(dtype).reshape([n if d == "n" else 1 for d in shape])
            feeds = {"x": x, "starts": np.array([-1 if s < 0 else 0 for s in steps]),
                     "ends": np.array([-(2**63) if s < 0 else 2**63 - 1 for s in steps])}
            np.testing.assert_array_equal(exe.run(feeds)["y"], x[tuple(slice(None, None, s) for s in steps)])
