"""Small models that ask for much: BOMBS[name](), an onnx.ModelProto of a few kilobytes."""

import numpy as np
from compile_graphs import (
    BOOL,
    branch,
    elementwise_chain,
    finish,
    ints,
    layer_norm_chain,
    repeated,
    resize_chain,
    shifted_sum_chain,
    wide_concat,
    wide_sum,
)
from models import F32, I64, Graph
from onnx import TensorProto, helper

BOMBS = {}


def bomb(function):
    BOMBS[function.__name__] = function
    return function


@bomb
def shifted_sums():
    return shifted_sum_chain(60)


@bomb
def shifted_wheres():
    def step(g, x, k):
        a = g("Slice", x, ints(g, 1), ints(g, 2**60), ints(g, 0))
        b = g("Slice", x, ints(g, 0), ints(g, -1), ints(g, 0))
        return g("Where", g("Less", a, b), a, b)

    return repeated(step, 80, 4)


@bomb
def shifted_pads():
    def step(g, x, k):
        return g("Add", g("Pad", x, ints(g, 1, 0, 0, 0)), g("Pad", x, ints(g, 0, 0, 1, 0)))

    return repeated(step, 60, 3)


@bomb
def shifted_pads_mixed():
    def step(g, x, k):
        return g(
            "Mul",
            g("Pad", x, ints(g, 1, 0, 1, 0), mode="reflect"),
            g("Concat", x, g("Slice", x, ints(g, 0), ints(g, 2), ints(g, 0)), axis=0),
        )

    return repeated(step, 80, 4)


@bomb
def reversed_sums():
    def step(g, x, k):
        return g("Add", x, g("Slice", x, ints(g, -1), ints(g, -(2**60)), ints(g, k % 2), ints(g, -1)))

    return repeated(step, 50, 2)


@bomb
def transposed_sums():
    return repeated(lambda g, x, k: g("Add", x, g("Transpose", x, perm=[1, 0])), 60, 2, (("x", F32, ["n", "n"]),))


@bomb
def tiled_sums():
    def step(g, x, k):
        return g("Add", g("Tile", x, ints(g, 2, 1)), g("Concat", x, x, axis=0))

    return repeated(step, 60, 3)


@bomb
def gathered_sums():
    return repeated(
        lambda g, x, k: g("Add", g("Gather", x, "i", axis=0), g("Gather", x, "j", axis=0)),
        60,
        3,
        (("x", F32, ["n", 8]), ("i", I64, ["n"]), ("j", I64, ["n"])),
    )


@bomb
def gathered_by_values():
    """Positions that are made of positions."""
    return repeated(
        lambda g, x, k: g("Gather", x, g("Mod", g("Add", x, x), g.constant(np.int64(7))), axis=0),
        60,
        3,
        (("x", I64, ["n"]),),
        dtype=I64,
    )


def other_ranks(depth):
    """Branches that give another rank, and further Ifs behind them."""
    g, x = Graph(), "x"
    for k in range(depth):
        then = branch("then", helper.make_node("Unsqueeze", [x, "axis0"], [f"t{k}"]), f"t{k}")
        otherwise = branch("else", helper.make_node("Relu", [x], [f"e{k}"]), f"e{k}")
        x = g("If", f"c{k}", then_branch=then, else_branch=otherwise)
    g.initializers.append(helper.make_tensor("axis0", I64, [1], [0]))
    y = g("ReduceSum", x, keepdims=0)
    return finish(g, y, [("x", F32, ["n", 8])] + [(f"c{k}", BOOL, []) for k in range(depth)], rank=0)


@bomb
def ifs_of_other_ranks():
    return other_ranks(15)


