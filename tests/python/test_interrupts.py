"""Ctrl-C in a compilation, and in writing what came out: within a second, whatever goes on."""
import os
import signal
import subprocess
import sys
import textwrap
import time

import pytest

import models
import pliant

SCRIPT = """
    import signal, sys, threading, time
    sys.path.insert(0, "tests/python")
    import models, pliant
    from test_files import slow_model
    data = slow_model(3000)
    progress = {progress}
    def interrupt():
        time.sleep({delay})
        global sent
        sent = time.monotonic()
        signal.raise_signal(signal.SIGINT) if False else signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
    threading.Thread(target=interrupt).start()
    try:
        pliant.compile(data, opt_level={level}, progress=progress)
    except KeyboardInterrupt:
        print("interrupted", time.monotonic() - sent)
    x = pliant.compile(models.mlp()).inputs[0].name  # and the next one works
    print(x)
"""


@pytest.mark.parametrize("delay, level, progress", [(0.05, 3, False), (0.5, 3, True), (1.5, 3, False), (0.5, 0, False)])
def test_a_compilation_ends(delay, level, progress):
    source = textwrap.dedent(SCRIPT.format(delay=delay, level=level, progress=progress))
    begin = time.monotonic()
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    first, name = done.stdout.splitlines()
    assert first.startswith("interrupted") and name == "x"
    assert float(first.split()[1]) < 1, first
    assert time.monotonic() - begin < 60


SAVE = """
    import os, pty, signal, sys, threading, time, pliant
    exe, folder, to = pliant.load(sys.argv[1]), sys.argv[2], sys.argv[3]
    if to == "terminal":
        first, second = pty.openpty()  # of which nobody reads
        to = os.ttyname(second)
    if to == "pipe with a reader":
        to = os.path.join(folder, "pipe")
        reader = os.open(to, os.O_RDONLY | os.O_NONBLOCK)
    if to == "-":
        reader, writer = os.pipe()
        os.dup2(writer, 1)
    def interrupt():
        time.sleep(0.5)
        global sent
        sent = time.monotonic()
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
    threading.Thread(target=interrupt).start()
    try:
        exe.save(to)
    except KeyboardInterrupt:
        print("interrupted", time.monotonic() - sent, file=sys.stderr)
    exe.save(os.path.join(folder, "later"))
"""


@pytest.mark.parametrize("to", ["terminal", "pipe", "pipe with a reader", "-"])
def test_saving_to_where_nobody_reads_ends(to, tmp_path):
    g = models.Graph()
    g("MatMul", "x", g.weight(300, 300), name="y")  # more than a pipe holds
    model = g.model([("x", models.F32, ["n", 300])], [("y", models.F32, ["n", 300])])
    pliant.compile(model, progress=False).save(tmp_path / "model")
    os.mkfifo(tmp_path / "pipe")
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(SAVE), tmp_path / "model", tmp_path,
                           tmp_path / "pipe" if to == "pipe" else to], stderr=subprocess.PIPE, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    word, seconds = done.stderr.split()
    assert word == "interrupted" and float(seconds) < 1, done.stderr
    assert (tmp_path / "later").read_bytes() == (tmp_path / "model").read_bytes()
