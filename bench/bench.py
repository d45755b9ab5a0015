"""Pliant beside onnxruntime: one JSON line for each model and shape, appended to build/bench.jsonl.

    ./dev bench [MODEL.onnx 'data=1x3x224x224;4x3x224x224' [input=…]…] [--threads N] [--rounds N] [--compare FILE]

Without a model: the demo's two. --compare FILE takes an earlier bench.jsonl and fails where the ratio to onnxruntime became worse by more
than 10 %. Times are medians of rounds in which the systems take turns, each once the other's threads sleep.
"""
import argparse
import json
import pathlib
import platform
import subprocess
import sys
import time

import numpy as np
import onnxruntime

import pliant

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))
import demo_models  # noqa: E402
from turns import take_turns  # noqa: E402


def cpu_name():
    for line in open("/proc/cpuinfo"):
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


def parse_shapes(texts):
    """[{input: shape}] from 'name=1x3;2x3' for each input; the k-th alternatives belong together."""
    inputs = {}
    for text in texts:
        name, alternatives = text.rsplit("=", 1)
        inputs[name] = [tuple(int(d) for d in a.split("x") if d) for a in alternatives.split(";")]
    count = max(map(len, inputs.values()))
    return [{name: shapes[k if len(shapes) > 1 else 0] for name, shapes in inputs.items()} for k in range(count)]


def make_feed(session, shapes, rng):
    feed = {}
    for info in session.get_inputs():
        shape = shapes[info.name]
        if "float" in info.type:
            feed[info.name] = rng.standard_normal(shape).astype(np.float16 if "16" in info.type else np.float32)
        else:
            low, high = (1, 2) if "mask" in info.name else (0, 1) if "type" in info.name else (0, 100)
            feed[info.name] = rng.integers(low, high, shape).astype(np.int32 if "int32" in info.type else np.int64)
    return feed


def error(got, want):
    return max(float(np.max(np.abs(a.astype(np.float64) - b)) / max(1.0, np.max(np.abs(b)))) for a, b in zip(got, want) if b.size)


def bench_model(path, cases, args, common):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads, options.log_severity_level = args.threads, 1, 3
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    names = [o.name for o in session.get_outputs()]
    start = time.perf_counter()
    exe = pliant.compile(path, threads=args.threads)
    compile_seconds = time.perf_counter() - start
    artifact = ROOT / "build" / "bench.pliant"
    exe.save(artifact)
    size = artifact.stat().st_size
    artifact.unlink()
    rng = np.random.default_rng(0)
    for shapes in cases:
        feed = make_feed(session, shapes, rng)
        systems = {"pliant": lambda: [exe.run(feed)[n] for n in names], "ort": lambda: session.run(names, feed)}
        outputs = {k: f() for k, f in systems.items()}
        times = dict(zip(systems, take_turns(list(systems.values()), args.rounds)))
        ratios = np.array(times["pliant"]) / np.array(times["ort"])
        yield {**common, "model": path.stem, "shape": ";".join(f"{n}={'x'.join(map(str, s))}" for n, s in shapes.items()),
               "pliant_ms": float(np.median(times["pliant"])), "ort_ms": float(np.median(times["ort"])), "ratio": float(np.median(ratios)),
               "spread": float(np.percentile(ratios, 90) - np.percentile(ratios, 10)), "rel_err": error(outputs["pliant"], outputs["ort"]),
               "compile_s": compile_seconds, "artifact_bytes": size}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", nargs="?", type=pathlib.Path)
    parser.add_argument("shapes", nargs="*")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--compare", type=pathlib.Path)
    args = parser.parse_args()
    if args.model:
        work = [(args.model, parse_shapes(args.shapes))]
    else:
        paths = demo_models.make(ROOT / "out" / "demo")
        work = [(paths["resnet50"], parse_shapes(["data=1x3x224x224;4x3x224x224;7x3x224x224"])),
                (paths["ppocr_rec"], parse_shapes(["x=1x3x48x320;2x3x48x168;6x3x48x48"]))]
    earlier = {}
    if args.compare:
        for line in args.compare.read_text().splitlines():
            row = json.loads(line)
            earlier[row["model"], row["shape"], row["threads"]] = row
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True).stdout.strip()
    common = {"commit": commit, "machine": cpu_name(), "threads": args.threads}
    worse = []
    with open(ROOT / "build" / "bench.jsonl", "a") as out:
        for path, cases in work:
            for row in bench_model(path, cases, args, common):
                print(json.dumps(row), file=out, flush=True)
                print(f"{row['model']:14} {row['shape']:40} pliant {row['pliant_ms']:8.2f} ms  onnxruntime {row['ort_ms']:8.2f} ms  "
                      f"ratio {row['ratio']:.3f}  err {row['rel_err']:.1e}  compile {row['compile_s']:.1f} s", flush=True)
                before = earlier.get((row["model"], row["shape"], row["threads"]))
                if before and row["ratio"] > 1.1 * before["ratio"]:
                    worse.append(f"{row['model']} {row['shape']}: ratio {before['ratio']:.3f} -> {row['ratio']:.3f}")
    if worse:
        raise SystemExit("worse than before:\n" + "\n".join(worse))


if __name__ == "__main__":
    main()
