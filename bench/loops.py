#!/usr/bin/env python3
"""Recurrent loops beside onnxruntime, one thread, in one process, taking turns.

    python bench/loops.py [--rounds 15] [--steps 64,7,1] [--folder DIR_WITH_SILERO_MODELS]

An LSTM of 300 to 512 written as a Loop, as the fused operator and unrolled; with --folder the silero_vad models there.
Each round runs every system once for each case; a ratio is taken inside a round and the median of the rounds is printed.
"""
import argparse
import os
import statistics
import tempfile
import time

import numpy as np
import onnx
import onnxruntime
import pliant
from onnx import TensorProto, helper, numpy_helper

FEATURES, HIDDEN = 300, 512


def weights():
    rng = np.random.default_rng(0)
    scale = 1 / np.sqrt(HIDDEN)
    make = lambda *shape: (rng.standard_normal(shape) * scale).astype(np.float32)
    return make(FEATURES, 4 * HIDDEN), make(HIDDEN, 4 * HIDDEN), make(4 * HIDDEN)


def save(graph, folder, name):
    path = os.path.join(folder, name + ".onnx")
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8), path)
    return path


def info(name, *shape):
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, list(shape))


def cell(row, h, c, next_h, next_c, prefix=""):
    """Nodes of one step on vectors; `row` is [1, FEATURES]."""
    p = lambda name: prefix + name
    n = helper.make_node
    return [
        n("Unsqueeze", [h, "zero"], [p("hp2")]), n("MatMul", [row, "W"], [p("xw")]), n("MatMul", [p("hp2"), "R"], [p("hr")]),
        n("Add", [p("xw"), p("hr")], [p("s")]), n("Add", [p("s"), "B"], [p("g2")]), n("Squeeze", [p("g2"), "zero"], [p("g")]),
        n("Split", [p("g")], [p("gi"), p("go"), p("gf"), p("gc")], axis=0, num_outputs=4),
        n("Sigmoid", [p("gi")], [p("i")]), n("Sigmoid", [p("go")], [p("o")]), n("Sigmoid", [p("gf")], [p("f")]),
        n("Tanh", [p("gc")], [p("cc")]), n("Mul", [p("f"), c], [p("c1")]), n("Mul", [p("i"), p("cc")], [p("c2")]),
        n("Add", [p("c1"), p("c2")], [next_c]), n("Tanh", [next_c], [p("tc")]), n("Mul", [p("o"), p("tc")], [next_h])]


def initializers():
    w, r, b = weights()
    return [numpy_helper.from_array(a, n) for a, n in ((w, "W"), (r, "R"), (b, "B"), (np.array([0], np.int64), "zero"))]


def loop_model(folder):
    n = helper.make_node
    body = helper.make_graph(
        [n("Gather", ["x", "t"], ["xt"]), n("Unsqueeze", ["xt", "zero"], ["xt2"]), *cell("xt2", "hp", "cp", "hn", "cn"),
         n("Identity", ["hn"], ["hs_t"]), n("Identity", ["cond_in"], ["cond_out"])], "body",
        [helper.make_tensor_value_info("t", TensorProto.INT64, []), helper.make_tensor_value_info("cond_in", TensorProto.BOOL, []),
         info("hp", HIDDEN), info("cp", HIDDEN)],
        [helper.make_tensor_value_info("cond_out", TensorProto.BOOL, []), info("hn", HIDDEN), info("cn", HIDDEN), info("hs_t", HIDDEN)])
    graph = helper.make_graph(
        [n("Shape", ["x"], ["xs"], start=0, end=1), n("Squeeze", ["xs"], ["n"]),
         n("Loop", ["n", "", "h0", "c0"], ["h", "c", "hs"], body=body)], "lstm_loop",
        [info("x", "time", FEATURES), info("h0", HIDDEN), info("c0", HIDDEN)], [info("hs", "time", HIDDEN), info("h", HIDDEN)],
        initializers())
    return save(graph, folder, "loop")


def unrolled_model(folder, steps):
    n = helper.make_node
    nodes, h, c, rows = [], "h0", "c0", []
    nodes.append(n("Split", ["x"], [f"x{t}" for t in range(steps)], axis=0, num_outputs=steps))
    for t in range(steps):
        nodes += cell(f"x{t}", h, c, f"h_{t}", f"c_{t}", f"s{t}_")
        h, c = f"h_{t}", f"c_{t}"
        nodes.append(n("Unsqueeze", [h, "zero"], [f"row{t}"]))
        rows.append(f"row{t}")
    nodes += [n("Concat", rows, ["hs"], axis=0), n("Identity", [h], ["h"])]
    graph = helper.make_graph(nodes, "lstm_unrolled", [info("x", steps, FEATURES), info("h0", HIDDEN), info("c0", HIDDEN)],
                              [info("hs", steps, HIDDEN), info("h", HIDDEN)], initializers())
    return save(graph, folder, f"unrolled{steps}")


def fused_model(folder):
    w, r, b = weights()
    n = helper.make_node
    init = [numpy_helper.from_array(a, k) for a, k in (
        (np.ascontiguousarray(w.T)[None], "W"), (np.ascontiguousarray(r.T)[None], "R"),
        (np.concatenate([b, np.zeros_like(b)])[None], "B"), (np.array([1, 1, HIDDEN]), "state"), (np.array([1]), "one"),
        (np.array([HIDDEN]), "flat"), (np.array([-1, HIDDEN]), "rows"))]
    graph = helper.make_graph(
        [n("Unsqueeze", ["x", "one"], ["x3"]), n("Reshape", ["h0", "state"], ["h3"]), n("Reshape", ["c0", "state"], ["c3"]),
         n("LSTM", ["x3", "W", "R", "B", "", "h3", "c3"], ["Y", "Yh"], hidden_size=HIDDEN),
         n("Reshape", ["Y", "rows"], ["hs"]), n("Reshape", ["Yh", "flat"], ["h"])], "lstm_fused",
        [info("x", "time", FEATURES), info("h0", HIDDEN), info("c0", HIDDEN)], [info("hs", "time", HIDDEN), info("h", HIDDEN)], init)
    return save(graph, folder, "fused")


