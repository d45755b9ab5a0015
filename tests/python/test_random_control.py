"""Random nests of If, Loop and Scan beside onnxruntime, with captures, growing and shrinking values, at several shapes from one
compilation; native loops and bytecode give the same bits."""

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from onnx import helper

import pliant
from test_loops import BOOL, F32, I64, Body, info, reference

import models

DEPTH = 3


class Maker:
    """Appends random nodes to graphs; every value that `pick` gives has the shape [m, 4] and elements in [-1, 1]."""

    def __init__(self, draw):
        self.draw, self.made = draw, 0

    def unique(self, stem):
        self.made += 1
        return f"{stem}_{self.made}"

    def pick(self, scope):
        return self.draw(st.sampled_from(scope))

    def block(self, g, scope, depth, most=3):
        """Nodes at one level; gives a value made last."""
        scope = list(scope)
        steps = [self.elementwise, self.product, self.shift]
        if depth < DEPTH:
            steps += [self.branch, self.counted, self.grown, self.until, self.scanned]
        for _ in range(self.draw(st.integers(1, most))):
            scope.append(g("Tanh", self.draw(st.sampled_from(steps))(g, scope, depth)))
        return scope[-1]

    def elementwise(self, g, scope, depth):
        return g(self.draw(st.sampled_from(["Add", "Mul", "Sub", "Max"])), self.pick(scope), self.pick(scope))

    def product(self, g, scope, depth):
        return g("MatMul", self.pick(scope), g.weight(4, 4))

    def shift(self, g, scope, depth):
        """Rows turned by one: the first row goes last."""
        x = self.pick(scope)
        axis, zero, one, end = (g.constant(np.array([v], np.int64)) for v in (0, 0, 1, 2**62))
        return g("Concat", g("Slice", x, one, end, axis), g("Slice", x, zero, one, axis), axis=0)

    def condition(self, g, scope):
        total = g("ReduceSum", self.pick(scope), keepdims=0)
        return g("Less", total, g.constant(np.float32(self.draw(st.sampled_from([-0.5, 0.0, 0.3])))))

    def branch(self, g, scope, depth):
        branches = []
        for _ in range(2):
            b = Body()
            out = self.block(b, scope, depth + 1, 2) if self.draw(st.booleans()) else b("Identity", self.pick(scope))
            # Branches give the rows once or twice: their number is known only after the branch.
            rows = b("Concat", out, self.pick(scope), axis=0) if self.draw(st.booleans()) else out
            branches.append((b, out, rows))
        names = [self.unique("if"), self.unique("rows")]
        graphs = [
            (
                b.graph([], [(out, F32, None), (rows, F32, None)])
                if out != rows
                else b.graph([], [(out, F32, None), (b("Identity", out), F32, None)])
            )
            for b, out, rows in branches
        ]
        g.nodes.append(helper.make_node("If", [self.condition(g, scope)], names, then_branch=graphs[0], else_branch=graphs[1]))
        mean = g("ReduceMean", names[1], axes=[0], keepdims=1)
        return g("Add", names[0], mean)

    def loop(self, g, trip, condition, carried, build):
        """`build(b, t, names)` gives the next carried values, the scans and the next condition."""
        b, names = Body(), [self.unique("carried") for _ in carried]
        t, go = self.unique("t"), self.unique("go")
        following, scans, goes_on = build(b, t, names)
        results = [b("Identity", goes_on or go)] + [b("Identity", v) for v in following + scans]
        body = helper.make_graph(
            b.nodes,
            "body",
            [info(t, I64, []), info(go, BOOL, [])] + [info(n, F32, None) for n in names],
            [info(results[0], BOOL, [])] + [info(r, F32, None) for r in results[1:]],
            b.initializers,
        )
        out = [self.unique("loop") for _ in following + scans]
        g.nodes.append(helper.make_node("Loop", [trip, condition, *carried], out, body=body))
        return out

    def trips(self, g):
        return self.draw(st.sampled_from(["n", g.constant(np.array(self.draw(st.integers(1, 4)), np.int64))]))

    def counted(self, g, scope, depth):
        def build(b, t, names):
            inner = scope + names
            first = self.block(b, inner, depth + 1, 2)
            # Swapped, kept or computed.
            rest = [self.draw(st.sampled_from([names[0], names[1], first]))]
            return [first] + rest, [b("ReduceMax", first, axes=[0], keepdims=0)] if self.draw(st.booleans()) else [], None

        out = self.loop(g, self.trips(g), "", [self.pick(scope), self.pick(scope)], build)
        if len(out) == 2:
            return g("Sub", out[0], out[1])
        # Sums of scan values: right for no iteration, too.
        return g(
            "Add",
            out[0],
            g("ReduceSum", g("Reshape", out[2], g.constant(np.array([-1, 4]))), g.constant(np.array([0])), keepdims=1),
        )

    def grown(self, g, scope, depth):
        axis = self.draw(st.sampled_from([0, 1]))
        appends = self.draw(st.integers(1, 2))

        def build(b, t, names):
            # Growing on the second axis happens on a copy that is cut again.
            row = b("Add", self.block(b, scope, depth + 1, 1), b("Cast", t, to=F32))
            grown = names[0]
            for _ in range(appends):
                grown = b("Concat", grown, row, axis=axis)
            return [grown], [], None

        out = self.loop(g, self.trips(g), "", [self.pick(scope)], build)[0]
        if axis == 0:
            return g("Add", self.pick(scope), g("ReduceMean", out, axes=[0], keepdims=1))
        mean = g("ReduceMean", out, axes=[1], keepdims=1)
        return g("Add", self.pick(scope), mean)

    def until(self, g, scope, depth):
        def build(b, t, names):
            value = self.block(b, scope + names, depth + 1, 1)
            more = b("Add", b("Abs", value), names[0])
            return [more], [], b("Less", b("ReduceMax", more, keepdims=0), b.constant(np.float32(3)))

        limit = g.constant(np.array(6, np.int64))
        start = g("Less", g("ReduceMax", self.pick(scope), keepdims=0), g.constant(np.float32(0.9)))
        return self.loop(g, limit, start, [self.pick(scope)], build)[0]

    def scanned(self, g, scope, depth):
        b, state, row = Body(), self.unique("state"), self.unique("row")
        mixed = b("Tanh", b("Add", b("Mul", state, b.constant(np.float32(0.5))), row))
        outer = b("ReduceMean", self.pick(scope), axes=[0], keepdims=0)
        y = b("Add", mixed, outer)
        body = helper.make_graph(
            b.nodes,
            "scan",
            [info(state, F32, [4]), info(row, F32, [4])],
            [info(mixed, F32, [4]), info(y, F32, [4])],
            b.initializers,
        )
        x = self.pick(scope)
        first = g("ReduceMean", x, axes=[0], keepdims=0)
        out = [self.unique("scan"), self.unique("scan")]
        ways = [self.draw(st.integers(0, 1)) for _ in range(2)]
        g.nodes.append(
            helper.make_node(
                "Scan",
                [first, x],
                out,
                body=body,
                num_scan_inputs=1,
                scan_input_directions=[ways[0]],
                scan_output_directions=[ways[1]],
            )
        )
        return g("Add", out[1], out[0])


