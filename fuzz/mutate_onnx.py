"""Mutated ONNX files through the importer, the compiler at level 0, and a run that is cancelled after 1 s.

    python fuzz/mutate_onnx.py [--count 100000] [--first 0] [--workers 2] [--keep FOLDER]

Each mutant is made from its number alone: of the models of the ONNX backend's node tests and some with functions, loops and weights, a
third have bytes changed, the others the parsed model (attributes, sizes, types, edges, operators). Every mutant has a process with limits;
one that crashes, takes more than 10 s of processor time, or more memory than 10 times its size and 256 MiB is reported and, with --keep,
written. Exits with 1 where there was one.
"""

import argparse
import pathlib
import random
import sys
import threading

import numpy as np
import onnx
import onnx.backend.test.loader as loader
from onnx import AttributeProto

import pliant

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "tests" / "python"), str(ROOT / "bench")]
import models  # noqa: E402
from compile_graphs import GRAPHS  # noqa: E402
from guarded import Worker  # noqa: E402

MAX_BYTES = 16384
SECONDS, ADDRESS_SPACE = 10, 8192
INTS = [
    0,
    1,
    -1,
    2,
    3,
    -2,
    7,
    8,
    16,
    64,
    255,
    4096,
    65536,
    2**31 - 1,
    2**31,
    -(2**31),
    2**32,
    10**9,
    2**40,
    2**62,
    2**63 - 1,
    -(2**63),
]
FLOATS = [0.0, -0.0, 1.0, -1.0, 0.5, 1e-30, 1e30, 3.4e38, float("inf"), float("-inf"), float("nan")]
SMALL = (
    "dense_chain",
    "layer_norm_chain",
    "conv_chain",
    "resize_chain",
    "size_chain",
    "compress_chain",
    "quantise_chain",
    "ifs_in_a_row",
    "loops_in_a_row",
    "recurrent_chain",
    "calls_in_a_row",
    "sequence_inserts",
    "wide_split",
    "dynamic_reshape_chain",
)


def seeds():
    """Bytes of the models that mutants are made from."""
    found = [case.model.SerializeToString() for case in loader.load_model_tests(kind="node")]
    found += [GRAPHS[name](20).SerializeToString() for name in SMALL]
    found += [make().SerializeToString() for make in (models.mlp, models.convnet, models.two_inputs)]
    return [data for data in found if len(data) <= MAX_BYTES]


# ---- bytes


def change_bytes(data, rng, others):
    data = bytearray(data)
    for _ in range(rng.choice([1, 1, 1, 2, 4, 16])):
        if not data:
            return bytes(data)
        at = rng.randrange(len(data))
        length = min(rng.choice([1, 1, 2, 4, 8, 32]), len(data) - at)
        kind = rng.randrange(8)
        if kind == 0:
            data[at] ^= 1 << rng.randrange(8)
        elif kind == 1:
            data[at] = rng.choice([0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)])
        elif kind == 2:
            del data[at : at + length]
        elif kind == 3:
            data[at:at] = data[at : at + length]
        elif kind == 4:
            data[at:at] = rng.randbytes(length)
        elif kind == 5:
            del data[at:]
        elif kind == 6:
            other = rng.choice(others)
            start = rng.randrange(len(other))
            data[at : at + length] = other[start : start + rng.choice([4, 16, 64, 256])]
        else:
            number = rng.choice(INTS) % 2**64
            varint = bytearray()
            while number >= 0x80:
                varint.append(number & 0x7F | 0x80)
                number >>= 7
            data[at : at + 1] = varint + bytes([number])
    return bytes(data)


# ---- the model


def graphs_of(graph):
    yield graph
    for node in graph.node:
        for a in node.attribute:
            for g in ([a.g] if a.type == AttributeProto.GRAPH else a.graphs):
                yield from graphs_of(g)


