"""Runs models while another thread changes the integers (and coordinates) that they read, in memory between unmapped pages: a read or
a write outside of an array ends the process.

  index_races.py [NAME ...] [--library libpliant_runtime.so] [--seconds S]

With a library of the sanitizer build, preload the sanitizer: LD_PRELOAD=$(g++ -print-file-name=libasan.so), ASAN_OPTIONS=detect_leaks=0.
What the models are compiled with is the package's; code of kernels is not instrumented, which is what the unmapped pages are for.
"""
import argparse
import ctypes
import mmap
import os
import sys
import tempfile
import threading
import time

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

R = np.random.default_rng(1)
ZONE = 64 << 20  # unmapped on both sides; most wrong indices of these models fall into it
PAGE = mmap.PAGESIZE
CODES = {np.dtype(k): (code, onnx_type) for k, code, onnx_type in (
    (bool, 0, TensorProto.BOOL), (np.int32, 3, TensorProto.INT32), (np.int64, 4, TensorProto.INT64), (np.float32, 11, TensorProto.FLOAT))}
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]


def guarded(array, align=1):
    """A copy that ends at unmapped pages (at the last multiple of `align` before them), and begins at some where it fills whole pages."""
    array = np.asarray(array)
    size = -(-max(array.nbytes, 1) // align) * align
    whole = -(-size // PAGE) * PAGE
    base = libc.mmap(None, whole + 2 * ZONE, 0, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000, -1, 0)
    if base == ctypes.c_void_p(-1).value or libc.mprotect(base + ZONE, whole, 3) != 0:
        raise MemoryError("no guarded memory")
    at = base + ZONE + whole - size
    out = np.frombuffer((ctypes.c_byte * array.nbytes).from_address(at), array.dtype).reshape(array.shape)
    out[...] = array
    return out


class Input(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("data", ctypes.c_void_p), ("dtype", ctypes.c_int32), ("rank", ctypes.c_int32),
                ("shape", ctypes.POINTER(ctypes.c_int64))]


class Output(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("capacity", ctypes.c_uint64), ("buffer", ctypes.c_void_p), ("dtype", ctypes.c_int32),
                ("rank", ctypes.c_int32), ("shape", ctypes.c_int64 * 32)]


class LoadOptions(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("threads", ctypes.c_int32), ("flags", ctypes.c_uint32),
                ("memory_limit", ctypes.c_uint64)]


def f(*shape):
    return R.random(shape, np.float32)


def ints(low, high, *shape, dtype=np.int64):
    return R.integers(low, high, shape).astype(dtype)


CASES = {}
node = helper.make_node


def case(name, op, inputs, changed, wrong=(), outputs=1, opset=20, only=False, nodes=None, **attrs):
    """`changed`: the names of the inputs that change; `wrong`: values for them beside those that are wrong for any
    index, or with `only` the only ones."""
    made = ["y"] + [f"y{i}" for i in range(1, outputs)]
    nodes = nodes or [node(op, [k.strip() for k in inputs], made, **attrs)]
    CASES[name] = (nodes, inputs, changed.split(), wrong, made, opset, only)


def gather_cases():
    x = f(256, 64)
    for dtype in (np.int64, np.int32):
        suffix = "" if dtype == np.int64 else "_i32"
        case("gather_rows" + suffix, "Gather", dict(x=x, i=ints(-256, 256, 3000, dtype=dtype)), "i")
        case("gather_axis1" + suffix, "Gather", dict(x=x, i=ints(-64, 64, 300, dtype=dtype)), "i", axis=1)
        case("gather_elements" + suffix, "GatherElements", dict(x=x, i=ints(0, 256, 2000, 64, dtype=dtype)), "i", axis=0)
        case("gather_elements_axis1" + suffix, "GatherElements", dict(x=x, i=ints(0, 64, 256, 500, dtype=dtype)), "i", axis=1)
        case("scatter_elements" + suffix, "ScatterElements", dict(x=x, i=ints(0, 256, 256, 64, dtype=dtype), u=f(256, 64)), "i", axis=0)
    case("gather_scalars", "Gather", dict(x=f(1024), i=ints(-1024, 1024, 50000)), "i")
    case("gather_nd", "GatherND", dict(x=x, i=np.stack([ints(0, 256, 20000), ints(0, 64, 20000)], 1)), "i")
    case("gather_nd_rows", "GatherND", dict(x=x, i=ints(0, 256, 3000, 1)), "i")
    case("scatter_add", "ScatterElements", dict(x=x, i=ints(0, 64, 256, 64), u=f(256, 64)), "i", axis=1, reduction="add")
    case("scatter_max", "ScatterElements", dict(x=x, i=ints(0, 64, 256, 64), u=f(256, 64)), "i", axis=1, reduction="max")
    for reduction in ("none", "add"):
        case("scatter_nd_" + reduction, "ScatterND", dict(x=x, i=np.stack([ints(0, 256, 9000), ints(0, 64, 9000)], 1), u=f(9000)), "i",
             reduction=reduction)
        case("scatter_nd_rows_" + reduction, "ScatterND", dict(x=x, i=ints(0, 256, 900, 1), u=f(900, 64)), "i", reduction=reduction)
    for mode in ("linear", "circular"):
        case("tensor_scatter_" + mode, "TensorScatter", dict(x=f(64, 32, 32), u=f(64, 16, 32), i=ints(0, 17, 64)), "i", opset=24, axis=1,
             mode=mode)
    case("reverse_sequence", "ReverseSequence", dict(x=f(64, 32, 32), l=ints(1, 33, 64)), "l", batch_axis=0, time_axis=1)
    case("max_unpool", "MaxUnpool", dict(x=f(1, 16, 32, 32), i=ints(0, 16 * 64 * 64, 1, 16, 32, 32)), "i", kernel_shape=[2, 2],
         strides=[2, 2])
    case("one_hot", "OneHot", dict(i=ints(0, 64, 2000), d=np.array(64), v=np.array([0, 1], np.float32)), "i d")
    case("rotary", "RotaryEmbedding", dict(x=f(1, 4, 256, 32), c=f(512, 16), s=f(512, 16), p=ints(0, 512, 1, 256)), "p", opset=23)
    for op in ("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss"):
        case(op, op, dict(x=f(3000, 16), t=ints(0, 16, 3000), w=f(16)), "t", ignore_index=3)
    case("gather_in_a_loop", None, dict(x=x, i=ints(0, 256, 40), m=np.array(300), v=f(40, 64)), "i", nodes=[node(
        "Loop", ["m", "", "v"], ["y"], body=helper.make_graph(
            [node("Gather", ["x", "i"], ["g"]), node("Add", ["g", "a"], ["b"]), node("Identity", ["c"], ["d"])], "body",
            [helper.make_tensor_value_info("k", TensorProto.INT64, []), helper.make_tensor_value_info("c", TensorProto.BOOL, []),
             helper.make_tensor_value_info("a", TensorProto.FLOAT, ["p", "q"])],
            [helper.make_tensor_value_info("d", TensorProto.BOOL, []), helper.make_tensor_value_info("b", TensorProto.FLOAT, ["p",
                 "q"])]))])


def sampling_cases():
    wild = (np.nan, np.inf, -np.inf, 1e30, -1e30, 3e9, -3e9, 100, -100)
    rois = np.sort(R.uniform(0, 31, (200, 2, 2)), 1).reshape(200, 4).astype(np.float32)
    for ratio in (0, 2):
        case(f"roi_align_{ratio}", "RoiAlign", dict(x=f(4, 8, 32, 32), r=rois, b=ints(0, 4, 200)), "b r", wild, output_height=5,
             output_width=5, sampling_ratio=ratio)
    numbered = np.concatenate([ints(0, 4, 200, 1).astype(np.float32), rois], 1)
    case("max_roi_pool", "MaxRoiPool", dict(x=f(4, 8, 32, 32), r=numbered), "r", wild, pooled_shape=[5, 5])
    for mode in ("linear", "nearest", "cubic"):
        for padding in ("zeros", "border", "reflection"):
            case(f"grid_sample_{mode}_{padding}", "GridSample",
                 dict(x=f(1, 4, 32, 32), g=R.uniform(-1, 1, (1, 64, 64, 2)).astype(np.float32)), "g", wild, mode=mode, padding_mode=padding)
    case("deform_conv", "DeformConv", dict(x=f(1, 4, 32, 32), w=f(4, 4, 3, 3), o=f(1, 18, 32, 32)), "o", wild, opset=19, pads=[1] * 4)


def size_cases():
    x = f(64, 64)
    near = (0, 1, 2, 3, 63, 64, 65, -1, -2, -64)
    case("slice", "Slice", dict(x=x, s=np.array([3]), e=np.array([60]), a=np.array([1]), t=np.array([2])), "s e a t", near)
    case("slice_reversed", "Slice", dict(x=x, s=np.array([60, 60]), e=np.array([3, 3]), a=np.array([0, 1]), t=np.array([-1, -2])),
         "s e t", near)
    case("reshape", "Reshape", dict(x=x, s=np.array([32, 128])), "s", near)
    case("expand", "Expand", dict(x=f(1, 64), s=np.array([64, 64])), "s", near)
    case("tile", "Tile", dict(x=x, s=np.array([2, 3])), "s", near)
    for mode in ("constant", "reflect", "edge", "wrap"):
        case("pad_" + mode, "Pad", dict(x=x, p=np.array([1, 2, 3, 4])), "p", near, mode=mode)
    for mode in ("nearest", "linear", "cubic"):
        case("resize_" + mode, "Resize", {"x": f(1, 1, 64, 64), "": None, " ": None, "s": np.array([1, 1, 100, 90])}, "s", near, mode=mode)
    case("top_k", "TopK", dict(x=x, k=np.array([7])), "k", near, outputs=2)
    case("cumsum", "CumSum", dict(x=x, a=np.array(1)), "a", near)
    case("trilu", "Trilu", dict(x=x, k=np.array(1)), "k", near)
    case("split", "Split", dict(x=x, s=np.array([10, 20, 34])), "s", near, outputs=3, axis=1)
    case("range", "Range", dict(s=np.array(0), l=np.array(1000), d=np.array(1)), "s l d", near)
    case("constant_of_shape", "ConstantOfShape", dict(s=np.array([40, 30])), "s", near)
    case("reduce_sum", "ReduceSum", dict(x=x, a=np.array([1])), "a", near)
    case("center_crop_pad", "CenterCropPad", dict(x=x, s=np.array([50, 70])), "s", near)
    case("compress", "Compress", dict(x=x, c=f(64) < .5), "c", axis=0)
    case("compress_flat", "Compress", dict(x=f(4096), c=f(4096) < .5), "c")
    case("nonzero", "NonZero", dict(x=ints(0, 2, 64, 64)), "x", near)
    case("unique", "Unique", dict(x=ints(0, 50, 4096)), "x", near, outputs=4)
    case("unique_axis", "Unique", dict(x=ints(0, 2, 1024, 4)), "x", near, outputs=4, axis=0)
    boxes = np.concatenate([(q := R.uniform(0, 600, (1, 500, 2))), q + R.uniform(5, 60, (1, 500, 2))], 2).astype(np.float32)
    case("nms", "NonMaxSuppression", dict(b=boxes, s=f(1, 4, 500), m=np.array([20]), i=np.array([.5], np.float32), t=np.array([.1],
         np.float32)),
         "b s m i t", (np.nan, np.inf, 0, 1))
    parts = dict(x=x, s=np.array([10, 20, 34]), p=np.array(1))
    case("sequence_at", None, parts, "s p", near, nodes=[node("SplitToSequence", ["x", "s"], ["q"], axis=0), node("SequenceAt", ["q",
         "p"], ["y"])])
    case("sequence_concat", None, parts, "s p", near, nodes=[
        node("SplitToSequence", ["x", "s"], ["q"], axis=0), node("SequenceErase", ["q", "p"], ["r"]),
        node("ConcatFromSequence", ["r"], ["y"], axis=0)])
    for op, gates in (("LSTM", 4), ("GRU", 3), ("RNN", 1)):
        case(op, op, {"x": f(20, 4, 8), "w": f(1, gates * 16, 8), "r": f(1, gates * 16, 16), "": None, "l": ints(1, 21, 4,
             dtype=np.int32)}, "l",
             (0, 1, 20, 21), hidden_size=16)
    case("stft", "STFT", dict(x=f(1, 4096), s=np.array(100), w=f(256)), "s", near)
    case("loop_of_sizes", None, dict(x=x, m=np.array(20), n=np.array([3])), "m n", (0, 1, 2, 50, -1), only=True, nodes=[node(
        "Loop", ["m", "", "x"], ["y", "z"], body=helper.make_graph(
            [node("Slice", ["a", "zero", "n"], ["s"]), node("ReduceSum", ["s"], ["r"], keepdims=0), node("Add", ["a", "r"], ["b"]),
             node("Identity", ["c"], ["d"]), node("Constant", [], ["zero"], value_ints=[0])][::-1], "body",
            [helper.make_tensor_value_info("k", TensorProto.INT64, []), helper.make_tensor_value_info("c", TensorProto.BOOL, []),
             helper.make_tensor_value_info("a", TensorProto.FLOAT, ["p", "q"])],
            [helper.make_tensor_value_info("d", TensorProto.BOOL, []), helper.make_tensor_value_info("b", TensorProto.FLOAT, ["p", "q"]),
             helper.make_tensor_value_info("r", TensorProto.FLOAT, [])]))])


def compile_case(name, path):
    import pliant
    nodes, inputs, _, _, made, opset, _ = CASES[name]
    free = {k: v for k, v in inputs.items() if v is not None}
    # Axes whose size the operator fixes are constants; the others symbols.
    fixed = {"gather_nd": "i1", "gather_nd_rows": "i1", "max_roi_pool": "r1"}
    known = set(fixed.get(name, "i1" if name.startswith("scatter_nd") else "").split())
    if name.startswith(("roi_align", "nms")):
        known |= {"r1", "b2"}
    if name.startswith("grid_sample"):
        known |= {"g3"}
    if name in ("LSTM", "GRU", "RNN", "deform_conv", "rotary"):
        known |= {f"{k}{a}" for k in "xwrcso" for a in range(4)}
    small = {k for k, v in free.items() if np.asarray(v).size <= 8 and np.asarray(v).ndim == 1}
    ins = [helper.make_tensor_value_info(k, CODES[np.asarray(v).dtype][1], [
        int(d) if f"{k}{a}" in known or k in small else f"{k}{a}" for a, d in enumerate(np.shape(v))]) for k, v in free.items()]
    graph = helper.make_graph(nodes, "g", ins, [helper.make_empty_tensor_value_info(m) for m in made])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)
    model = onnx.shape_inference.infer_shapes(model)
    for o in model.graph.output:
        if not o.type.HasField("tensor_type") or not o.type.tensor_type.elem_type:
            o.type.tensor_type.elem_type = TensorProto.FLOAT
    pliant.compile(model, threads=1).save(path)
    return free


class Flipper(threading.Thread):
    """Puts wrong values into arrays and the right ones back, for as long as it is not told to stop."""

    def __init__(self, arrays, wrong, only):
        super().__init__(daemon=True)
        self.arrays, self.stop = arrays, False
        self.right = [a.copy() for a in arrays]
        self.wrong = []
        for a in arrays:
            if a.dtype == bool:
                values = [False, True]
            elif a.dtype.kind == "f":
                values = list(wrong)
            else:
                info = np.iinfo(a.dtype)
                n = int(np.abs(a).max(initial=1)) + 1
                values = [] if only else [n, n + 1, 2 * n, 10 * n, -n - 1, -2 * n, -20 * n, 4096, -4096, 100000, -100000, info.max,
                                          info.min]
                values += [int(v) for v in wrong if abs(v) < 1e9]
            self.wrong.append(np.array(values, np.float64 if a.dtype.kind == "f" else object).astype(a.dtype))

    def run(self):
        random = np.random.default_rng(2)
        flat = [a.reshape(-1) for a in self.arrays]
        for turn in range(1 << 62):
            if self.stop:
                return
            for a, right, wrong in zip(flat, self.right, self.wrong):
                at = random.integers(0, a.size, 1 if turn % 4 else max(1, a.size // 50))
                a[at] = random.choice(wrong, at.size)
                if turn % 50 == 0:
                    time.sleep(0)  # a whole run may find these
                a[at] = right.reshape(-1)[at]


def race(library, name, seconds):
    _, _, changed, wrong, made, _, only = CASES[name]
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "m.pliant")
        arrays = {k: guarded(v) for k, v in compile_case(name, path).items()}
        model = ctypes.c_void_p()
        options = LoadOptions(ctypes.sizeof(LoadOptions), 1, 0, 1 << 28)
        if library.pliant_load_file(path.encode(), ctypes.byref(options), ctypes.byref(model)):
            raise RuntimeError(library.pliant_last_error().decode())
    shapes = {k: (ctypes.c_int64 * max(a.ndim, 1))(*a.shape) for k, a in arrays.items()}
    inputs = (Input * len(arrays))(*(Input(k.encode(), a.ctypes.data, CODES[a.dtype][0], a.ndim, shapes[k]) for k, a in arrays.items()))
    outputs = (Output * len(made))()

    def run():
        status = library.pliant_run(model, inputs, len(arrays), outputs, len(made))
        sizes = [int(np.prod(o.shape[:o.rank])) for o in outputs]
        for o in outputs:
            if o.buffer:
                library.pliant_release_buffer(o.buffer)
                o.data = o.buffer = None
        return status, sizes

    status, sizes = run()
    if status:
        raise RuntimeError(library.pliant_last_error().decode())
    # The runtime's own memory for every other run; else memory whose end is guarded, of the size that the right inputs give.
    widths = {0: 1, 3: 4, 4: 8, 11: 4}
    kept = [guarded(np.zeros(max(1, n) * widths[o.dtype], np.uint8), 64) for n, o in zip(sizes, outputs)]
    flipper = Flipper([arrays[k] for k in changed], wrong, only)
    flipper.start()
    counts = {}
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        given = sum(counts.values()) % 2
        for o, k in zip(outputs, kept):
            o.data, o.capacity = (k.ctypes.data, -(-k.nbytes // 64) * 64) if given else (None, 0)
        status = run()[0]
        counts[status] = counts.get(status, 0) + 1
    flipper.stop = True
    flipper.join()
    library.pliant_release_model(model)
    return counts


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*")
    parser.add_argument("--library", required=True)
    parser.add_argument("--seconds", type=float, default=60)
    args = parser.parse_args()
    library = ctypes.CDLL(args.library)
    library.pliant_last_error.restype = ctypes.c_char_p
    library.pliant_release_buffer.argtypes = library.pliant_release_model.argtypes = [ctypes.c_void_p]
    library.pliant_run.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p, ctypes.c_size_t]
    sys.setswitchinterval(1e-4)
    for group in (gather_cases, sampling_cases, size_cases):
        group()
    names = args.names or list(CASES)
    # Statuses: 0 it ran, 6 a fault of the model, 7 no memory, 8 another size than the output's.
    for name in names:
        print(name, end=" ", flush=True)
        counts = race(library, name, args.seconds)
        print(" ".join(f"{k}:{v}" for k, v in sorted(counts.items())), flush=True)
        assert set(counts) <= {0, 6, 7, 8}, counts
    print("done")


if __name__ == "__main__":
    main()
