#!/usr/bin/env python3
"""How soon a run ends that is cancelled: one operator after another, at sizes that run long, on one thread.

  cancel.py [NAME ...] [--after SECONDS] [--limit MS] [--repeat N] [--loop SECONDS | --long SECONDS]

Prints for each operator how long it ran before, and how long it went on after cancel(): by the CPU clock of its thread, and by the
wall clock, which counts what other processes take from it. A run that ends by itself is cancelled sooner; `short` is one
that leaves no time for that. With --loop the operator is the body of a compiled loop that never ends, and each run is cancelled at a
random moment of so many seconds; with --long so are the operators whose run lasts ten seconds within 4 GB, at sizes at which it does.
"""
import argparse
import sys
import threading
import time

import numpy as np
import onnx
from onnx import TensorProto as T, helper as H, numpy_helper as NH

import pliant

ETYPE = {np.dtype(k): v for k, v in (
    (np.float32, T.FLOAT), (np.float64, T.DOUBLE), (np.float16, T.FLOAT16), (np.int64, T.INT64), (np.int32, T.INT32), (np.uint8, T.UINT8),
    (np.int8, T.INT8), (bool, T.BOOL))}
R = np.random.default_rng(0)
BIG = 1 << 25
CASES = {}


def f(*shape):
    return R.random(shape, np.float32)


def ints(high, *shape):
    return R.integers(0, high, shape, np.int64)


def node(op, inputs, outputs="y", **attrs):
    return H.make_node(op, inputs.split(), outputs.split(), **attrs)


def case(name, nodes, feed, inits=None, outs="y", opset=20, fixed="", sequence=False):
    """`feed` makes the inputs; every axis is a symbol but those named in `fixed`: "x1 w0"."""
    CASES[name] = (nodes if isinstance(nodes, list) else [nodes], feed, inits or {}, outs.split(), opset, set(fixed.split()), sequence)


def build(name):
    nodes, feed, inits, outs, opset, fixed, sequence = CASES[name]
    feed = {k: np.asarray(v) for k, v in feed().items()}
    ins = [H.make_tensor_value_info(k, ETYPE[v.dtype], [int(d) if f"{k}{a}" in fixed else f"{k}{a}" for a, d in enumerate(v.shape)])
           for k, v in feed.items()]
    made = [H.make_empty_tensor_value_info(o) for o in outs]
    if sequence:
        made = [H.make_tensor_sequence_value_info(outs[0], T.FLOAT, None)]
    graph = H.make_graph(nodes, "g", ins, made, [NH.from_array(np.asarray(v), k) for k, v in inits.items()])
    domains = {n.domain for n in nodes} | {""}
    model = H.make_model(graph, opset_imports=[H.make_opsetid(d, 1 if d else opset) for d in sorted(domains)])
    model.ir_version = 10
    if not sequence:
        model = onnx.shape_inference.infer_shapes(model)
        for o in model.graph.output:
            if o.type.HasField("tensor_type") and not o.type.tensor_type.elem_type:
                o.type.tensor_type.elem_type = T.FLOAT
    return model, feed


def looped(model, feed):
    """The model as the body of a loop that never ends, each iteration of which reads what the one before it computed."""
    g = model.graph
    inputs = {i.name: i for i in g.input}
    names = [k for k, v in feed.items() if v.ndim and v.size > 1] or list(feed)
    first, body = names[0], []
    kind = inputs[first].type.tensor_type.elem_type
    if kind == T.BOOL:
        body += [node("Less", "zero carried", "extra"), node("Or", "extra " + first, "first")]
    else:
        body += [node("Cast", "carried", "extra", to=kind), node("Add", "extra " + first, "first")]
    for n in g.node:
        copy = onnx.NodeProto()
        copy.CopyFrom(n)
        for k, used in enumerate(copy.input):
            if used == first:
                copy.input[k] = "first"
        body.append(copy)
    out = g.output[0].name
    body += [node("Cast", out, "as_float", to=T.FLOAT), node("ReduceMax", "as_float", "most", keepdims=0), node("Mul", "most zero", "none"),
             node("IsNaN", "none", "bad"), node("Where", "bad zero none", "next"), node("Identity", "going", "goes")]
    scalar = [H.make_tensor_value_info(k, t, []) for k, t in (("at", T.INT64), ("going", T.BOOL), ("carried", T.FLOAT))]
    made = [H.make_tensor_value_info(k, t, []) for k, t in (("goes", T.BOOL), ("next", T.FLOAT))]
    loop = H.make_node("Loop", ["trips", "", "zero"], ["last"], body=H.make_graph(body, "body", scalar, made))
    constants = [NH.from_array(np.int64(2 ** 62), "trips"), NH.from_array(np.float32(0), "zero"), *g.initializer]
    whole = H.make_model(H.make_graph([loop], "g", g.input, [H.make_tensor_value_info("last", T.FLOAT, [])], constants),
                         opset_imports=model.opset_import)
    whole.ir_version = model.ir_version
    return whole


