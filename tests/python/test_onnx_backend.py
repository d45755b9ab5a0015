"""The ONNX backend node tests, by execution. Those of onnx_backend_passing.txt must pass; `./dev bless backend` rewrites the list.
test_maxunpool_export_with_output_shape is not among them: it counts positions in a smaller shape than the result's, which undoes no
pool; onnxruntime leaves it out too."""
import collections
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys
import threading

HERE = pathlib.Path(__file__).parent
PINNED = HERE / "onnx_backend_passing.txt"
FLOOR = 700
SECONDS_A_TEST = 120


class Worker:
    """A worker process, started again after a crash or a test that takes too long."""

    def __init__(self):
        self.start()

    def start(self):
        self.process = subprocess.Popen([sys.executable, str(HERE / "onnx_backend_worker.py")], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.names = json.loads(self.process.stdout.readline())

    def run(self, name):
        timer = threading.Timer(SECONDS_A_TEST, self.process.kill)
        timer.start()
        try:
            self.process.stdin.write(name + "\n")
            self.process.stdin.flush()
            line = self.process.stdout.readline()
        except BrokenPipeError:
            line = ""
        timer.cancel()
        if line:
            return json.loads(line)
        code = self.process.wait()
        self.start()
        return {"name": name, "ok": False, "why": f"the process ended with {code}"}

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def run_all():
    workers = [Worker() for _ in range(len(os.sched_getaffinity(0)))]
    queue = collections.deque(workers[0].names)
    results = []

    def drain(worker):
        while True:
            try:
                name = queue.popleft()
            except IndexError:
                return worker.close()
            results.append(worker.run(name))

    with concurrent.futures.ThreadPoolExecutor(len(workers)) as pool:
        list(pool.map(drain, workers))
    return sorted(results, key=lambda r: r["name"])


def reasons(results):
    """The failures by kind, most frequent first."""
    kinds = collections.Counter(re.sub(r'"[^"]*"|\d+', "…", r["why"].split("\n")[0])[:110] for r in results if not r["ok"])
    return "\n".join(f"{count:5}  {kind}" for kind, count in kinds.most_common(40))


def test_node_tests(record_property):
    results = run_all()
    passed = [r["name"] for r in results if r["ok"]]
    folder = pathlib.Path(os.environ.get("PLIANT_BUILD", HERE))
    if folder != HERE:
        (folder / "onnx_backend.json").write_text(json.dumps(results, indent=0))
    record_property("ONNX backend node tests", f"{len(passed)} of {len(results)} passed\n{reasons(results)}")
    crashed = [r["name"] for r in results if "process ended" in r["why"] or "InternalError" in r["why"]]
    if os.environ.get("PLIANT_BLESS"):
        PINNED.write_text("\n".join(passed) + "\n")
    why = {r["name"]: r["why"] for r in results}
    regressed = [name for name in PINNED.read_text().split() if name not in set(passed)]
    assert not regressed, "\n".join(f"{name}: {why.get(name, 'no such test')}" for name in regressed)
    assert not crashed, crashed
    assert len(passed) >= FLOOR