@bomb
def nested_ifs_of_other_ranks():
    def nest(k, x):
        if k == 0:
            return [helper.make_node("Relu", [x], ["r0"])], "r0"
        nodes, out = nest(k - 1, x)
        then = helper.make_graph(nodes, "then", [], [helper.make_tensor_value_info(out, F32, None)])
        otherwise = branch("else", helper.make_node("Unsqueeze", [x, "axis0"], [f"e{k}"]), f"e{k}")
        made = [
            helper.make_node("If", [f"c{k}"], [f"i{k}"], then_branch=then, else_branch=otherwise),
            helper.make_node("Unsqueeze" if k % 2 else "Relu", [f"i{k}", "axis0"] if k % 2 else [f"i{k}"], [f"r{k}"]),
        ]
        return made, f"r{k}"

    g = Graph()
    nodes, out = nest(15, "x")
    g.nodes += nodes
    g.initializers.append(helper.make_tensor("axis0", I64, [1], [0]))
    y = g("ReduceSum", out, keepdims=0)
    return finish(g, y, [("x", F32, ["n", 8])] + [(f"c{k}", BOOL, []) for k in range(1, 16)], rank=0)


def calling_twice(depth, op="Add"):
    functions = [
        helper.make_function("local", "F0", ["a"], ["r"], [helper.make_node("Tanh", ["a"], ["r"])], [helper.make_opsetid("", 17)])
    ]
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("local", 1)]
    for k in range(1, depth + 1):
        body = [
            helper.make_node(f"F{k - 1}", ["a"], ["p"], domain="local"),
            helper.make_node(f"F{k - 1}", ["p"], ["q"], domain="local"),
            helper.make_node(op, ["p", "q"], ["r"]),
        ]
        functions.append(helper.make_function("local", f"F{k}", ["a"], ["r"], body, opsets))
    g = Graph()
    g.nodes.append(helper.make_node(f"F{depth}", ["x"], ["v"], domain="local"))
    model = finish(g, "v")
    model.functions.extend(functions)
    model.opset_import.append(helper.make_opsetid("local", 1))
    return model


@bomb
def functions_that_call_twice():
    return calling_twice(12)


@bomb
def functions_that_call_products_twice():
    return calling_twice(12, "Mul")


def sizes_of(step, times, dtype=I64):
    """A size made by arithmetic on a size."""
    g = Graph()
    size = g("Shape", "x")
    for k in range(times):
        size = step(g, size, k)
    return finish(g, g("Expand", g.constant(np.float32(1)), size), (("x", F32, ["n"]),))


@bomb
def squared_sizes():
    return sizes_of(lambda g, s, k: g("Mul", s, s), 16)


@bomb
def squared_sums_of_sizes():
    def step(g, s, k):
        t = g("Add", s, ints(g, k + 1))
        return g("Mul", t, t)

    return sizes_of(step, 16)


@bomb
def floored_sizes():
    def step(g, s, k):
        return g("Div", g("Add", g("Mul", s, ints(g, 3)), ints(g, 1)), ints(g, 2))

    return sizes_of(step, 32)


@bomb
def floored_sums_of_sizes():
    def step(g, s, k):
        return g("Add", s, g("Div", g("Mul", s, s), ints(g, k + 2)))

    return sizes_of(step, 24)


@bomb
def floored_by_sizes():
    def step(g, s, k):
        return g("Add", g("Div", g("Mul", s, ints(g, 5)), g("Add", s, ints(g, 1))), s)

    return sizes_of(step, 24)


@bomb
def remainders_of_sizes():
    def step(g, s, k):
        return g("Add", g("Mod", g("Mul", s, s), g("Add", s, ints(g, k + 1))), s)

    return sizes_of(step, 24)


@bomb
def smallest_of_sizes():
    def step(g, s, k):
        return g("Min", g("Mul", s, ints(g, k + 2)), g("Max", g("Sub", g("Mul", s, s), ints(g, k)), ints(g, 1)))

    return sizes_of(step, 24)