@st.composite
def programs(draw):
    g = models.Graph(draw(st.integers(0, 1000)))
    maker = Maker(draw)
    g("Identity", maker.block(g, ["x", "z"], 0, 3), name="y")
    return g.model([("x", F32, ["m", 4]), ("z", F32, ["m", 4]), ("n", I64, [])], [("y", F32, ["m", 4])])


@settings(max_examples=60, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
@given(programs())
def test_parity(model):
    session = reference(model)
    names = {i.name for i in session.get_inputs()}
    native = pliant.compile(model, progress=False, check_passes=True)
    others = [pliant.compile(model, progress=False, native_loops=False), pliant.compile(model, progress=False, opt_level=0)]
    rng = np.random.default_rng(0)
    for m, n in ((3, 2), (1, 1), (5, 0), (17, 4), (3, 2)):
        feed = {
            "x": rng.uniform(-1, 1, (m, 4)).astype(np.float32),
            "z": rng.uniform(-1, 1, (m, 4)).astype(np.float32),
            "n": np.array(n, np.int64),
        }
        feed = {k: v for k, v in feed.items() if k in names}
        want = session.run(None, feed)[0]
        got = native.run(feed)["y"]
        assert got.shape == want.shape
        np.testing.assert_allclose(got, want, rtol=2e-4, atol=2e-4)
        assert others[0].run(feed)["y"].tobytes() == got.tobytes(), "native loops and bytecode differ"
        np.testing.assert_allclose(others[1].run(feed)["y"], want, rtol=2e-4, atol=2e-4)