def elementwise():
    for op in ("Abs Acos Acosh Asin Asinh Atan Atanh Ceil Cos Cosh Elu Celu Erf Exp Floor Gelu HardSigmoid HardSwish LeakyRelu Log "
               "Mish Neg Reciprocal Relu Round Selu Shrink Sigmoid Sign Sin Sinh Softplus Softsign Sqrt Tan Tanh "
               "ThresholdedRelu IsNaN IsInf").split():
        case(op, node(op, "x"), lambda: dict(x=f(BIG)))
        # The same without memory: a group over a size that an input decides.
        if op not in ("IsNaN", "IsInf"):
            case(op + "_sum", [node("Expand", "x n", "e"), node(op, "e", "a"), node("ReduceSum", "a", "y", keepdims=0)],
                 lambda: dict(x=f(1), n=np.array([1 << 40])), fixed="n0")
    for op in "Add Sub Mul Div Pow Min Max Equal Less Greater LessOrEqual GreaterOrEqual PRelu".split():
        case(op, node(op, "x z"), lambda: dict(x=f(BIG), z=f(BIG)))
    for op in "Mod Div BitwiseAnd BitwiseOr BitwiseXor".split():
        case(op + "_i64", node(op, "x z"), lambda: dict(x=ints(1 << 40, BIG), z=ints(1000, BIG) + 1))
    case("Mod_f32", node("Mod", "x z", fmod=1), lambda: dict(x=f(BIG) * 1000, z=f(BIG)))
    for op in "And Or Xor".split():
        case(op, node(op, "x z"), lambda: dict(x=f(4 * BIG) < .5, z=f(4 * BIG) < .5))
    case("Not", node("Not", "x"), lambda: dict(x=f(8 * BIG) < .5))
    case("BitwiseNot", node("BitwiseNot", "x"), lambda: dict(x=ints(1 << 40, BIG)))
    case("Where", node("Where", "c x z"), lambda: dict(c=f(BIG) < .5, x=f(BIG), z=f(BIG)))
    case("Clip", node("Clip", "x l h"), lambda: dict(x=f(BIG)), dict(l=np.float32(.2), h=np.float32(.8)))
    for name, to in (("f16", T.FLOAT16), ("i64", T.INT64), ("bool", T.BOOL), ("f64", T.DOUBLE)):
        case("Cast_" + name, node("Cast", "x", to=to), lambda: dict(x=f(BIG)))
    case("Add_broadcast", node("Add", "x z"), lambda: dict(x=f(6000, 1, 100), z=f(1, 100, 1)))
    case("QuantizeLinear", node("QuantizeLinear", "x s z"), lambda: dict(x=f(4 * BIG)), dict(s=np.float32(.02), z=np.uint8(128)))
    case("DequantizeLinear", node("DequantizeLinear", "x s"), lambda: dict(x=ints(100, BIG).astype(np.int8)), dict(s=np.float32(.02)))
    case("DynamicQuantizeLinear", node("DynamicQuantizeLinear", "x", "y s z"), lambda: dict(x=f(BIG)), outs="y s z")