@bomb
def powers_of_sizes_of_many_axes():
    g = Graph()
    axes = [f"a{k}" for k in range(8)]
    size = g("ReduceProd", g("Add", g("Shape", "x"), g.constant(np.arange(1, 9))), axes=[0], keepdims=1)
    size = g("Mul", size, size)
    size = g("Mul", g("Add", size, ints(g, 1)), g("Add", size, ints(g, 2)))
    return finish(g, g("Expand", g.constant(np.float32(1)), size), (("x", F32, axes),), rank=1)


@bomb
def resizes_in_a_row():
    return resize_chain(25)


@bomb
def resizes_by_sizes():
    def step(g, x, k):
        hw = g("Div", g("Mul", g("Slice", g("Shape", x), ints(g, 2), ints(g, 4)), ints(g, 3, 5)), ints(g, 2, 4))
        return g("Resize", x, "", "", g("Concat", g("Slice", g("Shape", x), ints(g, 0), ints(g, 2)), hw, axis=0), mode="cubic")

    return repeated(step, 25 * 7, 7, (("x", F32, ["n", 2, "h", "w"]),))


@bomb
def strided_convs_in_a_row():
    def step(g, x, k):
        return g(
            "ConvTranspose", g("Conv", x, g.weight(4, 4, 3, 3), strides=[2, 2], pads=[1] * 4), g.weight(4, 4, 3, 3), strides=[2, 2]
        )

    return repeated(step, 50, 2, (("x", F32, ["n", 4, "h", "w"]),))


