"""Random loops over slices: positions that are carried, limits up to 2^63 - 1 with early stops, values that grow and shrink,
sizes of zero, loops in loops and branches; and what they give, in plain numpy.

    python tests/python/random_loops.py --count 20000 [--first SEED]

runs as many as asked, each natively and as bytecode, with zones around all memory."""

import argparse
import sys
import time

import numpy as np
from onnx import TensorProto, helper, numpy_helper

F32, I64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
MOST = 2**63 - 1
WIDTH = 3
RUNS = 3  # of each model


class Writer:
    """Nodes of one graph or body."""

    def __init__(self, names):
        self.names, self.nodes, self.constants = names, [], []

    def fresh(self):
        self.names[0] += 1
        return f"v{self.names[0]}"

    def constant(self, value, dtype=np.int64):
        name = self.fresh()
        self.constants.append(numpy_helper.from_array(np.array(value, dtype), name))
        return name

    def __call__(self, op, *inputs, outputs=1, **attributes):
        out = [self.fresh() for _ in range(outputs)]
        self.nodes.append(helper.make_node(op, list(inputs), out, **attributes))
        return out[0] if outputs == 1 else out

    def graph(self, name, inputs, outputs):
        infos = [[helper.make_tensor_value_info(n, t, s) for n, t, s in rows] for rows in (inputs, outputs)]
        return helper.make_graph(self.nodes, name, *infos, self.constants)


