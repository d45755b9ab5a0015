"""Changes artifacts everywhere but in their native code, makes the digest right again, and loads and runs each with a cancel
after a second. The loader must refuse or load, whatever it is given; a run of what was loaded may end in any way that native
code can end, which is counted.

    python tests/python/artifact_mutants.py COUNT [--seed N]
"""
import argparse
import collections
import hashlib
import mmap
import os
import pathlib
import random
import resource
import signal
import struct
import sys
import tempfile
import threading
import time
import warnings

import numpy as np

import models
import pliant
from test_loops import loop_body

MOST_SECONDS = 10
MIB = 1 << 20
STAGES = ("idle", "load", "describe", "run", "done")


def nonzero():
    g = models.Graph()
    g("NonZero", "x", name="i")
    g("Unique", "x", outputs=4, name="u")
    return g.model([("x", models.F32, ["n", "m"])],
                   [("i", models.I64, [2, "k"]), ("u", models.F32, ["j"]), ("u_3", models.I64, ["j"])])


def filtering_loop():
    """Compress in a loop: bytecode with functions of the runtime."""
    def build(g):
        g("Compress", "v", g("Greater", "v", "low"), axis=0, name="v_out")
    g = models.Graph()
    g("Loop", "n", "", "v0", body=loop_body(build, [("v", models.F32)]), name="out")
    return g.model([("n", models.I64, []), ("v0", models.F32, ["m"]), ("low", models.F32, [])], [("out", models.F32, None)])


def top_k():
    g = models.Graph()
    g("TopK", "x", "k", outputs=2, axis=1, name="v")
    return g.model([("x", models.F32, ["n", 7]), ("k", models.I64, [1])],
                   [("v", models.F32, ["n", None]), ("v_1", models.I64, ["n", None])])


def texts():
    import onnx.parser
    from test_cli import SEQUENCES
    yield onnx.parser.parse_model(SEQUENCES)
    yield pathlib.Path(__file__).parents[2] / "examples" / "tree_lstm.ir"


def originals():
    """Artifacts of all kinds of tables, as bytes."""
    out = []
    with tempfile.TemporaryDirectory() as folder:
        for model in (models.mlp(), models.convnet(), models.bert_like(), nonzero(), filtering_loop(), top_k(), *texts()):
            for native_loops in (True, False):
                exe = pliant.compile(model, native_loops=native_loops, opt_level=2 if native_loops else 0, progress=False)
                exe.save(os.path.join(folder, "a"))
                data = pathlib.Path(folder, "a").read_bytes()
                if data not in out:
                    out.append(data)
    return out


def sections(data):
    """(kind, offset, bytes) of each; kind 0 is the tables, 4 the constants, 5 the debug table, between them native code."""
    count = struct.unpack_from("<I", data, 12)[0]
    return [(kind, at, size) for kind, _, at, size in (struct.unpack_from("<IIQQ", data, 64 + 24 * i) for i in range(count))]


def sign(data):
    body = bytes(data[:-32])
    pieces = b"".join(hashlib.sha256(body[at:at + MIB]).digest() for at in range(0, len(body), MIB))
    return body + hashlib.sha256(pieces).digest()


def mutant(data, rng):
    data = bytearray(data)
    parts = sections(data)
    places = {"tables": [(at, size) for kind, at, size in parts if kind == 0],
              "constants": [(at, size) for kind, at, size in parts if kind == 4 and size], "frame": [(0, 64 + 24 * len(parts))]}
    where = rng.choices(["tables", "constants", "frame"], [20, 2 if places["constants"] else 0, 1])[0]
    at, size = rng.choice(places[where])
    for _ in range(rng.choice([1, 1, 1, 2, 3, 8])):
        place = at + rng.randrange(size)
        match rng.randrange(6):
            case 0: data[place] ^= 1 << rng.randrange(8)
            case 1: data[place] = rng.randrange(256)
            case 2: data[place] = rng.choice([0, 1, 2, 0x7e, 0x7f, 0x80, 0xfe, 0xff])
            case 3: data[place] = (data[place] + rng.choice([-2, -1, 1, 2])) % 256
            case 4:  # a piece from elsewhere
                length, other = rng.randrange(1, 12), at + rng.randrange(size)
                length = min(length, at + size - max(place, other))
                data[place:place + length] = data[other:other + length]
            case 5:  # a number of another length; what follows moves, the section with it
                new = rng.choice([b"", b"\x00", b"\xff\xff\xff\x7f", b"\x80\x80\x80\x80\x80\x80\x40", b"\xff" * 9 + b"\x01", b"\x80\x08"])
                if where == "tables":
                    index = next(i for i, (_, offset, _) in enumerate(parts) if offset == at)
                    room = min(offset for _, offset, _ in parts if offset > at) - at
                    tables = data[at:place] + new + data[place + 1:at + size]
                    if len(tables) <= room and len(tables):
                        data[at:at + room] = tables + bytes(room - len(tables))
                        struct.pack_into("<Q", data, 64 + 24 * index + 16, len(tables))
                        size = len(tables)
    return sign(data)


