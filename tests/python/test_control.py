"""Structured control flow of the graph IR as bytecode: recursion, growing results, cancelling, memory limits, messages."""
import os
import signal
import threading
import time

import numpy as np
import pytest

import pliant

SUM = """
func @main(%0 "n": i64[]) {
  %1 = core.call(%0) {callee="sum"} : i64[]
  return %1 "y"
}
func @sum(%0 "n": i64[]) {
  %1 = core.const() {value=i64[] dense<1>} : i64[]
  %2 = math.lt(%0, %1) : bool[]
  %3 = core.if(%2) : i64[]
    region() {
      yield %0
    }
    region() {
      %4 = math.sub(%0, %1) : i64[]
      %5 = core.call(%4) {callee="sum"} : i64[] loc(named("deeper", "core.call"))
      %6 = math.add(%5, %0) : i64[]
      yield %6
    }
  return %3 "y"
}
"""

ACKERMANN = """
func @main(%0 "m": i64[], %1 "n": i64[]) {
  %2 = core.call(%0, %1) {callee="ackermann"} : i64[]
  return %2 "y"
}
func @ackermann(%0 "m": i64[], %1 "n": i64[]) {
  %2 = core.const() {value=i64[] dense<1>} : i64[]
  %3 = math.lt(%0, %2) : bool[]
  %4 = core.if(%3) : i64[]
    region() {
      %5 = math.add(%1, %2) : i64[]
      yield %5
    }
    region() {
      %6 = math.sub(%0, %2) : i64[]
      %7 = math.lt(%1, %2) : bool[]
      %8 = core.if(%7) : i64[]
        region() {
          %9 = core.call(%6, %2) {callee="ackermann"} : i64[]
          yield %9
        }
        region() {
          %10 = math.sub(%1, %2) : i64[]
          %11 = core.call(%0, %10) {callee="ackermann"} : i64[]
          %12 = core.call(%6, %11) {callee="ackermann"} : i64[]
          yield %12
        }
      yield %8
    }
  return %4 "y"
}
"""

# The leaves of a tree from left to right: results whose sizes only the values tell.
LEAVES = """
symbol nodes {lo=1, origin=input_axis("left", 0)}
symbol m {lo=1}
symbol r {lo=0, origin=data("call", 0)}
symbol s {lo=0, origin=data("c1", 0)}
symbol t {lo=0, origin=data("c2", 0)}
symbol u {lo=0, origin=data("if", 0)}
func @main(%0 "root": i64[], %1 "left": i64[nodes], %2 "right": i64[nodes]) {
  %3 = core.call(%0, %1, %2) {callee="leaves"} : i64[r]
  return %3 "y"
}
func @leaves(%0 "k": i64[], %1 "left": i64[m], %2 "right": i64[m]) {
  %9 = array.gather(%1, %0) {axis=0} : i64[]
  %10 = core.const() {value=i64[] dense<0>} : i64[]
  %11 = math.lt(%9, %10) : bool[]
  %12 = core.if(%11) : i64[u]
    region() {
      %13 = array.reshape(%0) {shape=[1]} : i64[1]
      yield %13
    }
    region() {
      %28 = array.gather(%2, %0) {axis=0} : i64[]
      %29 = core.call(%9, %1, %2) {callee="leaves"} : i64[s]
      %30 = core.call(%28, %1, %2) {callee="leaves"} : i64[t]
      %33 = array.concat(%29, %30) {axis=0} : i64[s + t]
      yield %33
    }
  return %12 "y"
}
"""

# Adds 1 until the limit, which may be infinity.
COUNT = """
symbol i {lo=0, origin=loop_index("l", 0)}
symbol k {lo=0, origin=data("l", 0)}
func @main(%0 "limit": f32[]) {
  %1 = core.const() {value=f32[] dense<1>} : f32[]
  %2 = core.const() {value=f32[] dense<0>} : f32[]
  %3 = core.loop(_, %2) {index=dim(i), count=dim(k)} : f32[] loc(named("spin", "core.loop"))
    region(%6: f32[]) {
      %7 = math.add(%6, %1) : f32[]
      %8 = math.lt(%7, %0) : bool[]
      yield %8, %7
    }
  return %3 "y"
}
"""

