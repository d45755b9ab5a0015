"""Random models of sequences, branches and loops beside onnxruntime: the same values, and no fault that it does not have."""
import os
import random

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper

import pliant

COUNT = int(os.environ.get("PLIANT_RANDOM_SEQUENCES", 40))


class Graph:
    """Nodes over values in scope: `tensors` are f32 [?, 3], `lists` are sequences of those, `ints` are i64 scalars."""

    def __init__(self, rng, names, scope=None):
        self.rng, self.names, self.nodes = rng, names, []
        self.tensors = list(scope.tensors) if scope else []
        self.lists = list(scope.lists) if scope else []
        self.ints = list(scope.ints) if scope else []

    def name(self):
        self.names[0] += 1
        return f"v{self.names[0]}"

    def add(self, op, inputs, outputs=1, **attributes):
        out = [self.name() for _ in range(outputs)]
        self.nodes.append(helper.make_node(op, inputs, out, **attributes))
        return out[0] if outputs == 1 else out

    def constant(self, v):
        return self.add("Constant", [], value=helper.make_tensor("c", TensorProto.INT64, [], [v]))

    def position(self):
        return self.rng.choice(self.ints) if self.rng.random() < 0.4 else self.constant(self.rng.choice([0, 0, -1, 1, 2, -2]))

    def grow(self, steps, depth):
        for _ in range(steps):
            self.step(depth)

    def step(self, depth):
        rng = self.rng
        kinds = ["insert", "insert", "insert_at", "erase", "at", "length", "construct", "concat", "split", "add", "cat"]
        kinds += ["if", "loop", "map", "maybe"] if depth > 0 else []
        kind = rng.choice(kinds)
        x, s = rng.choice(self.tensors), rng.choice(self.lists)
        if kind == "insert":
            self.lists.append(self.add("SequenceInsert", [s, x]))
        elif kind == "insert_at":
            self.lists.append(self.add("SequenceInsert", [s, x, self.position()]))
        elif kind == "erase":
            self.lists.append(self.add("SequenceErase", [s] + ([self.position()] if rng.random() < 0.5 else [])))
        elif kind == "at":
            self.tensors.append(self.add("SequenceAt", [s, self.position()]))
        elif kind == "length":
            self.ints.append(self.add("SequenceLength", [s]))
        elif kind == "construct":
            self.lists.append(self.add("SequenceConstruct", rng.choices(self.tensors, k=rng.randint(1, 3))))
        elif kind == "concat":
            self.tensors.append(self.add("ConcatFromSequence", [s], axis=0))
        elif kind == "split":
            chunk = self.constant(rng.choice([1, 2, 3]))
            self.lists.append(self.add("SplitToSequence", [x, chunk], axis=0))
        elif kind == "add":
            scale = self.add("Constant", [], value=helper.make_tensor("c", TensorProto.FLOAT, [], [rng.choice([0.5, 2.0, -1.0])]))
            self.tensors.append(self.add("Mul", [x, scale]))
        elif kind == "cat":
            self.tensors.append(self.add("Concat", [x, rng.choice(self.tensors)], axis=0))
        elif kind == "if":
            self.branch(depth)
        elif kind == "map":
            self.map()
        elif kind == "maybe":
            self.maybe(x, s)
        else:
            self.loop(depth)

    def body(self, depth, steps=None):
        inner = Graph(self.rng, self.names, self)
        inner.grow(self.rng.randint(1, 4) if steps is None else steps, depth - 1)
        return inner

    def branch(self, depth):
        rng = self.rng
        cond = self.condition()
        outs = rng.sample(["tensor", "list"], rng.randint(1, 2))
        branches = []
        for _ in range(2):
            inner = self.body(depth)
            results = [inner.add("Identity", [rng.choice(inner.tensors if o == "tensor" else inner.lists)]) for o in outs]
            branches.append(helper.make_graph(inner.nodes, "branch", [], [value(r, o) for r, o in zip(results, outs)]))
        out = self.add("If", [cond], outputs=len(outs), then_branch=branches[0], else_branch=branches[1])
        self.take(outs, [out] if len(outs) == 1 else out)

    def loop(self, depth):
        rng = self.rng
        carried = rng.choices(["tensor", "list", "list"], k=rng.randint(1, 3))
        init = [rng.choice(self.tensors if c == "tensor" else self.lists) for c in carried]
        trip = self.constant(rng.choice([0, 1, 2, 4])) if rng.random() < 0.7 else rng.choice(self.ints)
        inner = Graph(rng, self.names, self)
        index, cond = inner.name(), inner.name()
        params = [inner.name() for _ in carried]
        inner.take(carried, params)
        inner.ints.append(index)
        inner.grow(rng.randint(1, 4), depth - 1)
        going = inner.add("Identity", [cond])
        recent = {"tensor": inner.tensors, "list": inner.lists}
        results = [inner.add("Identity", [rng.choice(recent[c][-4:])]) for c in carried]
        body = helper.make_graph(
            inner.nodes, "body",
            [helper.make_tensor_value_info(index, TensorProto.INT64, []), helper.make_tensor_value_info(cond, TensorProto.BOOL, [])]
            + [value(p, c) for p, c in zip(params, carried)],
            [helper.make_tensor_value_info(going, TensorProto.BOOL, [])] + [value(r, c) for r, c in zip(results, carried)])
        out = self.add("Loop", [trip, ""] + init, outputs=len(carried), body=body)
        self.take(carried, [out] if len(carried) == 1 else out)

    def condition(self):
        return self.add("Less", [self.rng.choice(self.ints), self.constant(self.rng.choice([0, 1, 2, 3]))])

    def map(self):
        """A SequenceMap whose body uses an element, a tensor that goes along and one of the scope around it."""
        inner = Graph(self.rng, self.names, self)
        element, along = inner.name(), inner.name()
        results = [inner.add("Concat", [element, along], axis=0), inner.add("Concat", [self.rng.choice(self.tensors), element], axis=0)]
        results = results[:self.rng.randint(1, 2)]
        body = helper.make_graph(inner.nodes, "body", [value(element, "tensor"), value(along, "tensor")],
                                 [value(r, "tensor") for r in results])
        inputs = [self.rng.choice(self.lists), self.rng.choice(self.tensors)]
        out = self.add("SequenceMap", inputs, outputs=len(results), body=body)
        self.take(["list"] * len(results), [out] if len(results) == 1 else out)

    def maybe(self, x, s):
        """An optional that a branch gives, and what it holds where it holds something."""
        kind, given = self.rng.choice([("tensor", x), ("list", s)])
        held = value("", kind).type
        branches = []
        for holds in (True, False):
            inner = Graph(self.rng, self.names, self)
            out = inner.add("Optional", [given] if holds else [], **({} if holds else {"type": held}))
            info = helper.make_value_info(out, helper.make_optional_type_proto(held))
            branches.append(helper.make_graph(inner.nodes, "branch", [], [info]))
        o = self.add("If", [self.condition()], then_branch=branches[0], else_branch=branches[1])
        has = self.add("OptionalHasElement", [o])
        branches = []
        for op, source in (("OptionalGetElement", o), ("Identity", self.rng.choice(self.tensors if kind == "tensor" else self.lists))):
            inner = Graph(self.rng, self.names, self)
            out = inner.add(op, [source])
            branches.append(helper.make_graph(inner.nodes, "branch", [], [value(out, kind)]))
        self.take([kind], [self.add("If", [has], then_branch=branches[0], else_branch=branches[1])])

    def take(self, kinds, names):
        for kind, name in zip(kinds, names):
            (self.tensors if kind == "tensor" else self.lists).append(name)