def array_for(info, rng):
    shape = [axis if isinstance(axis, int) else 3 for axis in (info.shape or ())]
    if np.prod([float(axis) for axis in shape]) > 1e6:
        shape = [min(axis, 3) for axis in shape]
    return rng.integers(0, 4, shape).astype(info.dtype if info.dtype != "bfloat16" else "float32")


def feed_for(exe):
    rng = np.random.default_rng(0)
    feed = {}
    for info in exe.inputs:
        arrays = [array_for(info, rng) for _ in range(2)]
        feed[info.name] = arrays[0] if info.kind in ("tensor", "optional") else arrays
    return feed


def limit_of(data):
    return 10 * len(data) + 256 * MIB


def try_one(path, data, tell):
    """What became of one mutant; `tell` notes how far it got."""
    path.write_bytes(data)
    tell("load")
    try:
        exe = pliant.load(path, threads=1)
    except pliant.ArtifactError:
        return "refused"
    tell("describe")
    repr(exe), exe.info, exe.stats
    feed = feed_for(exe)
    timer = threading.Timer(1, exe.cancel)
    timer.start()
    tell("run")
    try:
        exe.run(feed, memory_limit=64 * MIB)
        return "ran"
    except pliant.Error as e:
        return type(e).__name__
    finally:
        timer.cancel()


def work(first, count, seed, data, notes, path):
    """In a process of its own: the mutants first … count - 1. Notes: stage, number, milliseconds of the longest, RSS in KiB
    above the start, then counts of what came out."""
    outcomes = collections.Counter()
    start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    longest = 0.0
    warnings.simplefilter("ignore")

    def note(stage, number):
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - start
        struct.pack_into("<qqqq", notes, 0, STAGES.index(stage), number, int(longest * 1000), memory)
    for number in range(first, count):
        note("idle", number)
        rng = random.Random(f"{seed} {number}")
        begin = time.monotonic()
        # Small ones more often: they take less time.
        original = rng.choices(data, [1 / max(len(d), 16384) for d in data])[0]
        outcomes[try_one(path, mutant(original, rng), lambda stage: note(stage, number))] += 1
        longest = max(longest, time.monotonic() - begin)
        text = repr(dict(outcomes)).encode()
        struct.pack_into("<q", notes, 32, len(text))
        notes[40:40 + len(text)] = text
    note("done", count)


def passes_alone(number, seed, data, path):
    child = os.fork()
    if child == 0:
        work(number, number + 1, seed, data, bytearray(4096), path)
        os._exit(0)
    return os.waitpid(child, 0)[1] == 0


def run(count, seed=0, show=None):
    """Counts of outcomes; lists of (number, what) for crashes and hangs by stage; the longest in seconds, the most memory in MiB."""
    data = originals()
    outcomes, faults = collections.Counter(), collections.defaultdict(list)
    longest = most = 0
    first = 0
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None) as folder:
        notes = mmap.mmap(-1, 4096)
        while first < count:
            notes[:] = bytes(4096)
            child = os.fork()
            if child == 0:
                os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
                work(first, count, seed, data, notes, pathlib.Path(folder, "m"))
                os._exit(0)
            seen, since, status = -1, time.monotonic(), None
            while status is None:
                done, code = os.waitpid(child, os.WNOHANG)
                if done:
                    status = code
                    break
                stage, number, milliseconds, kib = struct.unpack_from("<qqqq", notes)
                if number != seen:
                    seen, since = number, time.monotonic()
                    if show:
                        show(number)
                elif time.monotonic() - since > MOST_SECONDS + 2:
                    os.kill(child, signal.SIGKILL)
                    _, status = os.waitpid(child, 0)
                    break
                time.sleep(0.02)
            stage, number, milliseconds, kib = struct.unpack_from("<qqqq", notes)
            size = struct.unpack_from("<q", notes, 32)[0]
            outcomes.update(eval(bytes(notes[40:40 + size])) if size else {})
            longest, most = max(longest, milliseconds / 1000), max(most, kib / 1024)
            if kib * 1024 > max(map(limit_of, data)):
                faults["memory"].append((number, kib // 1024))
            if status == 0:
                break
            number_of_signal = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
            what = ("hang" if number_of_signal == signal.SIGKILL else f"signal {number_of_signal}" if number_of_signal else
                    f"status {os.WEXITSTATUS(status)}")
            # What a run broke may show only later: this one again, in a process of its own.
            is_late = STAGES[stage] != "run" and what != "hang" and passes_alone(number, seed, data, pathlib.Path(folder, "m"))
            faults["run" if is_late else STAGES[stage]].append((number, "seen late" if is_late else what))
            first = number + 1
    return outcomes, faults, longest, most


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("count", type=int)
    parser.add_argument("--seed", type=int, default=0)
    a = parser.parse_args()
    outcomes, faults, longest, most = run(a.count, a.seed, lambda n: print(f"\r{n}", end="", file=sys.stderr) if n % 100 == 0 else None)
    print(f"\n{a.count} mutants, seed {a.seed}: {dict(outcomes)}")
    for stage, found in faults.items():
        print(f"{stage}: {len(found)}: {collections.Counter(what for _, what in found)}, first {found[:10]}")
    print(f"longest {longest:.2f} s, most memory above the start {most:.0f} MiB")
    return 1 if set(faults) - {"run"} else 0


if __name__ == "__main__":
    sys.exit(main())