# Rows behind rows, n of them; how many is not used.
GROW = """
symbol n {lo=0, origin=input_axis("s", 0)}
symbol i {lo=0, origin=loop_index("l", 0)}
symbol p {lo=0, origin=data("l", 1)}
symbol r {lo=0, origin=data("l", 2)}
func @main(%0 "s": u8[n], %1 "row": f32[1, 64]) {
  %2 = core.const() {value=bool[] dense<true>} : bool[]
  %3 = core.const() {value=f32[0, 64] dense<>} : f32[0, 64]
  %4 = core.loop(_, %3) {trip=dim(n), index=dim(i), count=dim(n)} : f32[r, 64] loc(named("collect", "core.loop"))
    region(%5: f32[p, 64]) {
      %6 = math.add(%1, %1) : f32[1, 64]
      %7 = array.concat(%5, %6) {axis=0} : f32[p + 1, 64] loc(named("append", "array.concat"))
      yield %2, %7
    }
  return %4 "y"
}
"""


def build(tmp_path, text, **options):
    path = tmp_path / "model.ir"
    path.write_text(text)
    return pliant.compile(path, check_passes=True, **options)


@pytest.mark.parametrize("opt_level", [0, 3])
def test_recursion(tmp_path, opt_level):
    exe = build(tmp_path, SUM, opt_level=opt_level)
    for n in (0, 1, 7, 1000):
        assert exe(np.int64(n))[0] == n * (n + 1) // 2
    ackermann = build(tmp_path, ACKERMANN, opt_level=opt_level)
    assert ackermann(np.int64(2), np.int64(9))[0] == 21
    assert ackermann(np.int64(3), np.int64(3))[0] == 61


def test_a_million_calls_deep(tmp_path):
    exe = build(tmp_path, SUM)
    assert exe(np.int64(1_000_000))[0] == 1_000_000 * 1_000_001 // 2
    with pytest.raises(pliant.MemoryLimitError, match="deeper.*memory limit.*calls deep|memory limit.*deeper.*calls deep"):
        exe.run([np.int64(1_000_000)], memory_limit=10_000_000)
    assert exe(np.int64(3))[0] == 6


def test_results_that_grow_with_the_recursion(tmp_path):
    exe = build(tmp_path, LEAVES)
    rng = np.random.default_rng(0)
    for leaves in (1, 2, 31, 400):
        left, right = [], []

        def grow(n):
            k = len(left)
            left.append(-1)
            right.append(-1)
            if n > 1:
                a = int(rng.integers(1, n))
                left[k] = grow(a)
                right[k] = grow(n - a)
            return k

        grow(leaves)
        got = exe(np.int64(0), np.array(left), np.array(right))[0]
        np.testing.assert_array_equal(got, np.flatnonzero(np.array(left) < 0))


@pytest.mark.parametrize("native", [True, False])
def test_a_run_is_cancelled_from_another_thread(tmp_path, native):
    exe = build(tmp_path, COUNT, native_loops=native)
    assert exe(np.float32(1000))[0] == 1000

    def cancel():
        time.sleep(0.2)
        exe.cancel()

    thread = threading.Thread(target=cancel)
    thread.start()
    with pytest.raises(pliant.CancelledError, match="cancelled"):
        exe(np.float32(np.inf))
    thread.join()
    assert exe(np.float32(1000))[0] == 1000