def change_attribute(model, node, rng):
    if not node.attribute or rng.random() < 0.2:
        a = node.attribute.add()
        a.name = rng.choice(
            [
                "axis",
                "axes",
                "group",
                "kernel_shape",
                "pads",
                "strides",
                "size",
                "num_outputs",
                "hidden_size",
                "mode",
                "to",
                "perm",
                "dilations",
                "keepdims",
                "blocksize",
                "alpha",
                "output_shape",
                "num_heads",
                "k",
                "batch_dims",
            ]
        )
        a.type = rng.choice([AttributeProto.INT, AttributeProto.INTS, AttributeProto.FLOAT, AttributeProto.STRING])
        a.i, a.f, a.s = rng.choice(INTS), rng.choice(FLOATS), b"linear"
        a.ints.extend(rng.choice(INTS) for _ in range(rng.randrange(5)))
        return
    a = rng.choice(node.attribute)
    kind = rng.randrange(4)
    if kind == 0 and len(node.attribute) > 0:
        del node.attribute[rng.randrange(len(node.attribute))]
    elif a.type == AttributeProto.INT:
        a.i = rng.choice([rng.choice(INTS), max(-(2**63), min(2**63 - 1, a.i + rng.choice([-1, 1])))])
    elif a.type == AttributeProto.FLOAT:
        a.f = rng.choice(FLOATS)
    elif a.type == AttributeProto.STRING:
        a.s = rng.choice([b"", b"linear", b"cubic", b"SAME_UPPER", b"VALID", b"reflect", b"bidirectional", b"\xff", a.s + b"x"])
    elif a.type == AttributeProto.INTS:
        if kind == 1 or not a.ints:
            a.ints.insert(rng.randrange(len(a.ints) + 1), rng.choice(INTS))
        elif kind == 2:
            del a.ints[rng.randrange(len(a.ints))]
        else:
            a.ints[rng.randrange(len(a.ints))] = rng.choice(INTS)
    elif a.type == AttributeProto.FLOATS and a.floats:
        a.floats[rng.randrange(len(a.floats))] = rng.choice(FLOATS)
    elif a.type == AttributeProto.TENSOR:
        change_tensor(a.t, rng)
    else:
        a.type = rng.choice(list(AttributeProto.AttributeType.values()))


