"""Models of one node: those of the ONNX backend's node tests, and further settings of attributes; each once with the sizes it has and once
with every size open."""

import itertools
import sys

import numpy as np
import onnx
import onnx.backend.test.loader as loader
from onnx import TensorProto, helper, numpy_helper

F32, F16, I64, I32, U8, I8 = (
    TensorProto.FLOAT,
    TensorProto.FLOAT16,
    TensorProto.INT64,
    TensorProto.INT32,
    TensorProto.UINT8,
    TensorProto.INT8,
)
_NUMPY = {F32: np.float32, F16: np.float16, I64: np.int64, I32: np.int32, U8: np.uint8, I8: np.int8}


def _open(value_type, prefix):
    kind = value_type.WhichOneof("value")
    if kind == "tensor_type":
        for k, d in enumerate(value_type.tensor_type.shape.dim):
            d.dim_param = f"{prefix}{k}"
    elif kind in ("sequence_type", "optional_type"):
        _open(getattr(value_type, kind).elem_type, prefix)


def with_open_sizes(model):
    """A copy whose inputs have a symbol on every axis, and whose outputs say nothing of theirs."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    constants = {i.name for i in copy.graph.initializer}
    for number, info in enumerate(copy.graph.input):
        if info.name not in constants:
            _open(info.type, f"s{number}_")
    for info in copy.graph.output:
        if info.type.WhichOneof("value") == "tensor_type":
            info.type.tensor_type.ClearField("shape")
    return copy


def node_model(op, inputs, weights=(), outputs=1, opset=20, domain="", **attributes):
    """One node. `inputs`: (dtype, shape) or None for one that is absent; `weights`: constants behind them, given as shapes or arrays."""
    names, infos, constants = [], [], []
    for k, given in enumerate(inputs):
        names.append("" if given is None else f"x{k}")
        if given is not None:
            infos.append(helper.make_tensor_value_info(f"x{k}", given[0], list(given[1])))
    rng = np.random.default_rng(0)
    for k, given in enumerate(weights):
        array = given if isinstance(given, np.ndarray) else None if given is None else rng.standard_normal(given).astype(np.float32)
        names.append("" if array is None else f"w{k}")
        if array is not None:
            constants.append(numpy_helper.from_array(array, f"w{k}"))
    results = [f"y{k}" for k in range(outputs)]
    graph = helper.make_graph(
        [helper.make_node(op, names, results, domain=domain, **attributes)],
        "g",
        infos,
        [helper.make_empty_tensor_value_info(r) for r in results],
        constants,
    )
    opsets = [helper.make_opsetid("", opset)] + ([helper.make_opsetid(domain, 1)] if domain else [])
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


def _image(rank, channels, dtype=F32):
    return dtype, [2, channels, 12, 14, 10][: rank + 2]


def convolutions():
    for rank, kernel, group, stride, dilation in itertools.product((1, 2, 3), (1, 3, 5), (1, 2, 16), (1, 2), (1, 2)):
        if rank == 3 and kernel == 5:
            continue
        a = dict(group=group, strides=[stride] * rank, dilations=[dilation] * rank)
        name = f"rank{rank}_kernel{kernel}_group{group}_stride{stride}_dilation{dilation}"
        yield f"conv_{name}", node_model(
            "Conv", [_image(rank, 16)], [(16, 16 // group, *[kernel] * rank), (16,)], pads=[kernel // 2] * 2 * rank, **a
        )
        yield f"conv_transpose_{name}", node_model(
            "ConvTranspose", [_image(rank, 16)], [(16, 16 // group, *[kernel] * rank), (16,)], **a
        )
    for kernel, stride, group in ((4, 2, 64), (16, 8, 1), (16, 8, 8), (7, 4, 4), (32, 16, 1)):
        name = f"kernel{kernel}_stride{stride}_group{group}"
        for rank in (1, 2):
            if kernel**rank <= 256:
                yield f"conv_transpose_rank{rank}_{name}", node_model(
                    "ConvTranspose",
                    [_image(rank, 64)],
                    [(64, 64 // group, *[kernel] * rank)],
                    strides=[stride] * rank,
                    group=group,
                    pads=[kernel // 4] * 2 * rank,
                )
        yield f"conv_{name}", node_model(
            "Conv", [(F32, [1, 64, 80, 80])], [(64, 64 // group, kernel, kernel)], strides=[stride] * 2, group=group
        )
    for group in (1, 16):
        shapes = [_image(2, 16), (F32, [16, 16 // group, 3, 3]), (F32, [16])]
        yield f"conv_weights_from_inputs_group{group}", node_model("Conv", shapes, group=group, pads=[1] * 4)
        yield f"conv_transpose_weights_from_inputs_group{group}", node_model("ConvTranspose", shapes, group=group, strides=[2, 2])
        for dtype in (F16,):
            yield f"conv_f16_group{group}", node_model(
                "Conv", [_image(2, 16, dtype)], [np.ones((16, 16 // group, 3, 3), np.float16)], group=group
            )
        for kernel in (1, 3, 5):
            weight, scale = np.ones((16, 16 // group, kernel, kernel), np.int8), np.float32([0.1])[0]
            more = [
                np.asarray(scale),
                np.asarray(np.uint8(3)),
                weight,
                np.asarray(scale),
                np.asarray(np.int8(0)),
                np.asarray(scale),
                np.asarray(np.uint8(3)),
            ]
            yield f"qlinear_conv_kernel{kernel}_group{group}", node_model("QLinearConv", [_image(2, 16, U8)], more, group=group)
            yield f"conv_integer_kernel{kernel}_group{group}", node_model(
                "ConvInteger", [_image(2, 16, U8)], [np.ones_like(weight)], group=group
            )
    for kernel, group, offsets, mask in itertools.product((1, 3, 5, 7), (1, 2, 8), (1, 2), (False, True)):
        inputs = [
            _image(2, 16),
            (F32, [16, 16 // group, kernel, kernel]),
            (F32, [2, 2 * offsets * kernel * kernel, 12, 14]),
            (F32, [16]),
        ]
        inputs += [(F32, [2, offsets * kernel * kernel, 12, 14])] if mask else []
        yield (
            f"deform_conv_kernel{kernel}_group{group}_offsets{offsets}{'_mask' * mask}",
            node_model("DeformConv", inputs, group=group, offset_group=offsets, kernel_shape=[kernel] * 2, pads=[kernel // 2] * 4),
        )


def windows():
    for op, rank, kernel, stride, ceil in itertools.product(
        ("MaxPool", "AveragePool", "LpPool"), (1, 2, 3), (2, 3, 9), (1, 3), (0, 1)
    ):
        yield (
            f"{op.lower()}_rank{rank}_kernel{kernel}_stride{stride}_ceil{ceil}",
            node_model(
                op,
                [_image(rank, 8)],
                outputs=1,
                kernel_shape=[kernel] * rank,
                strides=[stride] * rank,
                ceil_mode=ceil,
                pads=[kernel // 2] * 2 * rank,
            ),
        )
    for rank in (1, 2, 3):
        yield f"maxpool_indices_rank{rank}", node_model(
            "MaxPool", [_image(rank, 8)], outputs=2, kernel_shape=[3] * rank, dilations=[2] * rank
        )
        yield f"maxunpool_rank{rank}", node_model(
            "MaxUnpool", [_image(rank, 8), _image(rank, 8, I64)], kernel_shape=[2] * rank, strides=[2] * rank
        )
        for op in ("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool"):
            yield f"{op.lower()}_rank{rank}", node_model(op, [_image(rank, 8)])
    for size in (1, 5, 15, 101):
        yield f"lrn_{size}", node_model("LRN", [_image(2, 8)], size=size)
    for sampling, mode in itertools.product((0, 1, 4), ("avg", "max")):
        yield (
            f"roi_align_{mode}_{sampling}",
            node_model(
                "RoiAlign",
                [_image(2, 8), (F32, [5, 4]), (I64, [5])],
                sampling_ratio=sampling,
                mode=mode,
                output_height=7,
                output_width=7,
            ),
        )
    yield "max_roi_pool", node_model("MaxRoiPool", [_image(2, 8), (F32, [5, 5])], pooled_shape=[7, 7])
    for rank in (1, 2, 3):
        block = [3] * rank
        yield f"col2im_rank{rank}", node_model(
            "Col2Im",
            [(F32, [2, 2 * 3**rank, 12**rank])],
            [np.array([12] * rank), np.array(block)],
            pads=[1] * 2 * rank,
            strides=[1] * rank,
        )


def resampling():
    scales = {1: [1, 1, 1.5], 2: [1, 1, 1.5, 0.6], 3: [1, 1, 1.5, 0.6, 2]}
    transformations = (
        "half_pixel",
        "half_pixel_symmetric",
        "pytorch_half_pixel",
        "align_corners",
        "asymmetric",
        "tf_crop_and_resize",
    )
    for mode, where, rank, antialias in itertools.product(("nearest", "linear", "cubic"), transformations, (1, 2, 3), (0, 1)):
        if antialias and (mode == "nearest" or rank == 3):
            continue
        roi = (F32, [2 * (rank + 2)]) if where == "tf_crop_and_resize" else None
        yield (
            f"resize_{mode}_{where}_rank{rank}{'_antialias' * antialias}",
            node_model(
                "Resize",
                [_image(rank, 4), roi],
                [np.float32(scales[rank])],
                mode=mode,
                coordinate_transformation_mode=where,
                antialias=antialias,
            ),
        )
        yield (
            f"resize_by_inputs_{mode}_{where}_rank{rank}{'_antialias' * antialias}",
            node_model(
                "Resize",
                [_image(rank, 4), roi, (F32, [rank + 2])],
                mode=mode,
                coordinate_transformation_mode=where,
                antialias=antialias,
            ),
        )
    for mode, padding, rank, corners in itertools.product(
        ("nearest", "linear", "cubic"), ("zeros", "border", "reflection"), (2, 3), (0, 1)
    ):
        if mode != "cubic" or rank == 2:
            yield (
                f"grid_sample_{mode}_{padding}_rank{rank}_corners{corners}",
                node_model(
                    "GridSample",
                    [_image(rank, 4), (F32, [2, *[9] * rank, rank])],
                    mode=mode,
                    padding_mode=padding,
                    align_corners=corners,
                ),
            )
    for rank in (2, 3):
        yield f"affine_grid_rank{rank}", node_model("AffineGrid", [(F32, [2, rank, rank + 1]), (I64, [rank + 2])])


def recurrent():
    shapes = {"RNN": 1, "GRU": 3, "LSTM": 4}
    activations = {"RNN": ["Affine"], "GRU": ["HardSigmoid", "ScaledTanh"], "LSTM": ["Softsign", "Elu", "ThresholdedRelu"]}
    for (op, gates), direction, custom in itertools.product(shapes.items(), ("forward", "reverse", "bidirectional"), (False, True)):
        d = 2 if direction == "bidirectional" else 1
        inputs = [
            (F32, [7, 3, 8]),
            (F32, [d, gates * 8, 8]),
            (F32, [d, gates * 8, 8]),
            (F32, [d, gates * 16]),
            (I32, [3]),
            (F32, [d, 3, 8]),
        ]
        if op == "LSTM":
            inputs += [(F32, [d, 3, 8]), (F32, [d, 24])]
        extra = (
            dict(activations=activations[op] * d, activation_alpha=[0.3] * 3 * d, activation_beta=[0.2] * 3 * d, clip=4.0)
            if custom
            else {}
        )
        if op == "GRU" and custom:
            extra["linear_before_reset"] = 1
        name = f"{op.lower()}_{direction}{'_custom' * custom}"
        yield name, node_model(op, inputs, outputs=3 if op == "LSTM" else 2, hidden_size=8, direction=direction, **extra)
        weights = [(d, gates * 8, 8), (d, gates * 8, 8), (d, gates * 16)]
        yield f"{name}_weights", node_model(
            op, inputs[:1], weights, outputs=3 if op == "LSTM" else 2, hidden_size=8, direction=direction, **extra
        )


def reductions():
    ops = (
        "ReduceSum",
        "ReduceMean",
        "ReduceMax",
        "ReduceProd",
        "ReduceL1",
        "ReduceL2",
        "ReduceLogSum",
        "ReduceLogSumExp",
        "ReduceSumSquare",
    )
    for op, keep in itertools.product(ops, (0, 1)):
        yield f"{op.lower()}_axes_from_inputs_{keep}", node_model(op, [(F32, [2, 3, 4, 5, 6]), (I64, [2])], keepdims=keep)
        for axes in ([0], [1, 3], [0, 2, 4], [4]):
            yield f"{op.lower()}_{''.join(map(str, axes))}_{keep}", node_model(
                op, [(F32, [2, 3, 4, 5, 6])], [np.array(axes)], keepdims=keep
            )
    for rank in (1, 4, 7):
        yield f"reduce_open_axes_rank{rank}", node_model("ReduceSum", [(F32, [3] * rank), (I64, [rank])], keepdims=0)
        yield f"unsqueeze_open_axes_rank{rank}", node_model("Unsqueeze", [(F32, [3] * rank), (I64, [1])])
        yield f"squeeze_open_axes_rank{rank}", node_model("Squeeze", [(F32, [1] * rank), (I64, [1])])
    for axis in (0, 1, 2, 3):
        for op in ("Softmax", "LogSoftmax", "Hardmax", "ArgMax", "ArgMin"):
            yield f"{op.lower()}_axis{axis}", node_model(op, [(F32, [3, 4, 5, 6])], axis=axis)
        yield f"topk_axis{axis}", node_model("TopK", [(F32, [3, 4, 5, 6]), (I64, [1])], outputs=2, axis=axis)
        for op in ("CumSum",):
            yield f"{op.lower()}_axis{axis}", node_model(
                op, [(F32, [3, 4, 5, 6])], [np.array(axis)], exclusive=axis % 2, reverse=axis // 2
            )
    for axis in (0, 1, 2, 3):
        yield f"layer_norm_axis{axis}", node_model(
            "LayerNormalization", [(F32, [3, 4, 5, 6]), (F32, [3, 4, 5, 6][axis:])], axis=axis
        )
    for groups in (1, 4, 16):
        yield f"group_norm_{groups}", node_model("GroupNormalization", [_image(2, 16)], [(16,), (16,)], opset=21, num_groups=groups)


def moves():
    for mode, rank in itertools.product(("constant", "reflect", "edge", "wrap"), (1, 3, 5)):
        yield f"pad_{mode}_rank{rank}", node_model("Pad", [(F32, [5] * rank)], [np.array([1, 2] * rank)], mode=mode)
        yield f"pad_by_inputs_{mode}_rank{rank}", node_model("Pad", [(F32, [5] * rank), (I64, [2 * rank])], mode=mode)
    for rank in (1, 3, 5, 8):
        yield f"slice_by_inputs_rank{rank}", node_model("Slice", [(F32, [5] * rank)] + [(I64, [rank])] * 4)
        yield f"tile_by_inputs_rank{rank}", node_model("Tile", [(F32, [5] * rank), (I64, [rank])])
        yield f"expand_by_inputs_rank{rank}", node_model("Expand", [(F32, [5] * rank), (I64, [rank])])
        yield f"reshape_by_inputs_rank{rank}", node_model("Reshape", [(F32, [4] * rank), (I64, [rank])])
        yield f"transpose_rank{rank}", node_model("Transpose", [(F32, [4] * rank)], perm=list(range(rank))[::-1])
        yield f"gather_nd_rank{rank}", node_model("GatherND", [(F32, [4] * rank), (I64, [6, rank])])
        for how in ("none", "add", "mul", "max"):
            yield f"scatter_nd_{how}_rank{rank}", node_model(
                "ScatterND", [(F32, [4] * rank), (I64, [6, rank]), (F32, [6])], reduction=how
            )
            yield f"scatter_elements_{how}_rank{rank}", node_model(
                "ScatterElements", [(F32, [4] * rank), (I64, [3] * rank), (F32, [3] * rank)], reduction=how
            )
    for count in (2, 16, 200):
        yield f"split_{count}", node_model("Split", [(F32, [2 * count, 3])], outputs=count, num_outputs=count)
        yield f"split_inner_{count}", node_model("Split", [(F32, [3, 2 * count])], outputs=count, axis=1, num_outputs=count)
        yield f"concat_{count}", node_model("Concat", [(F32, [3, 4])] * count, axis=0)
        yield f"concat_inner_{count}", node_model("Concat", [(F32, [3, 4])] * count, axis=1)
        for op in ("Sum", "Max", "Mean"):
            yield f"{op.lower()}_{count}", node_model(op, [(F32, [3, 4])] * count)
    for op in ("Einsum",):
        for k, (equation, ranks) in enumerate(
            (
                ("abc,cd->abd", (3, 2)),
                ("abcd,dcba->", (4, 4)),
                ("aabb->ab", (4,)),
                ("...ij,...jk->...ik", (4, 4)),
                ("ab,bc,cd,de->ae", (2, 2, 2, 2)),
                ("abcdef,fedcba->abc", (6, 6)),
            )
        ):
            yield f"einsum_{k}", node_model(op, [(F32, [3] * r) for r in ranks], equation=equation)


def products():
    for dtype, a, b in itertools.product((F32, F16), ([5, 8], [3, 5, 8], [2, 3, 5, 8], [8]), ([8, 6], [3, 8, 6], [8])):
        if dtype == F32 or len(a) == 2:
            yield f"matmul_{dtype}_{len(a)}_{len(b)}", node_model("MatMul", [(dtype, a), (dtype, b)])
            yield f"matmul_constant_{dtype}_{len(a)}_{len(b)}", node_model("MatMul", [(dtype, a)], [np.ones(b, _NUMPY[dtype])])
    for ta, tb in itertools.product((0, 1), (0, 1)):
        yield f"gemm_{ta}{tb}", node_model("Gemm", [(F32, [8, 8]), (F32, [8, 8]), (F32, [8])], transA=ta, transB=tb, alpha=0.5)
        yield f"gemm_constant_{ta}{tb}", node_model("Gemm", [(F32, [8, 8])], [(8, 8), (8,)], transA=ta, transB=tb, beta=0.5)
    yield "matmul_integer", node_model("MatMulInteger", [(U8, [5, 8]), (I8, [8, 6])])
    yield "matmul_integer_constant", node_model("MatMulInteger", [(U8, [5, 8])], [np.ones((8, 6), np.int8)])
    for heads, kv in ((4, 4), (4, 2), (4, 1)):
        q, k = (F32, [2, heads, 5, 8]), (F32, [2, kv, 7, 8])
        yield f"attention_{heads}_{kv}", node_model("Attention", [q, k, k], opset=23)
        yield f"attention_causal_{heads}_{kv}", node_model("Attention", [q, k, k], opset=23, is_causal=1, softcap=2.0)
        yield (
            f"attention_past_{heads}_{kv}",
            node_model("Attention", [q, k, k, (F32, [5, 10]), (F32, [2, kv, 3, 8]), (F32, [2, kv, 3, 8])], outputs=3, opset=23),
        )
        yield (
            f"attention_flat_{heads}_{kv}",
            node_model(
                "Attention",
                [(F32, [2, 5, 8 * heads]), (F32, [2, 7, 8 * kv]), (F32, [2, 7, 8 * kv])],
                opset=23,
                q_num_heads=heads,
                kv_num_heads=kv,
            ),
        )


def signals():
    for inverse, onesided, axis in itertools.product((0, 1), (0, 1), (1, 2)):
        if not (inverse and onesided):
            yield (
                f"dft_inverse{inverse}_onesided{onesided}_axis{axis}",
                node_model(
                    "DFT", [(F32, [2, 24, 30, 1 if onesided else 2])], [None, np.array(axis)], inverse=inverse, onesided=onesided
                ),
            )
    for onesided in (0, 1):
        yield f"stft_{onesided}", node_model(
            "STFT", [(F32, [1, 400, 1])], [np.array(80), np.ones(160, np.float32), np.array(160)], onesided=onesided
        )
    for n in (1, 3, 6, 16):
        yield f"det_{n}", node_model("Det", [(F32, [4, n, n])])


SETTINGS = (convolutions, windows, resampling, recurrent, reductions, moves, products, signals)


def operator_models():
    """(name, bytes) of every model."""
    # The expanded ones are functions of many nodes.
    models = [
        (case.name.removeprefix("test_"), case.model)
        for case in loader.load_model_tests(kind="node")
        if not case.name.endswith(("_expanded", "_expanded_ver18"))
    ]
    models += [pair for family in SETTINGS for pair in family()]
    for name, model in models:
        yield name, model.SerializeToString()
        yield f"{name}/open", with_open_sizes(model).SerializeToString()


if __name__ == "__main__":
    sys.exit(print(sum(1 for _ in operator_models())))