def ort(path):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads, options.log_severity_level = 1, 1, 3
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    names = [o.name for o in session.get_outputs()]
    return lambda feed: session.run(names, feed)


def ours(path):
    exe = pliant.compile(path, threads=1)
    names = [o.name for o in exe.outputs]

    def run(feed):
        out = exe.run(feed)
        return [out[n] for n in names]
    return run


def compare(systems, feed, rounds, seconds=0.01):
    """Medians of seconds a run, by name, and each system's results."""
    results = {name: run(feed) for name, run in systems.items()}
    counts = {}
    for name, run in systems.items():
        start = time.perf_counter()
        for _ in range(3):
            run(feed)
        counts[name] = max(1, int(seconds / ((time.perf_counter() - start) / 3)))
    times = {name: [] for name in systems}
    for _ in range(rounds):
        for name, run in systems.items():
            start = time.perf_counter()
            for _ in range(counts[name]):
                run(feed)
            times[name].append((time.perf_counter() - start) / counts[name])
    return times, results


def error(a, b):
    return max((float(np.max(np.abs(x - y)) / max(np.max(np.abs(y)), 1e-6)) if x.size else 0.0) for x, y in zip(a, b))


def line(title, times, pairs, wrong):
    text = "  ".join(f"{k} {statistics.median(v) * 1e6:.1f} us" for k, v in times.items())
    ratios = "  ".join(f"{a}/{b} {statistics.median(x / y for x, y in zip(times[a], times[b])):.3f}" for a, b in pairs)
    print(f"{title:28} {text}   {ratios}   error {wrong:.1e}", flush=True)


def lstm(args, folder):
    loop, fused = loop_model(folder), fused_model(folder)
    systems = {"pliant": ours(loop), "ort": ort(loop), "ort-lstm": ort(fused), "pliant-lstm": ours(fused)}
    rng = np.random.default_rng(1)
    for steps in args.steps:
        feed = dict(x=rng.standard_normal((steps, FEATURES)).astype(np.float32), h0=np.zeros(HIDDEN, np.float32),
                    c0=np.zeros(HIDDEN, np.float32))
        times, results = compare(systems, feed, args.rounds)
        line(f"lstm {steps} steps", times, [("pliant", "ort"), ("pliant", "ort-lstm"), ("pliant-lstm", "ort-lstm")],
             max(error(results["pliant"], results["ort"]), error(results["pliant-lstm"], results["ort"])))
    steps = max(args.steps)
    feed = dict(x=rng.standard_normal((steps, FEATURES)).astype(np.float32), h0=np.zeros(HIDDEN, np.float32),
                c0=np.zeros(HIDDEN, np.float32))
    pair = {"loop": ours(loop), "unrolled": ours(unrolled_model(folder, steps))}
    times, results = compare(pair, feed, args.rounds)
    line(f"loop and unrolled, {steps} steps", times, [("loop", "unrolled")], error(results["loop"], results["unrolled"]))


def silero(args):
    rng = np.random.default_rng(0)
    f32 = lambda *shape: rng.standard_normal(shape).astype(np.float32)
    state = lambda batch: np.zeros((2, batch, 128), np.float32)

    def vad(batch, length, rate=None):
        feed = dict(input=f32(batch, length) * 0.1, state=state(batch))
        return feed if rate is None else dict(feed, sr=np.array(rate, np.int64))
    sequence = lambda n: dict(input=f32(n, 576) * 0.1, h=np.zeros((1, 1, 128), np.float32), c=np.zeros((1, 1, 128), np.float32))
    cases = {"silero_vad": [vad(1, 576, 16000), vad(3, 288, 8000), vad(2, 576, 16000)],
             "silero_vad_half": [vad(1, 576), vad(2, 576)],
             "silero_vad_16k_op15": [vad(1, 576, 16000), vad(2, 576, 16000)],
             "silero_vad_16k_sequence": [sequence(n) for n in (1, 4, 17)],
             "silero_vad_op18_ifless": [vad(1, 576, 16000), vad(3, 576, 16000)],
             "silero_vad_openvino_16k": [vad(1, 576)]}
    for name, feeds in cases.items():
        path = os.path.join(args.folder, name + ".onnx")
        try:
            systems = {"pliant": ours(path), "ort": ort(path)}
            for feed in feeds:
                times, results = compare(systems, feed, args.rounds)
                line(f"{name} {feed['input'].shape[0]}", times, [("pliant", "ort")], error(results["pliant"], results["ort"]))
        except Exception as e:  # one model's failure is a line of the table
            print(f"{name:28} failed: {str(e).splitlines()[0][:200]}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--steps", type=lambda s: [int(n) for n in s.split(",")], default=[64, 7, 1])
    parser.add_argument("--folder")
    parser.add_argument("--no-lstm", action="store_true")
    args = parser.parse_args()
    if not args.no_lstm:
        with tempfile.TemporaryDirectory() as folder:
            lstm(args, folder)
    if args.folder:
        silero(args)


if __name__ == "__main__":
    main()
