"""The demo: two models, each compiled once with symbolic shapes, run at several shapes beside onnxruntime.

    python tools/demo.py [--threads N] [--rounds N] [--recompile]

Artifacts are kept in out/demo and compiled again when the model or the compiler changed.
"""
import argparse
import hashlib
import json
import os
import pathlib
import time

import numpy as np
import onnxruntime

import demo_models
import pliant
from turns import take_turns

OUT = pathlib.Path(__file__).resolve().parent.parent / "out" / "demo"
SHAPES = {
    "resnet50": ("data", [(1, 3, 224, 224), (4, 3, 224, 224), (7, 3, 224, 224)]),
    "ppocr_rec": ("x", [(1, 3, 48, 320), (2, 3, 48, 168), (6, 3, 48, 48)]),
}


def artifact_for(name, model, recompile):
    """The artifact's path, the seconds that compiling took, and whether it was compiled by an earlier run."""
    digest = hashlib.sha256(model.read_bytes())
    digest.update(pathlib.Path(pliant._core.__file__).read_bytes())
    path, record = OUT / f"{name}.pliant", OUT / f"{name}.json"
    if not recompile and path.exists() and record.exists():
        known = json.loads(record.read_text())
        if known["key"] == digest.hexdigest():
            return path, known["seconds"], True
    start = time.perf_counter()
    pliant.compile(model).save(path)
    seconds = time.perf_counter() - start
    record.write_text(json.dumps({"key": digest.hexdigest(), "seconds": seconds}))
    return path, seconds, False


def reference_for(model, threads):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads, options.log_severity_level = threads, 1, 3
    return onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])


def show(name, model, args):
    path, seconds, earlier = artifact_for(name, model, args.recompile)
    exe = pliant.load(path, threads=args.threads)
    print(f"\n{name}: {exe!r}")
    print(f"  compiled in {seconds:.1f} s{' by an earlier run' if earlier else ''}, artifact {path.stat().st_size / 1e6:.1f} MB, "
          f"model {model.stat().st_size / 1e6:.1f} MB, target {exe.info['target']}, {args.threads} thread(s)")
    print(f"  {'shape':16} {'max difference':>14} {'relative':>9} {'pliant':>10} {'onnxruntime':>12} {'ratio':>6}")
    session = reference_for(model, args.threads)
    rng = np.random.default_rng(0)
    input_name, shapes = SHAPES[name]
    good = True
    for shape in shapes:
        feed = {input_name: rng.standard_normal(shape).astype(np.float32)}
        want, got = session.run(None, feed), list(exe.run(feed).values())
        difference = max(float(np.max(np.abs(a - b))) for a, b in zip(got, want))
        relative = difference / max(1.0, max(float(np.max(np.abs(b))) for b in want))
        turns = take_turns([lambda: exe.run(feed), lambda: session.run(None, feed)], args.rounds)
        ours, theirs = map(float, map(np.median, turns))
        good &= relative <= 1e-4 and all(a.shape == b.shape for a, b in zip(got, want))
        print(f"  {'x'.join(map(str, shape)):16} {difference:14.2e} {relative:9.1e} {ours:7.2f} ms {theirs:9.2f} ms {ours / theirs:6.2f}",
              flush=True)
    return good


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--recompile", action="store_true")
    args = parser.parse_args()
    models = demo_models.make(OUT)
    results = [show(name, path, args) for name, path in models.items()]
    if not all(results):
        raise SystemExit("\ndemo: an output differs from onnxruntime by more than 1e-4 of its largest value")


if __name__ == "__main__":
    main()
