"""Graphs of any number of nodes whose compilation is measured: GRAPHS[name](n), an onnx.ModelProto, has about n."""

import pathlib
import sys

import numpy as np
from onnx import TensorProto, helper

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests" / "python"))
from models import F32, I64, Graph, attention, layer_norm  # noqa: E402

BOOL = TensorProto.BOOL
GRAPHS = {}


def graph(function):
    GRAPHS[function.__name__] = function
    return function


def ints(g, *values):
    return g.constant(np.array(values, np.int64))


def finish(g, y, inputs=(("x", F32, ["n", 8]),), rank=None, dtype=F32, opset=17):
    """The model that gives y, of open sizes."""
    rank = len(inputs[0][2]) if rank is None else rank
    g("Identity", y, name="y")
    return g.model(list(inputs), [("y", dtype, [f"y{k}" for k in range(rank)])], opset)


def repeated(step, n, cost, inputs=(("x", F32, ["n", 8]),), **kw):
    """x = step(g, x) until there are n nodes, `cost` a step."""
    g, x = Graph(), "x"
    for k in range(max(1, n // cost)):
        x = step(g, x, k)
    return finish(g, x, inputs, **kw)


# ---- chains


@graph
def elementwise_chain(n):
    ops = ["Relu", "Tanh", "Abs", "Sigmoid"]
    return repeated(lambda g, x, k: g(ops[k % 4], x), n, 1)


@graph
def add_chain(n):
    return repeated(lambda g, x, k: g("Add", x, "x"), n, 1)


@graph
def dense_chain(n):
    return repeated(lambda g, x, k: g("Relu", g("Add", g("MatMul", x, g.weight(8, 8)), g.weight(8))), n, 3)


@graph
def gemm_chain(n):
    return repeated(lambda g, x, k: g("Gemm", x, g.weight(8, 8), g.weight(8)), n, 1)


@graph
def conv_chain(n):
    return repeated(
        lambda g, x, k: g("Relu", g("Conv", x, g.weight(4, 4, 3, 3), pads=[1] * 4)), n, 2, (("x", F32, ["n", 4, "h", "w"]),)
    )


@graph
def layer_norm_chain(n):
    return repeated(lambda g, x, k: layer_norm(g, x, 8), n, 9)


@graph
def softmax_chain(n):
    return repeated(lambda g, x, k: g("Softmax", x, axis=-1), n, 1)


@graph
def transformer(n):
    def block(g, x, k):
        x = layer_norm(g, g("Add", x, attention(g, x, "mask", 8, 2)), 8)
        return layer_norm(g, g("Add", x, g("MatMul", g("Relu", g("MatMul", x, g.weight(8, 16))), g.weight(16, 8))), 8)

    return repeated(block, n, 38, (("x", F32, ["batch", "seq", 8]), ("mask", F32, ["batch", 1, 1, "seq"])))


@graph
def transpose_chain(n):
    return repeated(lambda g, x, k: g("Relu", g("Transpose", x, perm=[1, 0])), n, 2)


@graph
def reshape_chain(n):
    shapes = [(-1,), (-1, 4), (2, -1), (-1, 2, 2)]
    return repeated(lambda g, x, k: g("Relu", g("Reshape", x, ints(g, *shapes[k % 4]))), n, 2)


@graph
def dynamic_reshape_chain(n):
    def step(g, x, k):
        size = g("Shape", x)
        rows = g("Slice", size, ints(g, 0), ints(g, 1))
        return g(
            "Relu", g("Reshape", x, g("Concat", rows, ints(g, 2, -1), axis=0) if k % 2 else g("Concat", rows, ints(g, -1), axis=0))
        )

    g, x = Graph(), "x"
    for k in range(max(1, n // 5)):
        x = step(g, x, k)
    return finish(g, x, rank=2 if (max(1, n // 5)) % 2 else 3)


@graph
def slice_chain(n):
    return repeated(lambda g, x, k: g("Relu", g("Slice", x, ints(g, 1), ints(g, 2**60), ints(g, 0))), n, 2)


@graph
def shifted_sum_chain(n):
    def step(g, x, k):
        return g("Add", g("Slice", x, ints(g, 1), ints(g, 2**60), ints(g, 0)), g("Slice", x, ints(g, 0), ints(g, -1), ints(g, 0)))

    return repeated(step, n, 3)


@graph
def pad_chain(n):
    return repeated(lambda g, x, k: g("Relu", g("Pad", x, ints(g, 1, 0, 0, 0))), n, 2)


@graph
def concat_chain(n):
    return repeated(lambda g, x, k: g("Concat", x, "x", axis=0), n, 1)


@graph
def where_chain(n):
    return repeated(lambda g, x, k: g("Where", g("Less", x, "x"), x, g("Neg", x)), n, 3)


@graph
def gather_chain(n):
    return repeated(lambda g, x, k: g("Gather", x, ints(g, 1, 0, 2, 3, 4, 7, 6, 5), axis=1), n, 1)


@graph
def reduce_chain(n):
    return repeated(lambda g, x, k: g("Sub", x, g("ReduceMax", x, axes=[k % 2], keepdims=1)), n, 2)


@graph
def scan_chain(n):
    return repeated(lambda g, x, k: g("CumSum", x, g.constant(np.int64(0))), n, 1)


@graph
def pool_chain(n):
    return repeated(lambda g, x, k: g("MaxPool", x, kernel_shape=[3, 3], pads=[1] * 4), n, 1, (("x", F32, ["n", 4, "h", "w"]),))


@graph
def resize_chain(n):
    def step(g, x, k):
        scale = [1.0, 1.0, 1.5, 0.7] if k % 2 else [1.0, 1.0, 0.7, 1.5]
        return g("Resize", x, "", g.constant(np.array(scale, np.float32)), mode="linear")

    return repeated(step, n, 1, (("x", F32, ["n", 2, "h", "w"]),))


@graph
def size_chain(n):
    """Sizes computed from sizes."""

    def step(g, x, k):
        size = g("Mul", g("Add", g("Shape", x), ints(g, 2, 2)), ints(g, 3, 1))
        return g(
            "Expand",
            g("Slice", x, ints(g, 0), ints(g, 1), ints(g, 0)),
            g("Concat", g("Slice", g("Div", size, ints(g, 2, 2)), ints(g, 0), ints(g, 1)), ints(g, 8), axis=0),
        )

    return repeated(step, n, 8)


@graph
def compress_chain(n):
    return repeated(
        lambda g, x, k: g("Compress", x, g("Greater", x, g.constant(np.float32(k / 1000))), axis=0), n, 2, (("x", F32, ["n"]),)
    )


@graph
def cast_chain(n):
    return repeated(lambda g, x, k: g("Cast", x, to=[I64, F32][k % 2]), n // 2 * 2, 1)


@graph
def quantise_chain(n):
    def step(g, x, k):
        scale, zero = g.constant(np.float32(0.1)), g.constant(np.uint8(128))
        return g("Relu", g("DequantizeLinear", g("QuantizeLinear", x, scale, zero), scale, zero))

    return repeated(step, n, 3)


@graph
def broadcast_chain(n):
    """Each axis may have size 1."""
    return repeated(
        lambda g, x, k: g("Add", x, f"z{k % 4}"),
        n,
        1,
        (("x", F32, ["a", "b"]), *((f"z{k}", F32, [f"c{k}", f"d{k}"]) for k in range(4))),
    )


# ---- diamonds and trees


@graph
def diamond_chain(n):
    return repeated(lambda g, x, k: g("Add", g("Relu", x), g("Neg", x)), n, 3)


@graph
def dense_diamond_chain(n):
    return repeated(lambda g, x, k: g("Add", g("Relu", x), g("MatMul", x, g.weight(8, 8))), n, 3)


@graph
def tree(n):
    """A value that forks into n / 2 and joins again pair by pair."""
    g = Graph()
    level = [g("Mul", "x", g.constant(np.float32(k))) for k in range(max(2, n // 2))]
    while len(level) > 1:
        level = [g("Add", a, b) for a, b in zip(level[::2], level[1::2])] + level[len(level) // 2 * 2 :]
    return finish(g, level[0])


@graph
def ladder(n):
    """Two chains that read each other."""
    g, a, b = Graph(), "x", "x"
    for _ in range(max(1, n // 2)):
        a, b = g("Add", a, b), g("Mul", a, b)
    return finish(g, g("Sub", a, b))


@graph
def dense_connections(n):
    """Every concat reads the last few results, as in a densely connected network."""
    g, last = Graph(), ["x"]
    for _ in range(max(1, n // 2)):
        last = [*last[-3:], g("MatMul", g("Concat", *last[-4:], axis=1), g.weight(8 * min(4, len(last)), 8))]
    return finish(g, last[-1])


@graph
def long_skips(n):
    """A chain whose values are read again in reverse order, as in a U-net."""
    g, kept = Graph(), ["x"]
    for _ in range(max(1, n // 2)):
        kept.append(g("Tanh", kept[-1]))
    y = kept[-1]
    for x in reversed(kept[:-1]):
        y = g("Add", y, x)
    return finish(g, y)


# ---- wide


@graph
def wide_concat(n):
    g = Graph()
    parts = [g("Mul", "x", g.constant(np.float32(k))) for k in range(max(1, n - 1))]
    return finish(g, g("Concat", *parts, axis=0))


@graph
def wide_concat_inner(n):
    g = Graph()
    parts = [g("Mul", "x", g.constant(np.float32(k))) for k in range(max(1, n - 1))]
    return finish(g, g("Concat", *parts, axis=1))


@graph
def wide_sum(n):
    g = Graph()
    parts = [g("Mul", "x", g.constant(np.float32(k))) for k in range(max(1, n - 1))]
    return finish(g, g("Sum", *parts))


@graph
def wide_maximum_of_dense(n):
    g = Graph()
    parts = [g("MatMul", "x", g.weight(8, 8)) for k in range(max(1, n - 1))]
    return finish(g, g("Max", *parts))


@graph
def wide_split(n):
    g = Graph()
    count = max(2, n // 2)
    parts = g("Split", "x", outputs=count, axis=0)
    parts = [g("Relu", p) for p in parts]
    return finish(g, g("Concat", *parts, axis=0), (("x", F32, [4 * count, 8]),))


@graph
def many_outputs(n):
    g = Graph()
    names = [g("Mul", "x", g.constant(np.float32(k))) for k in range(n)]
    return g.model([("x", F32, ["n", 8])], [(name, F32, ["n", 8]) for name in names])


@graph
def many_inputs(n):
    g, y = Graph(), "x0"
    for k in range(1, n):
        y = g("Add", y, f"x{k}")
    return finish(g, y, [(f"x{k}", F32, ["n", 8]) for k in range(n)])


@graph
def many_symbols(n):
    """Every input has a size of its own."""
    g = Graph()
    parts = [g("Relu", f"x{k}") for k in range(n)]
    return finish(g, g("Concat", *parts, axis=0), [(f"x{k}", F32, [f"n{k}", 8]) for k in range(n)])


@graph
def dead_branches(n):
    g = Graph()
    for _ in range(n):
        g("Tanh", "x")
    return finish(g, "x")


# ---- control flow, functions, sequences


def branch(name, *nodes_of_output):
    """A graph without inputs: its nodes, then the name of its output."""
    *nodes, output = nodes_of_output
    return helper.make_graph(nodes, name, [], [helper.make_tensor_value_info(output, F32, None)])


def simple_if(g, x, k, cond="c"):
    then = branch("then", helper.make_node("Relu", [x], [f"t{k}"]), f"t{k}")
    otherwise = branch("else", helper.make_node("Tanh", [x], [f"e{k}"]), f"e{k}")
    return g("If", cond, then_branch=then, else_branch=otherwise)


@graph
def ifs_in_a_row(n):
    return repeated(lambda g, x, k: simple_if(g, x, k), n, 3, (("x", F32, ["n", 8]), ("c", BOOL, [])))


@graph
def ifs_side_by_side(n):
    g = Graph()
    parts = [simple_if(g, "x", k) for k in range(max(1, n // 3))]
    return finish(g, g("Sum", *parts), (("x", F32, ["n", 8]), ("c", BOOL, [])))


def simple_loop(g, x, k, trip):
    body = helper.make_graph(
        [helper.make_node("Identity", [f"cin{k}"], [f"cout{k}"]), helper.make_node("Tanh", [f"v{k}"], [f"w{k}"])],
        "body",
        [
            helper.make_tensor_value_info(f"i{k}", I64, []),
            helper.make_tensor_value_info(f"cin{k}", BOOL, []),
            helper.make_tensor_value_info(f"v{k}", F32, ["n", 8]),
        ],
        [helper.make_tensor_value_info(f"cout{k}", BOOL, []), helper.make_tensor_value_info(f"w{k}", F32, ["n", 8])],
    )
    return g("Loop", trip, "", x, body=body)


@graph
def loops_in_a_row(n):
    return repeated(lambda g, x, k: simple_loop(g, x, k, "trips"), n, 3, (("x", F32, ["n", 8]), ("trips", I64, [])))


@graph
def recurrent_chain(n):
    def step(g, x, k):
        return g("Squeeze", g("LSTM", x, g.weight(1, 32, 8), g.weight(1, 32, 8), hidden_size=8), ints(g, 1))

    return repeated(step, n, 2, (("x", F32, ["seq", "batch", 8]),))


@graph
def calls_in_a_row(n):
    body = [helper.make_node("Relu", ["a"], ["b"]), helper.make_node("Tanh", ["b"], ["c"])]
    function = helper.make_function("local", "Act", ["a"], ["c"], body, [helper.make_opsetid("", 17)])
    g, x = Graph(), "x"
    for k in range(max(1, n // 2)):
        g.nodes.append(helper.make_node("Act", [x], [f"v{k}"], domain="local"))
        x = f"v{k}"
    model = finish(g, x)
    model.functions.append(function)
    model.opset_import.append(helper.make_opsetid("local", 1))
    return model


@graph
def sequence_inserts(n):
    g = Graph()
    s = g("SequenceEmpty")
    for _ in range(max(1, n)):
        s = g("SequenceInsert", s, "x")
    return finish(g, g("ConcatFromSequence", s, axis=0))