def arrays():
    case("Transpose_2d", node("Transpose", "x", perm=[1, 0]), lambda: dict(x=f(7000, 6000)))
    case("Transpose_0213", node("Transpose", "x", perm=[0, 2, 1, 3]), lambda: dict(x=f(4, 2000, 64, 64)))
    case("Transpose_long", node("Transpose", "x", perm=[1, 0]), lambda: dict(x=f(3, BIG // 2)))
    case("Expand", node("Expand", "x n"), lambda: dict(x=f(1, 1000), n=np.array([50000, 1000])), fixed="n0")
    case("Slice_reversed", node("Slice", "x s e a t"), lambda: dict(x=f(30000, 1500)),
         dict(s=np.array([-1]), e=np.array([-2 ** 62]), a=np.array([1]), t=np.array([-1])))
    case("Slice_inputs", node("Slice", "x s e a t"),
         lambda: dict(x=f(30000, 1500), s=np.array([-1]), e=np.array([-2 ** 62]), t=np.array([-2])), dict(a=np.array([1])),
              fixed="s0 e0 t0")
    case("Concat", node("Concat", "x z", axis=1), lambda: dict(x=f(20000, 1000), z=f(20000, 500)))
    case("Split", node("Split", "x", "y z w", axis=-1, num_outputs=3), lambda: dict(x=f(10000, 3000)), outs="y z w", fixed="x1")
    for mode in ("constant", "reflect", "edge", "wrap"):
        case("Pad_" + mode, node("Pad", "x p", mode=mode), lambda: dict(x=f(1, 64, 800, 800)), dict(p=np.array([0, 0, 3, 3, 0, 0, 3, 3])))
    case("Tile", node("Tile", "x r"), lambda: dict(x=f(1, 64, 1, 64), r=np.array([100, 1, 100, 1])), fixed="r0")
    case("Gather_rows", node("Gather", "x i"), lambda: dict(x=f(30000, 256), i=ints(30000, 200000)))
    case("Gather_elements_of_axis", node("Gather", "x i", axis=1), lambda: dict(x=f(1000, 1000), i=ints(1000, 40000)))
    case("GatherElements", node("GatherElements", "x i", axis=1), lambda: dict(x=f(2000, 4000), i=ints(4000, 2000, 10000)))
    case("GatherND", node("GatherND", "x i"), lambda: dict(x=f(64, 128, 32), i=np.stack([ints(64, 1 << 20), ints(128, 1 << 20)], 1)),
         fixed="i1")
    for reduction in ("none", "add"):
        case("ScatterElements_" + reduction, node("ScatterElements", "x i u", axis=0, reduction=reduction),
             lambda: dict(x=f(50000, 80), i=ints(50000, 100000, 80), u=f(100000, 80)))
        case("ScatterND_" + reduction, node("ScatterND", "x i u", reduction=reduction),
             lambda: dict(x=f(40000, 128), i=ints(40000, 200000, 1), u=f(200000, 128)), fixed="i1")
    case("TensorScatter", node("TensorScatter", "x u i", axis=1), lambda: dict(x=f(64, 4000, 128), u=f(64, 2000, 128), i=ints(2000,
         64)), opset=24)
    case("Range", node("Range", "s l d"), lambda: dict(s=np.float32(0), l=np.float32(1 << 24), d=np.float32(.125)))
    case("EyeLike", node("EyeLike", "x", dtype=T.FLOAT), lambda: dict(x=f(8000, 8000)))
    case("OneHot", node("OneHot", "x d v"), lambda: dict(x=ints(1000, 60000)), dict(d=np.array([1000]), v=np.array([0, 1], np.float32)))
    case("Trilu", node("Trilu", "x", upper=0), lambda: dict(x=f(64, 1000, 1000)))
    for axis in (0, 1):
        case(f"CumSum_{axis}", node("CumSum", "x a"), lambda: dict(x=f(6000, 6000)), dict(a=np.int64(axis)))
    case("CumSum_row", node("CumSum", "x a"), lambda: dict(x=f(BIG)), dict(a=np.int64(0)))
    case("DepthToSpace", node("DepthToSpace", "x", blocksize=2, mode="CRD"), lambda: dict(x=f(1, 64, 800, 800)), fixed="x1")
    case("SpaceToDepth", node("SpaceToDepth", "x", blocksize=2), lambda: dict(x=f(1, 64, 800, 800)), fixed="x1")
    case("ReverseSequence", node("ReverseSequence", "x l", batch_axis=0, time_axis=1), lambda: dict(x=f(16, 5000, 512), l=ints(5000,
         16) + 1))
    case("Col2Im", node("Col2Im", "x i b", pads=[1] * 4), lambda: dict(x=f(4, 32 * 9, 256 * 256)),
         dict(i=np.array([256, 256]), b=np.array([3, 3])), fixed="x1")
    case("CenterCropPad", node("CenterCropPad", "x s"), lambda: dict(x=f(6000, 6000)), dict(s=np.array([7000, 5000])))
    for mode in ("nearest", "linear", "cubic"):
        case("Resize_" + mode, node("Resize", "x  s".replace("  ", " r "), mode=mode), lambda: dict(x=f(1, 32, 400, 400)),
             dict(r=np.array([], np.float32), s=np.array([1, 1, 3, 3], np.float32)))
    case("Resize_antialias", node("Resize", "x r q z", mode="linear", antialias=1), lambda: dict(x=f(4, 3, 2000, 2000)),
         dict(r=np.array([], np.float32), q=np.array([], np.float32), z=np.array([4, 3, 900, 900])))
    case("NonZero", node("NonZero", "x"), lambda: dict(x=f(1 << 13, 1 << 12) < .5))
    case("Compress", node("Compress", "x c"), lambda: dict(x=f(2 * BIG), c=f(2 * BIG) < .5))
    case("Compress_rows", node("Compress", "x c", axis=0), lambda: dict(x=f(200000, 200), c=f(200000) < .7))
    case("Unique", node("Unique", "x", "y i j k"), lambda: dict(x=ints(1 << 40, BIG // 4)), outs="y i j k")
    case("Unique_unsorted", node("Unique", "x", sorted=0), lambda: dict(x=ints(1 << 20, BIG // 4)))
    case("Unique_axis", node("Unique", "x", axis=0), lambda: dict(x=ints(2, 1 << 18, 64)))
    case("Unique_long_slices", node("Unique", "x", axis=0), lambda: dict(x=np.zeros((64, 1 << 19), np.float32)))
    for k in (5, 1000, 1 << 20, BIG // 2):
        case(f"TopK_{k}", node("TopK", "x k", "y j"), lambda k=k: dict(x=f(BIG), k=np.array([k])), outs="y j", fixed="k0")
    case("TopK_axis0", node("TopK", "x k", "y j", axis=0), lambda: dict(x=f(6000, 6000), k=np.array([500])), outs="y j", fixed="k0")
    case("HannWindow", node("HannWindow", "n"), lambda: dict(n=np.int64(2 * BIG)))
    case("AffineGrid", node("AffineGrid", "t n"), lambda: dict(t=f(8, 2, 3), n=np.array([8, 3, 1500, 1500])), fixed="n0 t1 t2")
    case("Det", node("Det", "x"), lambda: dict(x=f(1 << 21, 4, 4)), fixed="x1 x2")


def reductions():
    for op in "ReduceSum ReduceMean ReduceMax ReduceMin ReduceProd ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceSumSquare".split():
        for name, shape, axis in (("row", (1, 2 * BIG), 1), ("rows", (2 * BIG // 4000, 4000), 1), ("columns", (2 * BIG // 4000, 4000),
             0)):
            case(f"{op}_{name}", node(op, "x a"), lambda shape=shape: dict(x=f(*shape)), dict(a=np.array([axis])))
        case(op + "_expanded", [node("Expand", "x n", "e"), node(op, "e", keepdims=0)], lambda: dict(x=f(1), n=np.array([1 << 40])),
             fixed="n0")
        case(op + "_expanded_rows", [node("Expand", "x n", "e"), node(op, "e a", keepdims=0)],
             lambda: dict(x=f(1, 1), n=np.array([1 << 24, 1 << 24])), dict(a=np.array([1])), fixed="n0")
    for op in ("ArgMax", "ArgMin"):
        for axis in (0, 1):
            case(f"{op}_{axis}", node(op, "x", axis=axis), lambda: dict(x=f(4000, 16000)))
        case(op + "_row", node(op, "x", axis=1), lambda: dict(x=f(1, 2 * BIG)))


def network():
    for size, name in ((3000, ""), (2000, "_inputs")):
        case("MatMul" + name, node("MatMul", "x w"), lambda size=size: dict(x=f(4 * size, size), w=f(size, size)))
    case("MatMul_long", node("MatMul", "x w"), lambda: dict(x=f(2, BIG), w=f(BIG, 2)))
    case("MatMul_constant", node("MatMul", "x w"), lambda: dict(x=f(20000, 2000)), dict(w=f(2000, 2000)), fixed="x1")
    case("MatMul_f64", node("MatMul", "x w"), lambda: dict(x=f(3000, 3000).astype(float), w=f(3000, 3000).astype(float)))
    case("MatMul_f16", node("MatMul", "x w"), lambda: dict(x=f(3000, 1000).astype(np.float16), w=f(1000, 1000).astype(np.float16)))
    case("Gemm", node("Gemm", "x w b", transB=1), lambda: dict(x=f(8000, 2000)), dict(w=f(2000, 2000), b=f(2000)), fixed="x1")
    case("Einsum", node("Einsum", "x z", equation="bqhd,bkhd->bhqk"), lambda: dict(x=f(4, 1500, 12, 64), z=f(4, 1500, 12, 64)))
    case("Einsum_outer", node("Einsum", "x z", equation="bi,bj->bij"), lambda: dict(x=f(64, 800), z=f(64, 800)))
    case("Conv", node("Conv", "x w", pads=[1] * 4), lambda: dict(x=f(4, 64, 400, 400)), dict(w=f(64, 64, 3, 3)), fixed="x1")
    case("Conv_weight_input", node("Conv", "x w", pads=[1] * 4), lambda: dict(x=f(2, 64, 300, 300), w=f(64, 64, 3, 3)),
         fixed="x1 w0 w1 w2 w3")
    case("Conv_1d", node("Conv", "x w", dilations=[5], pads=[5, 5]), lambda: dict(x=f(1, 64, 300000)), dict(w=f(64, 64, 3)), fixed="x1")
    case("Conv_3d", node("Conv", "x w", pads=[1] * 6), lambda: dict(x=f(1, 16, 64, 128, 128)), dict(w=f(16, 16, 3, 3, 3)), fixed="x1")
    case("Conv_depthwise", node("Conv", "x w", pads=[3] * 4, group=96), lambda: dict(x=f(2, 96, 500, 500)), dict(w=f(96, 1, 7, 7)),
         fixed="x1")
    case("Conv_group4", node("Conv", "x w", pads=[1] * 4, group=4), lambda: dict(x=f(2, 128, 300, 300)), dict(w=f(128, 32, 3, 3)),
         fixed="x1")
    case("ConvTranspose", node("ConvTranspose", "x w", strides=[2, 2], pads=[1] * 4), lambda: dict(x=f(2, 64, 200, 200)),
         dict(w=f(64, 32, 4, 4)), fixed="x1")
    case("DeformConv", node("DeformConv", "x w o", pads=[1] * 4), lambda: dict(x=f(1, 16, 300, 300), o=f(1, 18, 300, 300)),
         dict(w=f(16, 16, 3, 3)), fixed="x1 o1")
    for op in ("MaxPool", "AveragePool", "LpPool"):
        case(op, node(op, "x", kernel_shape=[3, 3], pads=[1] * 4), lambda: dict(x=f(4, 64, 400, 400)))
        case(op + "_large", node(op, "x", kernel_shape=[301, 301], pads=[150] * 4), lambda: dict(x=f(4, 16, 400, 400)))
    case("MaxPool_positions", node("MaxPool", "x", "y j", kernel_shape=[2, 2], strides=[2, 2]), lambda: dict(x=f(4, 64, 500, 500)),
         outs="y j")
    for op in ("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool"):
        case(op, node(op, "x"), lambda: dict(x=f(1, 16, 2000, 2000)))
    case("MaxUnpool", node("MaxUnpool", "x i", kernel_shape=[2, 2], strides=[2, 2]),
         lambda: dict(x=f(4, 64, 250, 250), i=ints(4 * 64 * 500 * 500, 4, 64, 250, 250)))
    case("MaxRoiPool", node("MaxRoiPool", "x r", pooled_shape=[7, 7]),
         lambda: dict(x=f(1, 64, 100, 100), r=np.concatenate([np.zeros((500, 1)), np.sort(R.uniform(0, 99, (500, 2, 2)), 1).reshape(500,
              4)], 1)
                      .astype(np.float32)), fixed="r1")
    for ratio in (0, 2):
        case(f"RoiAlign_{ratio}", node("RoiAlign", "x r b", output_height=7, output_width=7, sampling_ratio=ratio),
             lambda: dict(x=f(1, 64, 100, 100), r=np.sort(R.uniform(0, 99, (2000, 2, 2)), 1).reshape(2000, 4).astype(np.float32),
                          b=np.zeros(2000, np.int64)), fixed="r1")
    for mode in ("linear", "nearest", "cubic"):
        case("GridSample_" + mode, node("GridSample", "x g", mode=mode),
             lambda: dict(x=f(1, 32, 400, 400), g=R.uniform(-1, 1, (1, 600, 600, 2)).astype(np.float32)), fixed="g3")
    for op in ("Softmax", "LogSoftmax", "Hardmax"):
        for name, shape, axis in (("row", (1, BIG), 1), ("rows", (BIG // 1000, 1000), 1), ("columns", (BIG // 1000, 1000), 0)):
            case(f"{op}_{name}", node(op, "x", axis=axis), lambda shape=shape: dict(x=f(*shape)))
    case("LayerNormalization", node("LayerNormalization", "x s b"), lambda: dict(x=f(40000, 768)), dict(s=f(768), b=f(768)), fixed="x1")
    case("LayerNormalization_row", node("LayerNormalization", "x s"), lambda: dict(x=f(1, BIG), s=f(BIG)))
    case("RMSNormalization", node("RMSNormalization", "x s"), lambda: dict(x=f(40000, 768)), dict(s=f(768)), opset=23, fixed="x1")
    case("GroupNormalization", node("GroupNormalization", "x s b", num_groups=8), lambda: dict(x=f(4, 64, 350, 350)), dict(s=f(64),
         b=f(64)),
         opset=21, fixed="x1")
    case("InstanceNormalization", node("InstanceNormalization", "x s b"), lambda: dict(x=f(4, 64, 350, 350)), dict(s=f(64), b=f(64)),
         fixed="x1")
    case("BatchNormalization", node("BatchNormalization", "x s b m v"), lambda: dict(x=f(4, 64, 350, 350)),
         dict(s=f(64), b=f(64), m=f(64), v=f(64)), fixed="x1")
    case("LpNormalization", node("LpNormalization", "x", axis=-1), lambda: dict(x=f(60000, 512)))
    case("MeanVarianceNormalization", node("MeanVarianceNormalization", "x"), lambda: dict(x=f(4, 32, 500, 500)))
    for size in (5, 10 ** 9, 2 ** 62):
        case(f"LRN_{size}", node("LRN", "x", size=size), lambda: dict(x=f(1, 4000, 90, 90)))
    case("Attention", node("Attention", "q k v"), lambda: dict(q=f(1, 12, 1500, 64), k=f(1, 12, 1500, 64), v=f(1, 12, 1500, 64)),
         opset=23, fixed="q1 k1 v1 q3 k3 v3")
    for op, gates in (("LSTM", 4), ("GRU", 3), ("RNN", 1)):
        case(op, node(op, "x w r", hidden_size=256), lambda: dict(x=f(5000, 8, 128)),
             dict(w=f(1, gates * 256, 128), r=f(1, gates * 256, 256)), fixed="x2")
    case("DFT", node("DFT", "x"), lambda: dict(x=f(1500, 1 << 13, 1)), fixed="x2")
    case("DFT_long", node("DFT", "x"), lambda: dict(x=f(1, 1 << 20, 1)), fixed="x2")
    case("STFT", node("STFT", "x s w"), lambda: dict(x=f(1, 20000000)), dict(s=np.int64(160), w=f(400)))
    case("NegativeLogLikelihoodLoss", node("NegativeLogLikelihoodLoss", "x t"), lambda: dict(x=f(1000, 10, 2000), t=ints(10, 1000, 2000)))
    case("SoftmaxCrossEntropyLoss", node("SoftmaxCrossEntropyLoss", "x t"), lambda: dict(x=f(20000, 1000), t=ints(1000, 20000)))
    case("NonMaxSuppression", node("NonMaxSuppression", "b s m i"),
         lambda: dict(b=np.concatenate([(q := R.uniform(0, 60000, (1, 200000, 2))), q + R.uniform(5, 60, (1, 200000, 2))],
                                       2).astype(np.float32),
                      s=f(1, 1, 200000)), dict(m=np.array([1 << 30]), i=np.array([.9], np.float32)), fixed="b2")
    case("RandomNormalLike", node("RandomNormalLike", "x"), lambda: dict(x=f(BIG)))
    case("RandomUniformLike", node("RandomUniformLike", "x"), lambda: dict(x=f(BIG)))
    case("MatMulInteger", node("MatMulInteger", "x w"), lambda: dict(x=ints(255, 20000, 1000).astype(np.uint8)),
         dict(w=ints(100, 1000, 1000).astype(np.int8)), fixed="x1")
    case("ConvInteger", node("ConvInteger", "x w", pads=[1] * 4), lambda: dict(x=ints(255, 2, 64, 300, 300).astype(np.uint8)),
         dict(w=ints(100, 64, 64, 3, 3).astype(np.int8)), fixed="x1")
    case("QLinearConv", node("QLinearConv", "x s z w s v s z", pads=[1] * 4), lambda: dict(x=ints(255, 2, 64, 300, 300).astype(np.uint8)),
         dict(s=np.float32(.1), z=np.uint8(128), v=np.int8(0), w=ints(100, 64, 64, 3, 3).astype(np.int8)), fixed="x1")


def sequences_and_loops():
    split = node("SplitToSequence", "x", "s", axis=0, keepdims=0)
    case("SplitToSequence", [node("SplitToSequence", "x", "y", axis=0)], lambda: dict(x=f(BIG // 4, 1)), sequence=True)
    case("SplitToSequence_long", [node("SplitToSequence", "x", "y", axis=1)], lambda: dict(x=f(1000, 20000)), sequence=True)
    case("ConcatFromSequence", [split, node("ConcatFromSequence", "s", axis=0)], lambda: dict(x=f(100000, 200)))
    case("SequenceAt", [split, node("SequenceAt", "s p")], lambda: dict(x=f(3, BIG), p=np.int64(1)))
    body = H.make_graph([H.make_node("Identity", ["c"], ["d"]), H.make_node("Add", ["v", "v"], ["w"]), H.make_node("Tanh", ["w"],
         ["u"])], "body",
                        [H.make_tensor_value_info("i", T.INT64, []), H.make_tensor_value_info("c", T.BOOL, []),
                         H.make_tensor_value_info("v", T.FLOAT, ["k"])],
                        [H.make_tensor_value_info("d", T.BOOL, []), H.make_tensor_value_info("u", T.FLOAT, ["k"])])
    for name, size in (("small", 4), ("large", BIG // 4)):
        case("Loop_" + name, H.make_node("Loop", ["m", "", "x"], ["y"], body=body), lambda size=size: dict(m=np.int64(1 << 62),
             x=f(size)))


def long_runs():
    """Operators at sizes that run for ten seconds, or as near to it as 4 GB allow."""
    def constant(name, op, x, w, **attrs):
        case("long_" + name, node(op, "x w", **attrs), lambda: dict(x=f(*x)), dict(w=f(*w)), fixed="x1")

    for kind, size in ((np.float32, 8000), (np.float64, 8000), (np.float16, 6000)):
        case(f"long_MatMul_{kind.__name__}", node("MatMul", "x w"),
             lambda kind=kind, size=size: dict(x=f(2 * size, size).astype(kind), w=f(size, size).astype(kind)))
    constant("MatMul_constant", "MatMul", (40000, 4000), (4000, 4000))
    constant("Gemm", "Gemm", (40000, 4000), (4000, 4000), transB=1)
    case("long_Einsum", node("Einsum", "x z", equation="bqhd,bkhd->bhqk"), lambda: dict(x=f(1, 16000, 1, 4000), z=f(1, 16000, 1, 4000)))
    constant("Conv", "Conv", (2, 512, 400, 400), (512, 512, 3, 3), pads=[1] * 4)
    case("long_Conv_weight_input", node("Conv", "x w", pads=[1] * 4), lambda: dict(x=f(2, 512, 300, 300), w=f(512, 512, 3, 3)),
         fixed="x1 w0 w1 w2 w3")
    constant("Conv_1d", "Conv", (1, 1024, 200000), (1024, 1024, 3), dilations=[5], pads=[5, 5])
    constant("Conv_3d", "Conv", (1, 192, 64, 128, 128), (192, 192, 3, 3, 3), pads=[1] * 6)
    constant("Conv_depthwise", "Conv", (1, 96, 1000, 1000), (96, 1, 61, 61), pads=[30] * 4, group=96)
    constant("Conv_group4", "Conv", (2, 1024, 300, 300), (1024, 256, 3, 3), pads=[1] * 4, group=4)
    constant("ConvTranspose", "ConvTranspose", (2, 512, 250, 250), (512, 512, 4, 4), strides=[2, 2], pads=[1] * 4)
    case("long_DeformConv", node("DeformConv", "x w o", pads=[1] * 4), lambda: dict(x=f(1, 128, 800, 800), o=f(1, 18, 800, 800)),
         dict(w=f(128, 128, 3, 3)), fixed="x1 o1")
    for op in ("MaxPool", "AveragePool", "LpPool"):
        case("long_" + op, node(op, "x", kernel_shape=[301, 301], pads=[150] * 4), lambda: dict(x=f(4, 64, 1000, 1000)))
    boxes = 100000
    case("long_MaxRoiPool", node("MaxRoiPool", "x r", pooled_shape=[7, 7]),
         lambda: dict(x=f(1, 64, 100, 100), r=np.concatenate([np.zeros((boxes, 1)), np.sort(R.uniform(0, 99, (boxes, 2, 2)), 1)
                                                              .reshape(boxes, 4)], 1).astype(np.float32)), fixed="r1")
    case("long_RoiAlign", node("RoiAlign", "x r b", output_height=7, output_width=7, sampling_ratio=0),
         lambda: dict(x=f(1, 64, 100, 100), r=np.sort(R.uniform(0, 99, (boxes, 2, 2)), 1).reshape(boxes, 4).astype(np.float32),
                      b=np.zeros(boxes, np.int64)), fixed="r1")
    case("long_GridSample", node("GridSample", "x g", mode="cubic"),
         lambda: dict(x=f(1, 64, 400, 400), g=R.uniform(-1, 1, (1, 3000, 3000, 2)).astype(np.float32)), fixed="g3")
    case("long_Attention", node("Attention", "q k v"), lambda: dict(q=f(1, 12, 6000, 1024), k=f(1, 12, 6000, 1024), v=f(1, 12, 6000, 1024)),
         opset=23, fixed="q1 k1 v1 q3 k3 v3")
    for op, gates in (("LSTM", 4), ("GRU", 3), ("RNN", 1)):
        case("long_" + op, node(op, "x w r", hidden_size=512), lambda: dict(x=f(60000, 8, 128)),
             dict(w=f(1, gates * 512, 128), r=f(1, gates * 512, 512)), fixed="x2")
    for name, shape in (("rows", (20000, 8191, 1)), ("2_24", (1, 1 << 24, 1)), ("prime", (1, (1 << 24) - 3, 1))):
        case("long_DFT_" + name, node("DFT", "x"), lambda shape=shape: dict(x=f(*shape)), fixed="x2")
    case("long_STFT", node("STFT", "x s w"), lambda: dict(x=f(1, 200000000)), dict(s=np.int64(160), w=f(400)))
    case("long_NonMaxSuppression", node("NonMaxSuppression", "b s m i"),
         lambda: dict(b=np.concatenate([(q := R.uniform(0, 60000, (1, 3000000, 2))), q + R.uniform(5, 60, (1, 3000000, 2))],
                                       2).astype(np.float32),
                      s=f(1, 1, 3000000)), dict(m=np.array([1 << 30]), i=np.array([.9], np.float32)), fixed="b2")
    case("long_Unique", node("Unique", "x"), lambda: dict(x=f(1 << 27)))
    case("long_Unique_axis", node("Unique", "x", axis=0), lambda: dict(x=ints(2, 1 << 20, 64).astype(np.float32)))
    case("long_TopK", node("TopK", "x k", "y j"), lambda: dict(x=f(1 << 28), k=np.array([1 << 26])), outs="y j", fixed="k0")
    case("long_Det", node("Det", "x"), lambda: dict(x=f(1, 16000, 16000)), fixed="x1 x2")
    case("long_MatMulInteger", node("MatMulInteger", "x w"), lambda: dict(x=ints(255, 40000, 4000).astype(np.uint8)),
         dict(w=ints(100, 4000, 8000).astype(np.int8)), fixed="x1")
    case("long_ConvInteger", node("ConvInteger", "x w", pads=[1] * 4), lambda: dict(x=ints(255, 2, 512, 400, 400).astype(np.uint8)),
         dict(w=ints(100, 512, 512, 3, 3).astype(np.int8)), fixed="x1")
    case("long_QLinearConv", node("QLinearConv", "x s z w s v s z", pads=[1] * 4),
         lambda: dict(x=ints(255, 2, 512, 400, 400).astype(np.uint8)),
         dict(s=np.float32(.1), z=np.uint8(128), v=np.int8(0), w=ints(100, 512, 512, 3, 3).astype(np.int8)), fixed="x1")
    case("long_SplitToSequence", [node("SplitToSequence", "x", "y", axis=0)], lambda: dict(x=f(BIG // 2, 1)), sequence=True)


def stop(exe, feed, after):
    """Seconds until the run ended or was cancelled, and then until it returned: CPU and wall. None: it ended by itself."""
    done = {}

    def run():
        done["clock"] = time.pthread_getcpuclockid(threading.get_ident())
        begin = time.monotonic()
        done["started"] = begin
        try:
            exe.run(feed)
        except pliant.CancelledError:
            done["cancelled"] = True
        except pliant.Error as e:
            done["failed"] = e
        done["cpu"], done["wall"] = time.clock_gettime(done["clock"]), time.monotonic()

    thread = threading.Thread(target=run)
    thread.start()
    thread.join(after)
    if not thread.is_alive():
        if "failed" in done:
            raise done["failed"]
        return done["wall"] - done["started"], None, None
    cpu, wall = time.clock_gettime(done["clock"]), time.monotonic()
    exe.cancel()
    thread.join()
    if "cancelled" not in done:
        return done["wall"] - done["started"], None, None
    return wall - done["started"], done["cpu"] - cpu, done["wall"] - wall


def measure(exe, feed, args):
    """(CPU, wall, time before) of each run that was cancelled, and the shortest time of those that ended by themselves."""
    after, tries, ended = args.after, [], float("inf")
    for k in range(3 * args.repeat + 6):
        moment = after * (1, .4, 2.2, .7)[k % 4]  # in other phases of the run
        if args.loop or args.long:
            moment = R.uniform(0, args.loop or min(args.long, ended))
        ran, cpu, wall = stop(exe, feed, moment)
        if cpu is not None:
            tries.append((cpu, wall, ran))
            if len(tries) == args.repeat:
                break
            continue
        ended = min(ended, ran)
        if args.loop:
            break
        if not args.long:
            after = min(after, ran * .9) * (1 if k % 4 == 2 else .7)
            if after < .004:
                break
    return tries, ended


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*")
    parser.add_argument("--after", type=float, default=.2)
    parser.add_argument("--limit", type=float, default=50, help="milliseconds")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--loop", type=float, default=0, metavar="SECONDS")
    parser.add_argument("--long", type=float, default=0, metavar="SECONDS")
    args = parser.parse_args()
    for group in (elementwise, arrays, reductions, network, sequences_and_loops):
        group()
    names = list(CASES)
    if args.long:
        # Sums over what is not in memory, and loops, never end.
        names = [k for k in names if k.endswith(("_sum", "_expanded", "_expanded_rows")) or k.startswith("Loop_")]
        begin = len(CASES)
        long_runs()
        names += list(CASES)[begin:]
    late, failed = [], []
    for name in args.names or names:
        try:
            model, feed = build(name)
            if args.loop:
                model = looped(model, feed)
            exe = pliant.compile(model, threads=args.threads)
            tries, ended = measure(exe, feed, args)
        except Exception as e:
            failed.append(name)
            print(f"{name:32} not compiled or run: {str(e)[:150]!r}", flush=True)
            continue
        if not tries:
            print(f"{name:32} short: {ended * 1e3:.0f} ms", flush=True)
            continue
        cpu, wall, ran = (max(t[k] for t in tries) * 1e3 for k in range(3))
        middle = sorted(t[0] for t in tries)[len(tries) // 2] * 1e3
        if cpu > args.limit:
            late.append(name)
        mark = "  LATE" if cpu > args.limit else ""
        whole = f" of {ended:.1f} s" if ended < float("inf") else ""
        print(f"{name:32} cancelled after {ran:6.0f} ms{whole}, ended {cpu:7.2f} ms of CPU (median {middle:6.2f}) and "
              f"{wall:7.2f} ms later{mark}",
              flush=True)
    print(f"{len(late)} late: {' '.join(late)}" + (f"; {len(failed)} not compiled or run" if failed else ""))
    sys.exit(bool(late or failed))


if __name__ == "__main__":
    main()