class Maker:
    """One random model. Matrices are [rows, WIDTH] with any number of rows, also none; positions are i64[1]."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.names = [0]

    def pick(self, *choices):
        return choices[int(self.rng.integers(len(choices)))]

    def chance(self, p):
        return self.rng.random() < p

    def model(self):
        g = Writer(self.names)
        matrices, positions = ["x", "y"], ["s"]
        outputs = []
        for _ in range(self.pick(1, 1, 2)):
            for name, kind in self.loop(g, matrices, positions, 0):
                out = f"out{len(outputs)}"
                g.nodes.append(helper.make_node("Identity", [name], [out]))
                outputs.append((out, I64 if kind == "p" else F32, None))
        inputs = [("x", F32, ["n", WIDTH]), ("y", F32, ["m", WIDTH]), ("s", I64, [1]), ("trip", I64, []), ("stop", I64, [])]
        graph = g.graph("g", inputs, outputs)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 15)], ir_version=8)

    def feed(self):
        rows = [int(self.rng.integers(0, 9)) for _ in range(2)]
        return {
            "x": self.rng.uniform(-1, 1, (rows[0], WIDTH)).astype(np.float32),
            "y": self.rng.uniform(-1, 1, (rows[1], WIDTH)).astype(np.float32),
            "s": np.array([self.rng.integers(-3, 7)], np.int64),
            "trip": np.array(self.pick(0, 1, 2, 3, 5, 8, 17, -1, -(2**63), 2**31, 2**40, 2**62, MOST), np.int64),
            "stop": np.array(self.rng.integers(-1, 12), np.int64),
        }

    # ---- positions

    def position(self, g, positions):
        p = self.pick(*positions)
        c = lambda v: g.constant([v])
        how = self.pick("is", "is", "add", "sub", "neg", "twice", "mod", "min", "constant")
        if how == "constant":
            return c(int(self.rng.integers(-6, 8)))
        if how == "is":
            return p
        if how == "add":
            return g("Add", p, c(int(self.rng.integers(-3, 4))))
        if how == "sub":
            return g("Sub", c(int(self.rng.integers(0, 7))), p)
        if how == "neg":
            return g("Neg", p)
        if how == "twice":
            return g("Mul", p, c(2))
        if how == "mod":
            return g("Mod", p, c(int(self.rng.integers(1, 6))))
        return g("Min", p, c(int(self.rng.integers(0, 6))))

    def cut(self, g, x, positions):
        """A part of x along its rows."""
        step = self.pick(1, 1, 1, 2, 3, -1, -2, 5, MOST, -MOST - 1)
        far = g.constant([MOST if step > 0 else -MOST - 1])
        start, end = self.position(g, positions), self.position(g, positions)
        kind = self.pick("from", "to", "both", "window")
        if kind == "from":
            end = far
        elif kind == "to":
            start = g.constant([0 if step > 0 else -1])
        elif kind == "window":
            start, end = self.pick(*positions), g("Add", self.pick(*positions), g.constant([int(self.rng.integers(0, 4))]))
        if step < 0 and kind != "to":
            # Where a reversed slice begins before the first row, numpy's rule and the operator's text differ.
            start = g("Max", start, g.constant([0]))
        return g("Slice", x, start, end, g.constant([0]), g.constant([step]))

    # ---- matrices; the row of a matrix is [1, WIDTH]

    def row(self, g, x):
        how = self.pick("sum", "sum", "max", "softmax", "product")
        if how == "max":
            return g("ReduceMax", g("Concat", x, g.constant([[-1.0] * WIDTH], np.float32), axis=0), axes=[0], keepdims=1)
        if how == "softmax":
            x = g("Mul", g("Softmax", x, axis=self.pick(0, 1)), x)
        if how == "product":
            x = g("MatMul", x, g.constant(self.rng.uniform(-0.5, 0.5, (WIDTH, WIDTH)).astype(np.float32), np.float32))
        return g("Tanh", g("ReduceSum", x, g.constant([0]), keepdims=1))

    def matrix(self, g, matrices, positions, depth):
        x = self.pick(*matrices)
        how = self.pick("cut", "cut", "cut", "join", "add", "softmax", "twice", "inner", "branch", "repeat", "shift")
        if how == "cut":
            return self.cut(g, x, positions)
        if how == "join":
            return g("Concat", self.cut(g, x, positions), self.row(g, self.pick(*matrices)), axis=0)
        if how == "add":
            return g("Add", self.cut(g, x, positions), self.row(g, self.pick(*matrices)))
        if how == "softmax":
            return g("Softmax", self.cut(g, x, positions), axis=self.pick(0, 1))
        if how == "twice":
            part = self.cut(g, x, positions)
            return g("Concat", part, self.pick(part, x), axis=0)
        if how == "repeat":  # sizes from a position
            count = g("Max", self.position(g, positions), g.constant([0]))
            count = g("Min", count, g.constant([int(self.rng.integers(0, 20))]))
            return g("Expand", self.row(g, x), g("Concat", count, g.constant([WIDTH]), axis=0))
        if how == "shift":
            one, big = g.constant([1]), g.constant([MOST])
            zero = g.constant([0])
            return g("Concat", g("Slice", x, one, big, zero), g("Slice", x, zero, one, zero), axis=0)
        if how == "branch" and depth < 2:
            return self.branch(g, matrices, positions, depth)
        if how == "inner" and depth < 2:
            values = [name for name, kind in self.loop(g, matrices, positions, depth + 1) if kind == "m"]
            if values:
                return self.pick(*values)
        return g("Tanh", x)

    def branch(self, g, matrices, positions, depth):
        condition = g("Less", g("Squeeze", self.position(g, positions), g.constant([0])),
                      g.constant(int(self.rng.integers(-1, 6))))
        branches = []
        for _ in range(2):
            b = Writer(self.names)
            out = b("Identity", self.row(b, self.matrix(b, matrices, positions, depth + 1)))
            branches.append(b.graph("branch", [], [(out, F32, None)]))
        return g("If", condition, then_branch=branches[0], else_branch=branches[1])

    # ---- loops: gives (name, kind) of the outputs, of kind m(atrix) or p(osition)

    def limit(self, g, matrices, positions, depth, ends):
        """The limit of a loop, which must be small unless `ends` says that a condition ends it."""
        if ends:
            return self.pick("trip", "trip", g.constant(MOST), g.constant(1024), g.constant(2**31), "")
        how = self.pick("rows", "position", "constant")
        if how == "rows":
            return g("Gather", g("Shape", self.pick(*matrices)), g.constant(0))
        if how == "position":
            return g("Squeeze", g("Min", self.position(g, positions), g.constant([9])), g.constant([0]))
        return g.constant(int(self.rng.integers(-1, 6 if depth else 12)))

    def loop(self, g, matrices, positions, depth):
        ends = self.chance(0.6)
        trip = self.limit(g, matrices, positions, depth, ends)
        b = Writer(self.names)
        index, go = b.fresh(), b.fresh()
        carried = [("fixed", self.pick(*matrices), b.fresh())]
        if self.chance(0.5):
            carried.append((self.pick("grows", "front"), self.pick(*matrices), b.fresh()))
        if self.chance(0.3):
            carried.append((self.pick("shrinks", "moves"), self.pick(*matrices), b.fresh()))
        carried.append(("position", self.pick(g.constant([0]), "s" if depth == 0 else self.pick(*positions)), b.fresh()))
        place = b("Unsqueeze", index, b.constant([0]))
        inside = matrices + [name for kind, _, name in carried if kind != "position"]
        places = positions + [place, carried[-1][2], carried[-1][2]]
        for _ in range(int(self.rng.integers(1, 4))):
            inside.append(self.matrix(b, inside, places, depth))
        following, scans = [], []
        for kind, _, name in carried:
            row = self.row(b, self.pick(*inside[-3:]))
            if kind == "fixed":
                following.append((F32, b("Tanh", b("Add", name, row))))
            elif kind == "grows":
                following.append((F32, b("Concat", name, row, axis=0)))
            elif kind == "front":
                following.append((F32, b("Concat", row, name, axis=0)))
            elif kind == "shrinks":
                following.append((F32, b("Slice", name, b.constant([1]), b.constant([MOST]), b.constant([0]))))
            elif kind == "moves":
                following.append((F32, self.cut(b, name, places)))
            else:
                step = b.constant([int(self.pick(1, 1, 2, -1, 0, 3))])
                following.append((I64, b("Add", name, step)))
        if self.chance(0.4):
            scans.append((F32, b("Identity", self.row(b, self.pick(*inside)))))
        if ends:
            done = b("Less", b("Squeeze", b("Add", place, b.constant([int(self.pick(0, 1))])), b.constant([0])), "stop")
            if self.chance(0.3):
                done = b("And", done, b("Less", b("Squeeze", following[-1][1], b.constant([0])), b.constant(9)))
        else:
            done = b("Identity", go)
        if trip == "" and not ends:
            trip = g.constant(3)
        results = [(done, BOOL, [])] + [(name, dtype, None) for dtype, name in following + scans]
        params = [(index, I64, []), (go, BOOL, [])]
        params += [(name, I64 if kind == "position" else F32, [1] if kind == "position" else None) for kind, _, name in carried]
        body = b.graph("body", params, results)
        start = self.pick("", g.constant(True, bool)) if self.chance(0.8) else g("Less", g.constant(0), "stop")
        out = g("Loop", trip, start, *[init for _, init, _ in carried], outputs=len(following + scans), body=body)
        out = [out] if isinstance(out, str) else out
        kinds = ["p" if kind == "position" else "m" for kind, _, _ in carried]
        return list(zip(out, kinds + ["s"] * len(scans)))


# ---- what the models give

def evaluate(graph, values):
    """`values` by name, with those of enclosing graphs; gives those of the outputs."""
    values = dict(values)
    for c in graph.initializer:
        values[c.name] = numpy_helper.to_array(c)
    for node in graph.node:
        for name, value in zip(node.output, run_node(node, values)):
            values[name] = value
    return [values[o.name] for o in graph.output]


def slice_rows(x, start, end, axis, step):
    assert axis[0] == 0
    n, step = len(x), int(step[0])
    bound = lambda v: max(-(2**40), min(2**40, int(v[0])))
    start, end = bound(start), bound(end)
    start, end = start + n if start < 0 else start, end + n if end < 0 else end
    if step > 0:
        positions = range(min(max(start, 0), n), min(max(end, 0), n), step)
    else:
        positions = range(min(max(start, -1), n - 1), min(max(end, -1), n - 1), step)
    return x[np.array(positions, np.int64)]


def softmax(x, axis):
    if x.size == 0:
        return x
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


SIMPLE = {
    "Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "Neg": np.negative, "Min": np.minimum, "Max": np.maximum,
    "Mod": np.mod, "Less": np.less, "And": np.logical_and, "Tanh": np.tanh, "Identity": lambda x: x, "MatMul": np.matmul,
    "Shape": lambda x: np.array(x.shape, np.int64), "Squeeze": lambda x, axes: x.reshape(()),
    "Unsqueeze": lambda x, axes: x.reshape(1), "Gather": lambda x, i: x[i],
    "Expand": lambda x, shape: np.broadcast_to(x, np.broadcast_shapes(x.shape, tuple(shape))),
    "Slice": lambda x, start, end, axis, step=(1,): slice_rows(x, start, end, axis, step),
    "ReduceSum": lambda x, axes: x.sum(axis=0, keepdims=True, dtype=x.dtype),
}


def run_node(node, values):
    inputs = [values[name] if name else None for name in node.input]
    attributes = {a.name: helper.get_attribute_value(a) for a in node.attribute}
    if node.op_type == "Loop":
        return run_loop(inputs, attributes["body"], values)
    if node.op_type == "If":
        return evaluate(attributes["then_branch" if inputs[0] else "else_branch"], values)
    if node.op_type == "Concat":
        return [np.concatenate(inputs, axis=attributes["axis"])]
    if node.op_type == "Softmax":
        return [softmax(inputs[0], attributes["axis"])]
    if node.op_type == "ReduceMax":
        return [inputs[0].max(axis=0, keepdims=True)]
    with np.errstate(over="ignore"):
        return [SIMPLE[node.op_type](*inputs)]


def run_loop(inputs, body, values):
    trip, go, state, scans, i = inputs[0], inputs[1], list(inputs[2:]), [], 0
    names = [v.name for v in body.input]
    most = MOST if trip is None else int(trip)
    go = True if go is None else bool(go)
    scans = [[] for _ in range(len(body.output) - 1 - len(state))]
    while i < most and go:
        go, *results = evaluate(body, {**values, **dict(zip(names, [np.array(i, np.int64), np.array(go), *state]))})
        state, i = results[: len(state)], i + 1
        for kept, value in zip(scans, results[len(state):]):
            kept.append(value)
    return state + [np.stack(s) if s else np.zeros((0, 1, WIDTH), np.float32) for s in scans]


def compare(seed):
    """Compiles the model of a seed natively and as bytecode, and runs both; raises where anything differs."""
    import pliant

    maker = Maker(seed)
    model = maker.model()
    level = [3, 3, 2, 1, 0][seed % 5]
    native, bytecode = (
        pliant.compile(model, progress=False, threads=1, opt_level=level, native_loops=way, check_memory=True)
        for way in (True, False)
    )
    for k in range(RUNS):
        feed = maker.feed()
        want = evaluate(model.graph, feed)
        feed = {name: value for name, value in feed.items() if name in {i.name for i in native.inputs}}
        got, other = native.run(feed), bytecode.run(feed)
        for output, value in zip(model.graph.output, want):
            context = f"seed {seed}, run {k}, {output.name}"
            assert got[output.name].shape == value.shape, (context, got[output.name].shape, value.shape)
            np.testing.assert_allclose(got[output.name], value, rtol=1e-4, atol=1e-4, err_msg=context)
            assert got[output.name].tobytes() == other[output.name].tobytes(), context + ": native loops and bytecode differ"
    return model, native, bytecode


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--count", type=int, default=200)
    p.add_argument("--first", type=int, default=0)
    a = p.parse_args()
    failed, begin = 0, time.monotonic()
    for seed in range(a.first, a.first + a.count):
        try:
            compare(seed)
        except Exception as e:  # all faults are counted
            failed += 1
            print(f"seed {seed}: {type(e).__name__}: {str(e).strip()[:600]}", flush=True)
        if (seed - a.first + 1) % 500 == 0:
            print(f"{seed - a.first + 1} loops, {failed} failed, {time.monotonic() - begin:.0f} s", flush=True)
    print(f"{a.count} models, {RUNS} runs each: {failed} failed, {time.monotonic() - begin:.0f} s")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
