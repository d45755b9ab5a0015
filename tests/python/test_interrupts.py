"""Ctrl-C in a compilation: within a second, whatever the compiler is doing."""
import signal
import subprocess
import sys
import textwrap
import time

import pytest

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