@bomb
def windows_over_sizes():
    """Sizes that are divided at every step."""
    return repeated(
        lambda g, x, k: g(
            "Concat",
            g("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2], ceil_mode=1),
            g("AveragePool", x, kernel_shape=[3, 3], strides=[2, 2]),
            axis=2,
        ),
        60,
        3,
        (("x", F32, ["n", 4, "h", "w"]),),
    )


@bomb
def sum_of_120_symbols():
    g = Graph()
    total = g("Sum", *[f"x{k}" for k in range(120)])
    return finish(g, total, [(f"x{k}", F32, [f"n{k}"]) for k in range(120)], rank=1)


@bomb
def sums_of_120_symbols():
    g, total = Graph(), "x0"
    for k in range(1, 120):
        total = g("Add", total, f"x{k}")
    return finish(g, total, [(f"x{k}", F32, [f"n{k}", f"m{k}"]) for k in range(120)], rank=2)


@bomb
def concat_of_120_symbols():
    g = Graph()
    long = g("Concat", *[f"x{k}" for k in range(120)], axis=0)
    return finish(
        g, g("Mul", long, g("Transpose", g("Unsqueeze", long, ints(g, 0)))), [(f"x{k}", F32, [f"n{k}"]) for k in range(120)], rank=2
    )


@bomb
def product_of_60_symbols():
    g = Graph()
    sizes = [g("Add", g("Shape", f"x{k}"), ints(g, k)) for k in range(60)]
    size = sizes[0]
    for s in sizes[1:]:
        size = g("Mul", size, s)
    return finish(g, g("Expand", g.constant(np.float32(1)), size), [(f"x{k}", F32, [f"n{k}"]) for k in range(60)], rank=1)


@bomb
def thousand_elementwise():
    return elementwise_chain(1000)


@bomb
def four_hundred_layer_norms():
    return layer_norm_chain(9 * 400)


@bomb
def four_hundred_layer_normalizations():
    return repeated(lambda g, x, k: g("LayerNormalization", x, g.weight(8), g.weight(8), axis=-1), 400, 1)


@bomb
def sum_of_2000():
    return wide_sum(2001)


@bomb
def sum_of_2000_inputs():
    g = Graph()
    return finish(g, g("Sum", *[f"x{k}" for k in range(2000)]), [(f"x{k}", F32, ["n", 8]) for k in range(2000)])


@bomb
def split_into_200():
    g = Graph()
    parts = g("Split", "x", outputs=200, axis=0)
    return g.model([("x", F32, ["n", 8])], [(p, F32, None) for p in parts], 17)


@bomb
def split_by_num_outputs():
    g = Graph()
    parts = g("Split", "x", outputs=200, axis=1, num_outputs=200)
    total = g("Sum", *parts)
    return finish(g, total, (("x", F32, ["n", "m"]),), opset=18)


@bomb
def axes_that_are_inputs():
    g = Graph()
    g("ReduceSum", g("Unsqueeze", "x", "where"), "axes", keepdims=0, name="y")
    return g.model([("x", F32, ["a", "b", "c"]), ("where", I64, [2]), ("axes", I64, [2])], [("y", F32, None)])


@bomb
def reduction_over_open_axes():
    g = Graph()
    g("ReduceMean", "x", "axes", keepdims=0, name="y")
    return g.model([("x", F32, ["a", "b", "c", "d", "e"]), ("axes", I64, ["m"])], [("y", F32, None)], 18)


@bomb
def reductions_over_open_axes():
    g = Graph()
    a = g("ReduceMax", "x", "axes", keepdims=1)
    b = g("ReduceL2", g("Sub", "x", a), "axes", keepdims=0)
    g("Exp", b, name="y")
    return g.model([("x", F32, ["a", "b", "c", "d"]), ("axes", I64, ["m"])], [("y", F32, None)], 18)


@bomb
def deformconv_groups():
    g = Graph()
    y = g(
        "DeformConv",
        "x",
        g.weight(8, 2, 3, 3),
        "offset",
        g.weight(8),
        "mask",
        group=2,
        offset_group=2,
        pads=[1] * 4,
        kernel_shape=[3, 3],
    )
    return finish(
        g, y, [("x", F32, ["n", 4, "h", "w"]), ("offset", F32, ["n", 36, "h", "w"]), ("mask", F32, ["n", 18, "h", "w"])], opset=19
    )


@bomb
def deformconv_wide():
    g = Graph()
    y = g("DeformConv", "x", g.weight(16, 4, 5, 5), "offset", group=4, offset_group=1, pads=[2] * 4, kernel_shape=[5, 5])
    return finish(g, y, [("x", F32, ["n", 16, "h", "w"]), ("offset", F32, ["n", 50, "h", "w"])], opset=19)


@bomb
def thousand_branches_into_concat():
    return wide_concat(1001)


@bomb
def thousand_branches_of_open_sizes():
    g = Graph()
    parts = [g("Compress", "x", g("Greater", "x", g.constant(np.float32(k))), axis=0) for k in range(300)]
    return finish(g, g("Concat", *parts, axis=0), (("x", F32, ["n"]),))


@bomb
def transposed_depthwise():
    g = Graph()
    y = g("ConvTranspose", "x", g.weight(64, 1, 4, 4), strides=[2, 2], pads=[1] * 4, group=64)
    return finish(g, y, (("x", F32, ["n", 64, "h", "w"]),))


@bomb
def transposed_wide_strides():
    g = Graph()
    y = g("ConvTranspose", "x", g.weight(8, 8, 16, 16), strides=[8, 8], pads=[4] * 4)
    return finish(g, y, (("x", F32, ["n", 8, "h", "w"]),))


# What every recurrent layer takes, each size open.
RECURRENT = (
    ("x", F32, ["s", "b", "i"]),
    ("w", F32, ["d", "g", "i2"]),
    ("r", F32, ["d2", "g2", "h0"]),
    ("b", F32, ["d3", "g3"]),
)


@bomb
def gru_of_custom_activations():
    g = Graph()
    y = g(
        "GRU",
        "x",
        "w",
        "r",
        "b",
        "lengths",
        "h",
        outputs=2,
        hidden_size=8,
        direction="bidirectional",
        linear_before_reset=1,
        activations=["Affine", "ScaledTanh", "HardSigmoid", "Elu"],
        activation_alpha=[0.5, 0.7, 0.2, 0.9],
        activation_beta=[0.1, 0.8, 0.4],
        clip=3.0,
    )[0]
    return finish(
        g,
        y,
        [
            *RECURRENT,
            ("lengths", TensorProto.INT32, ["b2"]),
            ("h", F32, ["d4", "b4", "h4"]),
        ],
        rank=4,
    )


@bomb
def lstm_of_custom_activations():
    g = Graph()
    y = g(
        "LSTM",
        "x",
        "w",
        "r",
        "b",
        "",
        "h",
        "c",
        "p",
        outputs=3,
        hidden_size=8,
        direction="bidirectional",
        activations=["Softsign", "Softplus", "ThresholdedRelu", "LeakyRelu", "Affine", "HardSigmoid"],
        activation_alpha=[1.0, 0.2, 0.5, 0.2],
        activation_beta=[0.1, 0.4],
        input_forget=1,
    )[0]
    return finish(
        g,
        y,
        [
            *RECURRENT,
            ("h", F32, ["d4", "b4", "h4"]),
            ("c", F32, ["d5", "b5", "h5"]),
            ("p", F32, ["d6", "p6"]),
        ],
        rank=4,
    )


@bomb
def nested_loops():
    """Loops six deep over one carried value that grows."""

    def body(depth):
        k = depth
        inner = (
            [helper.make_node("Loop", ["three", "", f"v{k}"], [f"w{k}"], body=body(depth - 1))]
            if depth
            else [helper.make_node("Concat", [f"v{k}", "x"], [f"w{k}"], axis=0)]
        )
        return helper.make_graph(
            [helper.make_node("Identity", [f"cin{k}"], [f"cout{k}"]), *inner],
            "body",
            [
                helper.make_tensor_value_info(f"i{k}", I64, []),
                helper.make_tensor_value_info(f"cin{k}", BOOL, []),
                helper.make_tensor_value_info(f"v{k}", F32, [None, 8]),
            ],
            [helper.make_tensor_value_info(f"cout{k}", BOOL, []), helper.make_tensor_value_info(f"w{k}", F32, [None, 8])],
        )

    g = Graph()
    g.initializers.append(helper.make_tensor("three", I64, [], [3]))
    return finish(g, g("Loop", "three", "", "x", body=body(6)))


@bomb
def deep_ifs():
    """Ifs 12 deep."""

    def nest(k):
        if k == 0:
            return [helper.make_node("Relu", ["x"], ["r0"])]
        then = helper.make_graph(nest(k - 1), "then", [], [helper.make_tensor_value_info(f"r{k - 1}", F32, None)])
        otherwise = branch("else", helper.make_node("Tanh", ["x"], [f"e{k}"]), f"e{k}")
        return [helper.make_node("If", [f"c{k % 4}"], [f"r{k}"], then_branch=then, else_branch=otherwise)]

    g = Graph()
    g.nodes += nest(12)
    return finish(g, "r12", [("x", F32, ["n", 8])] + [(f"c{k}", BOOL, []) for k in range(4)])


@bomb
def einsum_of_many_axes():
    g = Graph()
    y = g("Einsum", "a", "b", "c", equation="abcdefgh,hgfedcba,aceg->bdfh")
    axes = [f"s{k}" for k in range(8)]
    return finish(g, y, [("a", F32, axes), ("b", F32, axes[::-1]), ("c", F32, axes[::2])], rank=4)


@bomb
def broadcasts_of_rank_8():
    g, y = Graph(), "x0"
    for k in range(1, 24):
        y = g("Add", y, f"x{k}")
    return finish(g, y, [(f"x{k}", F32, [f"d{k}_{a}" for a in range(8)]) for k in range(24)])


@bomb
def squeezes_of_open_axes():
    g = Graph()
    g("Squeeze", g("Unsqueeze", "x", "axes"), "others", name="y")
    return g.model([("x", F32, ["a", "b", "c"]), ("axes", I64, [2]), ("others", I64, ["m"])], [("y", F32, None)])
