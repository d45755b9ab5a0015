"""Control flow at random in the text of the graph IR: nested branches and loops with carried values of fixed and changing sizes, captures,
swaps, scans and appends. Native, as bytecode and without passes, beside numpy."""
import random

import numpy as np
import pytest

import pliant


class Value:
    """`kind` is v: f32[n], s: f32[], or g: f32[…] of a size that changes."""

    def __init__(self, name, kind, shape):
        self.name, self.kind, self.shape = name, kind, shape

    @property
    def type(self):
        return f"f32[{self.shape}]"


class Generator:
    """Builds the text line by line, and beside it a list of steps that compute the same on an environment of numpy arrays."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.symbols = ['symbol n {lo=0, origin=input_axis("x", 0)}']
        self.count = 1
        self.lines = []

    def name(self):
        self.count += 1
        return f"%{self.count}"

    def symbol(self, kind="data"):
        name = f"s{len(self.symbols)}"
        self.symbols.append(f'symbol {name} {{lo=0, origin={kind}("l{name}", 0)}}')
        return name

    def fresh(self, kind):
        return Value(self.name(), kind, {"v": "n", "s": "", "g": self.symbol() if kind == "g" else ""}[kind])

    def make(self):
        steps = []
        values = self.block([Value("%0", "v", "n"), Value("%1", "s", "")], 3, 5, steps, "  ")
        for kind in "vsg":
            self.op(kind, values, steps, "  ")
        results = [self.random.choice([v for v in values if v.kind == k]) for k in "vsg"] + values[-2:]
        # a result is a value of its own
        results = [self.emit("math.neg", [r], r.kind, r.shape, lambda a: -a, steps, "  ") for r in results]
        text = "\n".join(self.symbols) + '\nfunc @main(%0 "x": f32[n], %1 "y": f32[]) {\n' + "\n".join(self.lines) + "\n  return "
        text += ", ".join(f'{r.name} "o{i}"' for i, r in enumerate(results)) + "\n}\n"

        def run(x, y):
            env = {"%0": x, "%1": y}
            for step in steps:
                step(env)
            return [env[r.name] for r in results]
        return text, run

    def emit(self, op, inputs, kind, shape, compute, steps, indent, attrs=""):
        out = Value(self.name(), kind, shape)
        self.lines.append(f"{indent}{out.name} = {op}({', '.join(v.name for v in inputs)}){attrs} : {out.type}")
        names = [v.name for v in inputs]
        steps.append(lambda e: e.__setitem__(out.name, np.asarray(compute(*[e[k] for k in names]), np.float32)))
        return out

    def concat(self, parts, steps, indent):
        return self.emit("array.concat", parts, "g", " + ".join(p.shape for p in parts), lambda a, b: np.concatenate([a, b]), steps, indent,
                         " {axis=0}")

    def pick(self, values, kind):
        found = [v for v in values if v.kind == kind]
        return self.random.choice(found[-4:]) if found else None

    def op(self, kind, values, steps, indent):
        """Appends one value of this kind."""
        r = self.random
        if kind == "g":
            out = self.concat([self.pick(values, r.choice("gv")) or self.pick(values, "v") for _ in range(2)], steps, indent)
        elif kind == "s" and r.random() < 0.5:
            of = self.pick(values, r.choice("gv")) or self.pick(values, "v")
            out = self.emit("reduce.sum", [of], "s", "", lambda a: np.sum(a, dtype=np.float64), steps, indent,
                            " {axes=[0], keepdims=false}")
        else:
            a, b = self.pick(values, kind), self.pick(values, r.choice([kind, "s"]))
            out = self.emit("math.add", [a, b], kind, a.shape, lambda a, b: a + b, steps, indent)
        if kind != "g":
            values.append(out)
            out = self.emit("math.tanh", [out], kind, out.shape, np.tanh, steps, indent)
        values.append(out)
        return out

    def condition(self, values, steps, indent):
        s, c, out = self.pick(values, "s"), self.name(), self.name()
        limit = self.random.choice([-0.5, 0.0, 0.4, 0.9])
        self.lines.append(f"{indent}{c} = core.const() {{value=f32[] dense<{limit}>}} : f32[]")
        self.lines.append(f"{indent}{out} = math.lt({s.name}, {c}) : bool[]")
        steps.append(lambda e: e.__setitem__(out, bool(e[s.name] < np.float32(limit))))
        return out

    def block(self, outer, depth, length, steps, indent):
        values = list(outer)
        for _ in range(self.random.randint(1, length)):
            what = self.random.choice(["op", "op", "if", "loop", "loop"]) if depth > 0 else "op"
            if what == "op":
                self.op(self.random.choice("vsgs"), values, steps, indent)
            else:
                values += (self.branch if what == "if" else self.loop)(values, depth - 1, steps, indent)
        return values

    def branch(self, values, depth, steps, indent):
        condition = self.condition(values, steps, indent)
        kinds = [self.random.choice("vsg") for _ in range(self.random.randint(1, 3))]
        outs = [self.fresh(k) for k in kinds]
        self.lines.append(f"{indent}{', '.join(o.name for o in outs)} = core.if({condition}) : {', '.join(o.type for o in outs)}")
        branches = []
        for _ in range(2):
            self.lines.append(f"{indent}  region() {{")
            inner = []
            local = self.block(values, depth, 3, inner, indent + "    ")
            give = [self.pick(local, k) or self.op(k, local, inner, indent + "    ") for k in kinds]
            self.lines.append(f"{indent}    yield {', '.join(v.name for v in give)}")
            self.lines.append(f"{indent}  }}")
            branches.append((inner, [v.name for v in give]))

        def run(e):
            inner, give = branches[0] if e[condition] else branches[1]
            for step in inner:
                step(e)
            for o, v in zip(outs, [e[k] for k in give]):
                e[o.name] = v
        steps.append(run)
        return outs

    def loop(self, values, depth, steps, indent):
        r = self.random
        index = self.symbol("loop_index")
        conditional = r.random() < 0.4
        trip = r.choice(["0", "1", "2", "4", "n", "n + 1"])
        start = self.condition(values, steps, indent) if conditional and r.random() < 0.5 else "_"
        kinds = [r.choice("vsg") for _ in range(r.randint(1, 3))]
        init = [self.pick(values, k) or self.op(k, values, steps, indent) for k in kinds]
        scans = [r.choice("vs") for _ in range(r.randint(0, 2))]
        count = self.symbol() if conditional else trip if trip.isdigit() else f"max(0, {trip})"
        outs = [self.fresh(k) for k in kinds]
        stacks = [(self.name(), f"f32[{count}, n]" if k == "v" else f"f32[{count}]") for k in scans]
        params = [self.fresh(k) for k in kinds]
        names = [o.name for o in outs] + [s[0] for s in stacks]
        types = [o.type for o in outs] + [s[1] for s in stacks]
        self.lines.append(f"{indent}{', '.join(names)} = core.loop({start}, {', '.join(v.name for v in init)}) "
                          f"{{trip=dim({trip}), index=dim({index}), count=dim({count})}} : {', '.join(types)}")
        self.lines.append(f"{indent}  region({', '.join(f'{p.name}: {p.type}' for p in params)}) {{")
        inner, pad = [], indent + "    "
        local = self.block(values + params, depth, 3, inner, pad)
        if conditional:
            go = self.condition(local, inner, pad)
        else:
            go = self.name()
            self.lines.append(f"{pad}{go} = core.const() {{value=bool[] dense<true>}} : bool[]")
            inner.append(lambda e: e.__setitem__(go, True))
        nexts = []
        for k, p in zip(kinds, params):
            if k == "g" and r.random() < 0.6:
                nexts.append(self.concat([p, self.pick(local, "v")], inner, pad))
            else:
                nexts.append(self.op(k, local, inner, pad) if k != "g" and r.random() < 0.5 else self.pick(local, k))
        gives = [self.pick(local, k) for k in scans]
        self.lines.append(f"{pad}yield {', '.join([go] + [v.name for v in nexts + gives])}")
        self.lines.append(f"{indent}  }}")

        def run(e):
            n = len(e["%0"])
            most = eval(trip, {"n": n})
            carried, stacked = [e[v.name] for v in init], [[] for _ in scans]
            going, i = start == "_" or e[start], 0
            while going and i < most:
                for p, v in zip(params, carried):
                    e[p.name] = v
                for step in inner:
                    step(e)
                carried = [e[v.name] for v in nexts]
                for s, v in zip(stacked, gives):
                    s.append(e[v.name])
                going, i = e[go], i + 1
            for o, v in zip(outs, carried):
                e[o.name] = v
            for (name, _), s, k in zip(stacks, stacked, scans):
                e[name] = np.array(s, np.float32) if s else np.zeros((0, n) if k == "v" else (0,), np.float32)
        steps.append(run)
        return outs + [Value(name, "g", count) for (name, _), k in zip(stacks, scans) if k == "s"]


@pytest.mark.parametrize("seed", range(40))
def test_random_control_flow(tmp_path, seed):
    text, reference = Generator(seed).make()
    path = tmp_path / "random.ir"
    path.write_text(text)
    exes = [pliant.compile(path, check_passes=True), pliant.compile(path, native_loops=False),
            pliant.compile(path, native_loops=False, opt_level=0)]
    rng = np.random.default_rng(seed)
    for n in (2, 0, 1, 5, 2):
        x, y = rng.standard_normal(n).astype(np.float32), np.float32(rng.standard_normal())
        want = reference(x, y)
        native, bytecode, plain = [exe(x, y) for exe in exes]
        for a, b, c, w in zip(native, bytecode, plain, want):
            np.testing.assert_array_equal(a, b)
            assert c.shape == w.shape
            np.testing.assert_allclose(c, w, rtol=1e-4, atol=1e-4)
            np.testing.assert_allclose(a, w, rtol=1e-4, atol=1e-4)