def change_tensor(t, rng):
    kind = rng.randrange(5)
    if kind == 0 and t.dims:
        t.dims[rng.randrange(len(t.dims))] = rng.choice(INTS)
    elif kind == 1:
        t.data_type = rng.randrange(24)
    elif kind == 2 and t.raw_data:
        data = bytearray(t.raw_data)
        for _ in range(rng.randrange(1, 5)):
            data[rng.randrange(len(data))] = rng.choice([0, 1, 0x7F, 0x80, 0xFF])
        t.raw_data = bytes(data)
    elif kind == 3 and t.raw_data and t.data_type == onnx.TensorProto.INT64 and len(t.raw_data) >= 8:
        at = 8 * rng.randrange(len(t.raw_data) // 8)
        t.raw_data = t.raw_data[:at] + (rng.choice(INTS) % 2**64).to_bytes(8, "little") + t.raw_data[at + 8 :]
    elif t.int64_data:
        t.int64_data[rng.randrange(len(t.int64_data))] = rng.choice(INTS)
    elif kind == 4:
        t.dims.append(rng.choice(INTS))


def change_type(info, rng):
    if info.type.WhichOneof("value") != "tensor_type":
        info.type.tensor_type.elem_type = rng.randrange(1, 17)
        return
    t = info.type.tensor_type
    kind = rng.randrange(5)
    if kind == 0:
        t.elem_type = rng.randrange(1, 24)
    elif kind == 1:
        t.ClearField("shape")
    elif kind == 2 and t.shape.dim:
        rng.choice(t.shape.dim).dim_value = rng.choice(INTS)
    elif kind == 3 and t.shape.dim:
        rng.choice(t.shape.dim).dim_param = rng.choice(["n", "m", "", "n*2", "1.5", "batch"])
    else:
        t.shape.dim.add().dim_value = rng.choice(INTS)


def change_model(data, rng, others, operators):
    model = onnx.ModelProto()
    model.ParseFromString(data)
    for _ in range(rng.choice([1, 1, 1, 1, 2, 3])):
        graphs = list(graphs_of(model.graph))
        graph = rng.choice(graphs)
        if not graph.node:
            break
        node = rng.choice(graph.node)
        kind = rng.randrange(12)
        names = [n for m in graph.node for n in (*m.input, *m.output)] + [i.name for i in graph.input]
        if kind <= 3:
            change_attribute(model, node, rng)
        elif kind == 4:
            node.op_type = rng.choice(operators)
        elif kind == 5 and node.input:
            node.input[rng.randrange(len(node.input))] = rng.choice([*names, ""])
        elif kind == 6:
            rng.choice([node.input, node.output]).append(rng.choice([*names, "fresh"]))
        elif kind == 7 and graph.input:
            change_type(rng.choice([*graph.input, *graph.output]), rng)
        elif kind == 8 and graph.initializer:
            change_tensor(rng.choice(graph.initializer), rng)
        elif kind == 9 and model.opset_import:
            rng.choice(model.opset_import).version = rng.choice([1, 6, 7, 9, 11, 13, 15, 18, 21, 23, 26, *INTS])
        elif kind == 10:
            other = onnx.ModelProto()
            other.ParseFromString(rng.choice(others))
            if other.graph.node:
                copy = graph.node.add()
                copy.CopyFrom(rng.choice(other.graph.node))
                for k in range(len(copy.input)):
                    copy.input[k] = rng.choice(names)
                graph.output.add().name = rng.choice(copy.output) if copy.output else "none"
        elif kind == 11:
            del graph.node[rng.randrange(len(graph.node))]
    return model.SerializeToString()


class Mutants:
    def __init__(self):
        self.seeds = seeds()
        self.operators = sorted({s.name for s in onnx.defs.get_all_schemas()})

    def make(self, number):
        rng = random.Random(number)
        data = rng.choice(self.seeds)
        if rng.random() < 0.35:
            return change_bytes(data, rng, self.seeds)
        return change_model(data, rng, self.seeds, self.operators)


# ---- what is done with a mutant


def random_array(dtype, shape, rng):
    if dtype == "bfloat16":
        import ml_dtypes

        return rng.standard_normal(shape).astype(ml_dtypes.bfloat16)
    if dtype == "bool":
        return rng.random(shape) < 0.5
    if np.dtype(dtype).kind in "iu":
        return rng.integers(0, 4, shape).astype(dtype)
    return rng.standard_normal(shape).astype(dtype)


def random_feed(exe, seed):
    rng, sizes, feed = np.random.default_rng(seed), {}, {}
    for info in exe.inputs:
        axes = info.shape if info.shape is not None else [2, 3]
        shape = [a if isinstance(a, int) else sizes.setdefault(a, int(rng.integers(0, 6))) for a in axes]
        if np.prod([max(1, d) for d in shape], dtype=float) > 1e6:
            return None
        array = random_array(info.dtype, shape, rng)
        feed[info.name] = [array, array] if info.kind.endswith("sequence") else array
    return feed


def try_model(data, seed):
    """What became of the model: "refused", "compiled", "ran", or the run's error."""
    try:
        exe = pliant.compile(data, opt_level=0, progress=False, memory_limit=64 << 20)
    except pliant.InternalError as e:
        return f"internal error: {str(e)[:300]}"
    except pliant.Error:
        return "refused"
    except Exception as e:
        return f"not an error of pliant: {type(e).__name__}: {str(e)[:200]}"
    feed = random_feed(exe, seed)
    if feed is None:
        return "compiled"
    timer = threading.Timer(1.0, exe.cancel)
    timer.start()
    try:
        exe.run(feed)
        return "ran"
    except pliant.Error as e:
        return type(e).__name__
    finally:
        timer.cancel()
        timer.join()


def faults(numbers, mutants=None):
    """(number, what is wrong or "", outcome) of every mutant."""
    mutants = mutants or Mutants()
    worker = Worker(lambda number: try_model(mutants.make(number), number), SECONDS, ADDRESS_SPACE)
    try:
        for number in numbers:
            outcome = worker.call(number)
            wrong, size = outcome.fault, len(mutants.make(number))
            if not wrong and outcome.mib > 256 + 10 * size / (1 << 20):
                wrong = f"{outcome.mib:.0f} MiB for {size} bytes"
            if not wrong and outcome.seconds > SECONDS:
                wrong = f"{outcome.seconds:.1f} s"
            if not wrong and outcome.result.startswith(("internal error", "not an error")):
                wrong = outcome.result
            yield number, wrong, outcome
    finally:
        worker.stop()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=100000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--step", type=int, default=1, help="every so many, for several processes side by side")
    parser.add_argument("--keep", type=pathlib.Path)
    args = parser.parse_args()
    mutants, counts, bad = Mutants(), {}, 0
    slowest, largest = 0.0, 0.0
    for number, wrong, outcome in faults(range(args.first, args.first + args.count, args.step), mutants):
        what = "fault" if wrong else outcome.result
        counts[what] = counts.get(what, 0) + 1
        slowest, largest = max(slowest, outcome.seconds), max(largest, outcome.mib)
        if wrong:
            bad += 1
            print(f"mutant {number}: {wrong}", flush=True)
            if args.keep:
                args.keep.mkdir(parents=True, exist_ok=True)
                (args.keep / f"{number}.onnx").write_bytes(mutants.make(number))
        if sum(counts.values()) % 5000 == 0:
            print(f"{sum(counts.values())}: {counts}, the longest {slowest:.2f} s, the most {largest:.0f} MiB", flush=True)
    print(f"{sum(counts.values())} mutants: {counts}, the longest {slowest:.2f} s, the most {largest:.0f} MiB")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