@pytest.fixture
def interrupts():
    """Python's own handling of Ctrl-C: a process that was started in the background ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("native", [True, False])
def test_control_c_interrupts_a_run(tmp_path, native, interrupts):
    exe = build(tmp_path, COUNT, native_loops=native)

    def interrupt():
        time.sleep(0.2)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        exe(np.float32(np.inf))
    thread.join()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert exe(np.float32(10))[0] == 10


@pytest.mark.parametrize("native", [True, False])
def test_growth_within_a_memory_limit(tmp_path, native):
    exe = build(tmp_path, GROW, native_loops=native)
    row = np.arange(64, dtype=np.float32)[None]
    for n in (0, 1, 2, 1000, 3):
        got = exe(np.zeros(n, np.uint8), row)[0]
        np.testing.assert_array_equal(got, np.repeat(row * 2, n, 0))
    with pytest.raises(pliant.MemoryLimitError, match="memory limit of 1000000"):
        exe.run([np.zeros(10_000, np.uint8), row], memory_limit=1_000_000)
    assert exe.run([np.zeros(100, np.uint8), row], memory_limit=1_000_000)["y"].shape == (100, 64)
    exe.save(tmp_path / "grow.pliant")
    limited = pliant.load(tmp_path / "grow.pliant", memory_limit=1_000_000)
    with pytest.raises(pliant.MemoryLimitError):
        limited(np.zeros(10_000, np.uint8), row)
    assert limited(np.zeros(100, np.uint8), row)[0].shape == (100, 64)


def test_a_limit_names_the_append(tmp_path):
    exe = build(tmp_path, GROW.replace("trip=dim(n)", "trip=dim(n * n)").replace("count=dim(n)", "count=dim(n * n)"), native_loops=False)
    with pytest.raises(pliant.MemoryLimitError, match=r'node "append".*in iteration \d+ of node "collect"'):
        exe.run([np.zeros(1000, np.uint8), np.zeros((1, 64), np.float32)], memory_limit=10_000_000)


FAULTS = """
symbol n {lo=0, origin=input_axis("x", 0)}
symbol i {lo=0, upper=dim(n - 1), origin=loop_index("l", 0)}
func @main(%0 "x": i64[n], %1 "table": f32[8]) {
  %2 = core.const() {value=bool[] dense<true>} : bool[]
  %3 = core.const() {value=f32[] dense<0>} : f32[]
  %4 = core.loop(_, %3) {trip=dim(n), index=dim(i), count=dim(n)} : f32[] loc(named("walk", "core.loop"))
    region(%5: f32[]) {
      %6 = array.slice(%0) {starts=dims(i), ends=dims(i + 1), axes=[0], steps=[1]} : i64[1]
      %7 = array.reshape(%6) {shape=[]} : i64[]
      %8 = array.gather(%1, %7) {axis=0} : f32[] loc(named("look up", "array.gather"))
      %9 = math.add(%5, %8) : f32[]
      yield %2, %9
    }
  return %4 "y"
}
"""


@pytest.mark.parametrize("native", [True, False])
def test_a_fault_names_the_node_and_the_iteration(tmp_path, native):
    exe = build(tmp_path, FAULTS, native_loops=native)
    x = np.arange(8) % 8
    assert exe(x, np.ones(8, np.float32))[0] == 8
    for bad in (5, 0):
        x[bad] = 11
        with pytest.raises(pliant.RunError, match=rf'node "look up".*11.*iteration {bad} of node "walk"'):
            exe(x, np.ones(8, np.float32))


REQUIRE = """
symbol n {lo=0, origin=input_axis("x", 0)}
func @main(%0 "x": f32[n], %1 "c": i64[]) {
  %2 = core.const() {value=i64[] dense<0>} : i64[]
  %3 = math.lt(%2, %1) : bool[]
  %4 = core.if(%3) : f32[n]
    region() {
      core.require() {kind="less_equal", a=dim(n), b=dim(4), message="{a} is over {b}"} loc(named("check", "core.require"))
      %5 = math.neg(%0) : f32[n]
      yield %5
    }
    region() {
      %6 = math.lt(%1, %2) : bool[]
      %7 = core.if(%6) : f32[n]
        region() {
          core.fail() {message="no negative c"} loc(named("stop", "core.fail"))
          yield
        }
        region() {
          yield %0
        }
      yield %7
    }
  return %4 "y"
}
"""


def test_requirements_and_failures_count_where_they_are_reached(tmp_path):
    exe = build(tmp_path, REQUIRE)
    x = np.arange(5, dtype=np.float32)
    np.testing.assert_array_equal(exe(x[:4], np.int64(1))[0], -x[:4])
    np.testing.assert_array_equal(exe(x, np.int64(0))[0], x)
    with pytest.raises(pliant.RunError, match='node "check".*5 is over 4'):
        exe(x, np.int64(1))
    with pytest.raises(pliant.RunError, match='node "stop".*no negative c'):
        exe(x, np.int64(-1))


def test_a_hundred_million_iterations(tmp_path):
    text = """