def value(name, kind):
    if kind == "tensor":
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, [None, 3])
    return helper.make_tensor_sequence_value_info(name, TensorProto.FLOAT, [None, 3])


def make(seed):
    rng = random.Random(seed)
    g = Graph(rng, [0])
    g.tensors, g.lists, g.ints = ["x", "y"], ["s"], ["n"]
    g.grow(rng.randint(3, 9), 2)
    outputs = [(g.tensors[-1], "tensor"), (g.lists[-1], "list")]
    outputs = [(g.add("Identity", [name]), kind) for name, kind in outputs]
    inputs = [value("x", "tensor"), value("y", "tensor"), value("s", "list"), helper.make_tensor_value_info("n", TensorProto.INT64, [])]
    graph = helper.make_graph(g.nodes, "random", inputs, [value(*o) for o in outputs])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)


def feeds(seed):
    rng = np.random.default_rng(seed)

    def array():
        return rng.standard_normal((rng.integers(0, 4), 3)).astype(np.float32)

    for n in (0, 1, 3):
        yield {"x": array(), "y": array(), "s": [array() for _ in range(rng.integers(1, 4))], "n": np.array(n, np.int64)}


def outcome(run):
    try:
        return list(run())
    except (pliant.RunError, onnxruntime.capi.onnxruntime_pybind11_state.Fail,
            onnxruntime.capi.onnxruntime_pybind11_state.RuntimeException,
            onnxruntime.capi.onnxruntime_pybind11_state.InvalidArgument) as e:
        return e


@pytest.mark.parametrize("seed", range(COUNT))
def test_random_model(seed):
    model = make(seed)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    for level in ({}, {"opt_level": 0}):
        exe = pliant.compile(model, progress=False, check_passes=True, **level)
        for feed in feeds(seed):
            want, got = outcome(lambda: session.run(None, feed)), outcome(lambda: exe.run(feed).values())
            # What nothing needs is not computed, so its faults do not show.
            if isinstance(want, Exception):
                continue
            assert not isinstance(got, Exception), got
            np.testing.assert_allclose(got[0], want[0], rtol=1e-6)
            assert len(got[1]) == len(want[1])
            for g, w in zip(got[1], want[1]):
                np.testing.assert_allclose(g, w, rtol=1e-6)


def scramble(graph, rng, names=()):
    """Other inputs, operators and axes than the nodes had, mostly of types that they do not take."""
    names = [*names, *(i.name for i in graph.input)]
    for node in graph.node:
        for k in range(len(node.input)):
            chance = rng.random()
            if chance < 0.12 and names:
                node.input[k] = rng.choice(names)
            elif chance > 0.98:
                node.input[k] = ""
        if rng.random() < 0.03:
            node.op_type = rng.choice(["SequenceAt", "SequenceInsert", "OptionalGetElement", "ConcatFromSequence", "SplitToSequence",
                                       "Identity", "Relu", "SequenceLength", "Loop", "If", "SequenceMap", "Shape", "Cast", "NonZero"])
        for a in node.attribute:
            if a.HasField("g"):
                scramble(a.g, rng, names)
            if a.name == "axis" and rng.random() < 0.3:
                a.i = rng.choice([-3, -1, 1, 2, 7])
        names += node.output
    for output in graph.output:
        if rng.random() < 0.05 and names:
            output.name = rng.choice(names)


@pytest.mark.parametrize("start", range(0, 5 * COUNT, 20))
def test_scrambled_models_are_compiled_or_refused(start):
    for seed in range(start, start + 20):
        model = make(seed)
        scramble(model.graph, random.Random(seed))
        try:
            pliant.compile(model, progress=False, check_passes=True)
        except pliant.CompileError:
            continue
