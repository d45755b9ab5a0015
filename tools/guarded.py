"""Calls of a function on many items in forked processes, each with limits: a crash, a hang or a hunger costs one item.

A worker is pinned to one processor and lives until an item ends it. What an item took is its own processor time and the memory that
came on top of what the worker had before.
"""

import multiprocessing
import os
import resource
import signal
import time
from typing import Any, NamedTuple

MIB = 1 << 20


class Outcome(NamedTuple):
    """`fault`: empty, "timeout", "signal 11", or "exit 1" where the process ended itself; "stalled" where it got or used too little of
    the processor for either. `seconds` are of the processor."""

    item: Any
    result: Any
    fault: str
    seconds: float
    mib: float


def _mebibytes(field):
    with open("/proc/self/status") as f:
        for line in f:
            if line.startswith(field):
                return int(line.split()[1]) / 1024
    return 0.0


def _serve(function, pipe, megabytes, stderr):
    os.sched_setaffinity(0, {sorted(os.sched_getaffinity(0))[os.getpid() % len(os.sched_getaffinity(0))]})
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    most = int(_mebibytes("VmSize") + megabytes) * MIB  # a forked process begins with all that its parent has mapped
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if stderr is not None:
        os.dup2(os.open(stderr, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644), 2)
    while True:
        item = pipe.recv()
        with open("/proc/self/clear_refs", "w") as f:
            f.write("5")
        before, start = _mebibytes("VmRSS"), time.process_time()
        result = function(item)
        pipe.send((result, time.process_time() - start, _mebibytes("VmHWM") - before))


class Worker:
    """One process that serves items; made again after one that ended it."""

    def __init__(self, function, seconds, megabytes, stderr=None):
        self.function, self.seconds, self.megabytes, self.stderr = function, seconds, megabytes, stderr
        self.process = None

    def _start(self):
        fork = multiprocessing.get_context("fork")
        self.pipe, other = fork.Pipe()
        self.process = fork.Process(target=_serve, args=(self.function, other, self.megabytes, self.stderr), daemon=True)
        self.process.start()
        other.close()

    def stop(self):
        if self.process is not None:
            self.process.kill()
            self.process.join()
            self.process = None

    def _used(self):
        """Processor time of the process, in seconds."""
        with open(f"/proc/{self.process.pid}/stat") as f:
            fields = f.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def call(self, item):
        if self.process is None:
            self._start()
        self.pipe.send(item)
        before, start = self._used(), time.monotonic()
        fault, taken = "", 0.0
        while not self.pipe.poll(0.25):
            taken = self._used() - before
            # Time that others take from the processor does not count, up to a point.
            if taken > self.seconds:
                fault = "timeout"
                break
            if time.monotonic() - start > 10 * self.seconds + 10:
                fault = "stalled"
                break
        if not fault:
            try:
                result, seconds, mib = self.pipe.recv()
                return Outcome(item, result, "", seconds, mib)
            except EOFError:
                self.process.join()
                code = self.process.exitcode
                fault = f"signal {-code}" if code < 0 else f"exit {code}"
        self.stop()
        return Outcome(item, None, fault, taken, 0.0)


def outcomes(function, items, seconds, megabytes, stderr=None):
    """The outcome of each item, in order. `seconds` and `megabytes` (of address space beyond what the worker
    begins with) are the limits of one."""
    worker = Worker(function, seconds, megabytes, stderr)
    try:
        for item in items:
            yield worker.call(item)
    finally:
        worker.stop()