symbol i {lo=0, origin=loop_index("l", 0)}
func @main(%0 "x": f32[4]) {
  %1 = core.const() {value=bool[] dense<true>} : bool[]
  %2 = core.loop(_, %0) {trip=dim(100000000), index=dim(i), count=dim(100000000)} : f32[4]
    region(%3: f32[4]) {
      yield %1, %3
    }
  return %2 "y"
}
"""
    exe = build(tmp_path, text, native_loops=False)
    np.testing.assert_array_equal(exe(np.ones(4, np.float32))[0], np.ones(4))


TREE = """
symbol m {lo=1}
symbol v {lo=1}
symbol nodes {lo=1, origin=input_axis("left", 0)}
symbol words {lo=1, origin=input_axis("x", 0)}
func @main(%0 "root": i64[], %1 "left": i64[nodes], %2 "right": i64[nodes], %3 "x": f32[words, 20], %4 "u": f32[40, 20]) {
  %5, %6 = core.call(%0, %1, %2, %3, %4) {callee="node"} : f32[1, 20], i64[]
  return %5 "h", %6 "size"
}
func @node(%0 "k": i64[], %1 "left": i64[m], %2 "right": i64[m], %3 "x": f32[v, 20], %4 "u": f32[40, 20]) {
  %9 = array.gather(%1, %0) {axis=0} : i64[]
  %10 = core.const() {value=i64[] dense<0>} : i64[]
  %11 = math.lt(%9, %10) : bool[]
  %12, %13 = core.if(%11) : f32[1, 20], i64[]
    region() {
      %14 = array.gather(%3, %0) {axis=0} : f32[20]
      %15 = array.reshape(%14) {shape=[1, 20]} : f32[1, 20]
      %16 = core.const() {value=i64[] dense<1>} : i64[]
      yield %15, %16
    }
    region() {
      %28 = array.gather(%2, %0) {axis=0} : i64[]
      %29, %30 = core.call(%9, %1, %2, %3, %4) {callee="node"} : f32[1, 20], i64[]
      %31, %32 = core.call(%28, %1, %2, %3, %4) {callee="node"} : f32[1, 20], i64[]
      %33 = array.concat(%29, %31) {axis=1} : f32[1, 40]
      %34 = nn.matmul(%33, %4) : f32[1, 20]
      %35 = math.tanh(%34) : f32[1, 20]
      %36 = math.add(%30, %32) : i64[]
      yield %35, %36
    }
  return %12 "h", %13 "size"
}
"""


def test_a_recursive_network_over_a_tree(tmp_path):
    exe = build(tmp_path, TREE)
    rng = np.random.default_rng(1)
    left, right = np.array([1, -1, 3, -1, 5, -1, -1]), np.array([2, -1, 4, -1, 6, -1, -1])
    x, u = rng.standard_normal((7, 20)).astype(np.float32), (rng.standard_normal((40, 20)) * 0.2).astype(np.float32)

    def node(k):
        return x[k] if left[k] < 0 else np.tanh(np.concatenate([node(left[k]), node(right[k])]) @ u)

    for root in (0, 2, 3):
        h, size = exe(np.int64(root), left, right, x, u)
        np.testing.assert_allclose(h[0], node(root), rtol=1e-5, atol=1e-6)
    assert exe(np.int64(0), left, right, x, u)[1] == 4


COLLECT = """
symbol q {lo=0, origin=input_axis("x", 0)}
symbol k {lo=0, origin=input_axis("x", 0)}
symbol m {lo=0, origin=data("join", 0)}
func @main(%0 "n": i64[], %1 "x": f32[k]) {
  %2 = seq.empty() {dtype=f32} : seq<f32[-]>
  %3, %4, %5 = core.call(%0, %1, %2) {callee="collect"} : seq<f32[?]>, i64[], seq<f32[?]>
  %6 = seq.concat(%3) {axis=0} : f32[m] loc(named("join", "seq.concat"))
  return %3 "down", %4 "calls", %5 "up", %6 "joined"
}
func @collect(%0 "n": i64[], %1 "x": f32[q], %2 "s": seq<f32[?]>) {
  %3 = core.const() {value=i64[] dense<1>} : i64[]
  %4 = math.lt(%0, %3) : bool[]
  %5, %6, %7 = core.if(%4) : seq<f32[?]>, i64[], seq<f32[?]>
    region() {
      %8 = seq.empty() {dtype=f32} : seq<f32[-]>
      yield %2, %0, %8
    }
    region() {
      %9 = math.sub(%0, %3) : i64[]
      %10 = seq.insert(%2, %1) : seq<f32[?]>
      %11 = math.neg(%1) : f32[q]
      %12, %13, %14 = core.call(%9, %11, %10) {callee="collect"} : seq<f32[?]>, i64[], seq<f32[?]>
      %15 = math.add(%13, %3) : i64[]
      %16 = seq.insert(%14, %1) : seq<f32[?]>
      yield %12, %15, %16
    }
  return %5 "down", %6 "calls", %7 "up"
}
"""


@pytest.mark.parametrize("opt_level", [0, 3])
def test_lists_go_through_recursion(tmp_path, opt_level):
    exe = build(tmp_path, COLLECT, opt_level=opt_level)
    x = np.array([1, 2], np.float32)
    for n in (1, 2, 5, 2000):
        got = exe.run({"n": np.int64(n), "x": x})
        down = [x * (-1) ** k for k in range(n)]
        assert got["calls"] == n and len(got["down"]) == len(got["up"]) == n
        for a, b, want in zip(got["down"], reversed(got["up"]), down):
            np.testing.assert_array_equal(a, want)
            np.testing.assert_array_equal(b, want)
        np.testing.assert_array_equal(got["joined"], np.concatenate(down))
    with pytest.raises(pliant.RunError, match="join"):  # nothing to join
        exe.run({"n": np.int64(0), "x": x})
    with pytest.raises(pliant.MemoryLimitError):
        exe.run({"n": np.int64(100_000), "x": x}, memory_limit=1_000_000)
    assert exe.run({"n": np.int64(3), "x": x})["calls"] == 3


SWAP = """
func @main(%0 "n": i64[], %1 "a": seq<f32[?]>, %2 "b": opt<seq<f32[?]>>) {
  %3, %4 = core.call(%0, %1, %1, %2) {callee="swap"} : opt<seq<f32[?]>>, seq<f32[?]>
  return %3 "p", %4 "q"
}
func @swap(%0 "n": i64[], %1 "kept": seq<f32[?]>, %2 "a": seq<f32[?]>, %3 "b": opt<seq<f32[?]>>) {
  %4 = core.const() {value=i64[] dense<1>} : i64[]
  %5 = math.lt(%0, %4) : bool[]
  %6, %7 = core.if(%5) : opt<seq<f32[?]>>, seq<f32[?]>
    region() {
      yield %3, %2
    }
    region() {
      %8 = math.sub(%0, %4) : i64[]
      %9 = opt.some(%2) : opt<seq<f32[?]>>
      %10 = opt.get(%3) : seq<f32[?]> loc(named("get", "opt.get"))
      %11, %12 = core.call(%8, %1, %10, %9) {callee="swap"} : opt<seq<f32[?]>>, seq<f32[?]>
      yield %11, %12
    }
  return %6 "p", %7 "q"
}
"""


def test_lists_trade_places_in_calls(tmp_path):
    exe = build(tmp_path, SWAP)
    a, b = [np.ones(2, np.float32)], [np.zeros(3, np.float32), np.ones(1, np.float32)]
    for n in (0, 1, 6, 7):
        got = exe.run({"n": np.int64(n), "a": a, "b": b})
        p, q = (a, b) if n % 2 else (b, a)
        for have, want in ((got["p"], p), (got["q"], q)):
            assert len(have) == len(want)
            for x, y in zip(have, want):
                np.testing.assert_array_equal(x, y)
    with pytest.raises(pliant.RunError, match='node "get"'):
        exe.run({"n": np.int64(2), "a": a, "b": None})


def test_functions_of_many_instructions(tmp_path):
    """Each requirement is an instruction; the branches jump over more of them than 16 bits count."""
    count = 40_000

    def requirements(least):
        line = '      core.require() {{a=dim(n), b=dim({}), kind="less_equal", message="at most {{b}}"}}\n'
        return "".join(line.format(least + k) for k in range(count))

    text = f"""
symbol n {{origin=input_axis("x", 0)}}
func @main(%0 "x": f32[n], %1 "c": bool[]) {{
  %2 = core.if(%1) : f32[n]
    region() {{
{requirements(10)}      %3 = math.neg(%0) : f32[n]
      yield %3
    }}
    region() {{
{requirements(20)}      %4 = math.exp(%0) : f32[n]
      yield %4
    }}
  return %2 "y"
}}
"""
    path = tmp_path / "model.ir"
    path.write_text(text)
    exe = pliant.compile(path)
    x = np.zeros(15, np.float32)
    np.testing.assert_array_equal(exe(x, np.array(False))[0], np.ones(15))
    np.testing.assert_array_equal(exe(x[:3], np.array(True))[0], -x[:3])
    with pytest.raises(pliant.RunError, match="at most 10"):
        exe(x, np.array(True))
