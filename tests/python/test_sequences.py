"""Sequences and optionals: as inputs and outputs, in branches and loops, beside onnxruntime, and what their faults say."""
import concurrent.futures
import pathlib
import time

import numpy as np
import onnx.parser
import onnxruntime
import pytest

import pliant


def model(text, opset=18):
    return onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : {opset}]>\n' + text)


def build(text, opset=18, **options):
    return pliant.compile(model(text, opset), progress=False, check_passes=True, **options)


def check(text, *feeds, opset=18):
    """The model gives what onnxruntime gives, at every optimisation level that changes code."""
    proto = model(text, opset)
    session = onnxruntime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
    for options in ({}, {"opt_level": 0}, {"native_loops": False}):
        exe = pliant.compile(proto, progress=False, check_passes=True, **options)
        for feed in feeds:
            same(session.run(None, feed), list(exe.run(feed).values()))
            same(session.run(None, feed), list(exe.run(feed).values()))


def same(want, got):
    assert type(want) is type(got) or isinstance(want, np.ndarray) == isinstance(got, np.ndarray), (want, got)
    if want is None:
        return
    if isinstance(want, list):
        assert len(want) == len(got)
        for w, g in zip(want, got):
            same(w, g)
    else:
        np.testing.assert_allclose(got, want, rtol=1e-6)
        assert got.dtype == want.dtype and got.shape == np.shape(want)


def f32(*shape, seed=0):
    return np.random.default_rng(seed + sum(shape)).standard_normal(shape).astype(np.float32)


def i64(v):
    return np.array(v, np.int64)


SEQ = [f32(2, 3), f32(1, 3), f32(4, 3)]


def test_known_elements_need_no_list():
    exe = build("""m (float[n] a, float[m] b) => (float[k] y, int64 n) {
        s = SequenceConstruct(a, b, a)
        two = Constant<value_int = 2>()
        t = SequenceErase(s, two)
        r = SequenceInsert(t, b)
        y = ConcatFromSequence<axis = 0>(r)
        n = SequenceLength(r) }""")
    a, b = f32(3), f32(2)
    got = exe.run({"a": a, "b": b})
    np.testing.assert_array_equal(got["y"], np.concatenate([a, b, b]))
    assert got["n"] == 3
    assert [o.type for o in exe.outputs] == ["float32[m*2 + n]", "int64[]"]


def test_elements_by_position():
    check("""m (seq(float[a, 3]) s, int64 p) => (float[b, 3] at, seq(float[c, 3]) without, int64 n, int64 m) {
        at = SequenceAt(s, p)
        without = SequenceErase(s, p)
        n = SequenceLength(s)
        m = SequenceLength(without) }""",
          {"s": SEQ, "p": i64(1)}, {"s": SEQ, "p": i64(-1)}, {"s": SEQ[:1], "p": i64(0)}, {"s": SEQ, "p": i64(-3)})


def test_insertion():
    check("""m (seq(float[a, 3]) s, float[b, 3] x, int64 p) => (seq(float[c, 3]) back, seq(float[d, 3]) there) {
        back = SequenceInsert(s, x)
        there = SequenceInsert(s, x, p) }""",
          *({"s": SEQ, "x": f32(5, 3), "p": i64(p)} for p in (0, 1, 3, -1, -3)), {"s": [], "x": f32(0, 3), "p": i64(0)})


@pytest.mark.parametrize("axis, new_axis", [(0, 0), (1, 0), (-1, 0), (0, 1), (2, 1)])
def test_concatenation(axis, new_axis):
    parts = [f32(2, 3, seed=k) for k in range(4)]
    if not new_axis:
        parts[1] = f32(2, 5) if axis else f32(0, 3)
    check(f"""m (seq(float[a, b]) s) => (float[] y) {{
        y = ConcatFromSequence<axis = {axis}, new_axis = {new_axis}>(s) }}""".replace("float[] y", "float y"),
          {"s": parts}, {"s": parts[:1]})


def test_splitting():
    check("""m (float[n, 3] x, int64 chunk, int64[k] sizes) => (seq(float[p, q]) a, seq(float[p]) b, seq(float[p, q]) c) {
        a = SplitToSequence<axis = 0>(x, chunk)
        b = SplitToSequence<axis = 1, keepdims = 0>(x)
        c = SplitToSequence<axis = 0>(x, sizes) }""",
          {"x": f32(5, 3), "chunk": i64(2), "sizes": i64([1, 0, 4])}, {"x": f32(4, 3), "chunk": i64(9), "sizes": i64([4])})


GROW = """m (int64 n, float[k, 3] x) => (float[m, 3] y, seq(float[a, 3]) s, int64 count) {
    empty = SequenceEmpty()
    s = Loop(n, , empty) <body = b (int64 i, bool c, seq(float[d, 3]) acc) => (bool c2, seq(float[e, 3]) next) {
        c2 = Identity(c)
        f = Cast<to = 1>(i)
        z = Add(x, f)
        next = SequenceInsert(acc, z) }>
    y = ConcatFromSequence<axis = 0>(s)
    count = SequenceLength(s) }"""


def test_growth_in_a_loop():
    check(GROW, {"n": i64(1), "x": f32(2, 3)}, {"n": i64(70), "x": f32(1, 3)}, {"n": i64(3), "x": f32(0, 3)})


def test_carried_sequences_swap_and_shrink():
    check("""m (int64 n, seq(float[a]) p, seq(float[b]) q) => (seq(float[c]) r, seq(float[d]) s) {
        r, s = Loop(n, , p, q) <body = b (int64 i, bool c, seq(float[e]) u, seq(float[f]) v)
                                     => (bool c2, seq(float[g]) v2, seq(float[h]) u2) {
            c2 = Identity(c)
            last = Constant<value_int = -1>()
            x = SequenceAt(u, last)
            rest = SequenceErase(u)
            v2 = Identity(v)
            more = SequenceInsert(rest, x)
            u2 = SequenceInsert(more, x) }> }""",
          *({"n": i64(n), "p": [f32(2), f32(3)], "q": [f32(1)]} for n in (0, 1, 2, 5)))


def test_reading_a_captured_sequence_in_a_loop():
    check("""m (seq(float[a]) s, float[k] scale) => (float[k] total) {
        n = SequenceLength(s)
        total = Loop(n, , scale) <body = b (int64 i, bool c, float[d] acc) => (bool c2, float[e] next) {
            c2 = Identity(c)
            x = SequenceAt(s, i)
            next = Add(acc, x) }> }""",
          {"s": [f32(4, seed=k) for k in range(9)], "scale": f32(4)}, {"s": [], "scale": f32(3)})


BRANCHES = """m (bool yes, seq(float[a, 3]) s, float[b, 3] x) => (seq(float[c, 3]) y, int64 n) {
    y = If(yes) <then_branch = t () => (seq(float[d, 3]) u) { u = SequenceInsert(s, x) },
                 else_branch = e () => (seq(float[f, 3]) v) { v = SequenceConstruct(x) }>
    n = SequenceLength(y) }"""


def test_branches_give_sequences():
    check(BRANCHES, *({"yes": np.array(yes), "s": SEQ, "x": f32(2, 3)} for yes in (True, False)))


def test_a_branch_in_a_loop_appends_some():
    check("""m (int64 n, float[k] x) => (seq(float[a]) s, float[b] y) {
        first = SequenceConstruct(x)
        s = Loop(n, , first) <body = b (int64 i, bool c, seq(float[d]) acc) => (bool c2, seq(float[e]) next) {
            c2 = Identity(c)
            two = Constant<value_int = 2>()
            odd = Mod(i, two)
            is_odd = Cast<to = 9>(odd)
            next = If(is_odd) <then_branch = t () => (seq(float[f]) u) { w = Concat<axis = 0>(x, x)
                                                                       u = SequenceInsert(acc, w) },
                               else_branch = e () => (seq(float[g]) v) { v = Identity(acc) }> }>
        y = ConcatFromSequence<axis = 0>(s) }""",
          *({"n": i64(n), "x": f32(2)} for n in (0, 1, 4, 7)))


def test_optionals():
    exe = build("""m (optional(float[n]) x, optional(seq(float[k])) s)
            => (bool has, bool hass, float[m] y, optional(float[n]) z) {
        has = OptionalHasElement(x)
        hass = OptionalHasElement(s)
        zero = Constant<value_floats = [0.0]>()
        y = If(has) <then_branch = t () => (float[a] u) { u = OptionalGetElement(x) },
                     else_branch = e () => (float[b] v) { v = Identity(zero) }>
        z = Identity(x) }""")
    assert [i.type for i in exe.inputs] == ["opt<float32[?]>", "opt<seq<float32[?]>>"]
    x = f32(5)
    got = exe.run({"x": x, "s": [x, x]})
    assert got["has"] and got["hass"]
    np.testing.assert_array_equal(got["y"], x)
    np.testing.assert_array_equal(got["z"], x)
    got = exe.run({"x": None, "s": None})
    assert not got["has"] and not got["hass"] and got["z"] is None
    np.testing.assert_array_equal(got["y"], [0])
    assert exe.run({})["z"] is None


def test_a_branch_gives_nothing():
    exe = build("""m (bool yes, float[n] x) => (optional(float[k]) y, bool has) {
        y = If(yes) <then_branch = t () => (optional(float[a]) u) { u = Optional(x) },
                     else_branch = e () => (optional(float[b]) v) { v = Optional<type = float[c]>() }>
        has = OptionalHasElement(y) }""")
    x = f32(3)
    got = exe.run({"yes": np.array(True), "x": x})
    np.testing.assert_array_equal(got["y"], x)
    assert got["has"]
    got = exe.run({"yes": np.array(False), "x": x})
    assert got["y"] is None and not got["has"]


def test_sequences_go_through_unchanged():
    exe = build("m (seq(float[a, 3]) s) => (seq(float[a, 3]) y) { y = Identity(s) }")
    given = [x.copy() for x in SEQ]
    got = exe.run({"s": given})["y"]
    given[0][:] = 0
    same(SEQ, got)
    assert exe.run({"s": ()})["y"] == []


def test_artifacts_keep_sequences(tmp_path):
    path = tmp_path / "m.pliant"
    exe = build(BRANCHES)
    exe.save(path)
    loaded = pliant.load(path)
    assert loaded.inputs == exe.inputs and loaded.outputs == exe.outputs
    feed = {"yes": np.array(True), "s": SEQ, "x": f32(1, 3)}
    same(list(exe.run(feed).values()), list(loaded.run(feed).values()))


def test_appends_are_linear():
    """Each of n appends costs the tensor alone: sixteen times as many take no more than forty times as long."""
    exe = build(GROW.replace("float[m, 3] y, seq(float[a, 3]) s, int64 count", "int64 count"))
    x = f32(80, 3)

    def seconds(n):
        best = 1e9
        for _ in range(10):
            start = time.perf_counter()
            exe.run({"n": i64(n), "x": x})
            best = min(best, time.perf_counter() - start)
        return best

    few, many = seconds(250), seconds(4000)
    assert many < 40 * few, (few, many)


def test_memory_does_not_grow():
    exe = build(GROW)

    def resident():
        return int(pathlib.Path("/proc/self/statm").read_text().split()[1]) * 4096

    for k in range(50):
        exe.run({"n": i64(40 + k), "x": f32(100, 3)})
    before = resident()
    for k in range(1000):
        exe.run({"n": i64(40 + k % 50), "x": f32(100, 3)})
    grown = resident() - before
    assert grown < 8 << 20, f"{grown} bytes more after 1000 runs"


FAULTS = [
    ({"s": SEQ, "p": i64(3)}, pliant.RunError, "position 3 is outside a sequence of length 3"),
    ({"s": [], "p": i64(0)}, pliant.RunError, "position 0 is outside a sequence of length 0"),
    ({"s": [f32(2, 4)], "p": i64(0)}, pliant.InputError, 'input "s" element 0 has shape [2, 4] but [?, 3] is expected'),
    ({"s": [f32(2, 3), f32(3)], "p": i64(0)}, pliant.InputError, 'input "s" element 1 has shape [3] but [?, 3] is expected'),
    ({"s": [f32(2, 3).astype(np.float64)], "p": i64(0)}, pliant.InputError, 'input "s" element 0 is f64 but f32 is expected'),
    ({"s": None, "p": i64(0)}, pliant.InputError, 'input "s" is a sequence but no value was given'),
    ({"p": i64(0)}, pliant.InputError, 'input "s" is missing: a sequence of f32[?, 3]'),
    ({"s": f32(2, 3), "p": i64(0)}, pliant.InputError, "input 's' is a sequence: expected a list of arrays"),
]


@pytest.mark.parametrize("feed, kind, message", FAULTS, ids=range(len(FAULTS)))
def test_faults_say_what_is_wrong(feed, kind, message):
    exe = build("m (seq(float[a, 3]) s, int64 p) => (float[b, 3] y) { y = SequenceAt(s, p) }")
    with pytest.raises(kind) as e:
        exe.run(feed)
    assert message in str(e.value)
    same(SEQ[1], exe.run({"s": SEQ, "p": i64(1)})["y"])


@pytest.mark.parametrize("text, feed, message", [
    ("m (seq(float[a]) s) => (float[b] y) { y = ConcatFromSequence<axis = 0>(s) }", {"s": []},
     'node "y" (onnx.ConcatFromSequence): an empty sequence has no shape to join'),
    ("m (seq(float[a, b]) s) => (float[c, d] y) { y = ConcatFromSequence<axis = 0>(s) }", {"s": [f32(2, 3), f32(2, 4)]},
     "tensors of shapes [2, 3] and [2, 4] do not join along axis 0"),
    ("m (optional(float[a]) x) => (float[a] y) { y = OptionalGetElement(x) }", {"x": None}, "the optional holds no value"),
    ("m (float[n] x, int64[k] sizes) => (seq(float[a]) y) { y = SplitToSequence<axis = 0>(x, sizes) }",
     {"x": f32(5), "sizes": i64([2, 2])}, "the pieces of a split have together 1 less than the axis"),
    ("m (float[n] x, int64 chunk) => (seq(float[a]) y) { y = SplitToSequence<axis = 0>(x, chunk) }",
     {"x": f32(5), "chunk": i64(0)}, "a piece of a split has the size 0"),
])
def test_run_faults_name_the_node(text, feed, message):
    with pytest.raises(pliant.RunError) as e:
        build(text).run(feed)
    assert message in str(e.value)


@pytest.mark.parametrize("text, message", [
    ("m (seq(float) s, int64 p) => (float y) { z = SequenceAt(s, p)\n y = ReduceSum<keepdims = 0>(z) }",
     "how many axes an element has is not known"),
    ("m (float[n] a, int64[n] b) => (seq(float[n]) y) { y = SequenceConstruct(a, b) }", "cannot hold"),
    ("m (seq(float[n]) a, int64[n] b) => (seq(float[n]) y) { y = SequenceInsert(a, b) }", "cannot hold"),
    ("m (float[n] a) => (int64 y) { y = SequenceLength(a) }", "not a sequence"),
    ("m (seq(float[n]) a) => (float[n] y) { y = Relu(a) }", "is not a tensor"),
    ("m (seq(seq(float[n])) a) => (seq(seq(float[n])) y) { y = Identity(a) }", "not supported"),
    ("m (seq(float[n]) s, float[n] i) => (float[n] y, float[k, n] z) { y, z = Scan<num_scan_inputs = 1, body = "
     "b (float[n] u, float[n] v) => (float[n] w, float[n] x) { w = Add(u, v)\n x = Identity(w) }>(i, s) }", "input 's' is not a tensor"),
    ("m (seq(float[n]) s, float[k, n] i) => (float[n] y, float[k, n] z) { y, z = Scan<num_scan_inputs = 1, body = "
     "b (float[n] u, float[n] v) => (float[n] w, float[n] x) { w = Identity(v)\n x = Identity(w) }>(s, i) }", "input 's' is not a tensor"),
    # The first iteration stands before the loop, since what is carried has another rank afterwards.
    ("m (float[2] a) => (float y, float z) { t = Constant<value_int = 1>()\n c = Cast<to = 9>(t)\n y, z = Loop<body = "
     "b (int64 i, bool d, float[n] v) => (bool d, float[m, n] w, float[n] x) { k = Constant<value_ints = [0]>()\n"
     " w = Unsqueeze(v, k)\n x = SequenceConstruct(v) }>(t, c, a) }", "scan value 0 is not a tensor"),
    ("m (float[2] a) => (seq(float[2]) y) { s = SequenceConstruct(a)\n y = SequenceMap<body = "
     "b (float[2] e) => (float[2] r) { r = SequenceConstruct(e) }>(s) }", "gives no tensor for output 0"),
])
def test_what_cannot_be_compiled(text, message):
    proto = model(text)
    if "seq(float) s" in text:
        proto.graph.input[0].type.sequence_type.elem_type.tensor_type.ClearField("shape")
    with pytest.raises(pliant.CompileError) as e:
        pliant.compile(proto, progress=False)
    assert message in str(e.value)


def test_a_memory_limit_holds_for_sequences():
    exe = build(GROW)
    x = f32(1000, 3)
    with pytest.raises(pliant.MemoryLimitError):
        exe.run({"n": i64(1 << 40), "x": x}, memory_limit=32 << 20)
    assert exe.run({"n": i64(3), "x": x}, memory_limit=32 << 20)["count"] == 3


def test_an_empty_sequence_is_read_in_the_loop_that_fills_it():
    check("""m (int64 n, float[k] x) => (float[m] y) {
        empty = SequenceEmpty()
        s = Loop(n, , empty) <body = b (int64 i, bool c, seq(float[d]) acc) => (bool c2, seq(float[e]) next) {
            c2 = Identity(c)
            zero = Constant<value_int = 0>()
            first = Equal(i, zero)
            z = If(first) <then_branch = t () => (float[f] u) { u = Identity(x) },
                           else_branch = e () => (float[g] w) { last = Constant<value_int = -1>()
                                                               p = SequenceAt(acc, last)
                                                               w = Add(p, p) }>
            next = SequenceInsert(acc, z) }>
        y = ConcatFromSequence<axis = 0>(s) }""", {"n": i64(4), "x": f32(3)}, {"n": i64(1), "x": f32(2)})


def test_runs_in_several_threads_have_lists_of_their_own():
    exe = build(GROW)

    def work(k):
        x = np.full((2, 3), k, np.float32)
        for n in range(1, 40):
            got = exe.run({"n": i64(n), "x": x})
            want = [x + i for i in range(n)]
            same(want, got["s"])
            np.testing.assert_array_equal(got["y"], np.concatenate(want))

    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        list(pool.map(work, range(12)))


def test_a_fault_names_the_iteration():
    exe = build("""m (int64 n, seq(float[a]) s, float[k] x) => (float[m] y) {
        y = Loop(n, , x) <body = b (int64 i, bool c, float[d] acc) => (bool c2, float[e] next) {
            c2 = Identity(c)
            z = SequenceAt(s, i)
            next = Add(acc, z) }> }""")
    with pytest.raises(pliant.RunError) as e:
        exe.run({"n": i64(9), "s": [f32(2)] * 3, "x": f32(2)})
    assert "position 3 is outside a sequence of length 3" in str(e.value) and "iteration 3" in str(e.value)


def test_shapes_may_be_given_for_elements():
    proto = model("m (seq(float) s, int64 p) => (float y) { y = SequenceAt(s, p) }".replace("float y", "float[a, b] y"))
    proto.graph.input[0].type.sequence_type.elem_type.tensor_type.ClearField("shape")
    proto.graph.output[0].type.tensor_type.ClearField("shape")
    exe = pliant.compile(proto, progress=False, shapes={"s": ["?", 3]})
    assert exe.inputs[0].type == "seq<float32[?, 3]>"
    same(SEQ[2], exe.run({"s": SEQ, "p": i64(2)})["y"])


def test_the_backend_runs_single_nodes():
    onnx_backend = pytest.importorskip("pliant.backend")
    node = onnx.helper.make_node("SequenceInsert", ["s", "x"], ["y"])
    same(SEQ + [SEQ[0]], onnx_backend.run_node(node, [SEQ, SEQ[0]])[0])


READS_NOTHING = """m (bool c, int64 n, float[k, 3] x) => (float[a, 3] y) {
    empty = SequenceEmpty()
    zero = Constant<value_int = 0>()
    y = If(c) <then_branch = t () => (float[b, 3] u) { u = SequenceAt(empty, zero) },
               else_branch = e () => (float[d, 3] v) { v = Identity(x) }> }"""


def test_elements_of_what_is_always_empty_fail_where_they_are_read():
    x = np.ones((2, 3), np.float32)
    exe = build(READS_NOTHING)
    np.testing.assert_array_equal(exe.run({"c": np.array(False), "n": i64(0), "x": x})["y"], x)
    with pytest.raises(pliant.RunError, match='node "u".*always empty'):
        exe.run({"c": np.array(True), "n": i64(0), "x": x})
    for read in ("SequenceAt(empty, n)", "ConcatFromSequence<axis = 0>(empty)"):
        exe = build(f"""m (int64 n, float[k, 3] x) => (float[k, 3] y, seq(float[b]) s, int64 z) {{
            empty = SequenceEmpty()
            w = {read}
            y = Add(w, x)
            s = SequenceInsert(empty, y)
            z = SequenceLength(s) }}""")
        with pytest.raises(pliant.RunError, match='node "w".*always empty'):
            exe.run({"n": i64(0), "x": x})


def test_a_loop_that_reads_what_is_always_empty_fails_in_its_first_iteration():
    text = """m (int64 n, bool c, float[k, 3] x) => (float[a, 3] y, float[m, p, 3] rows) {
        empty = SequenceEmpty()
        y, rows = Loop(n, c, x) <body = b (int64 i, bool go, float[d, 3] acc) => (bool on, float[e, 3] next, float[q, 3] row) {
            on = Identity(go)
            next = SequenceAt(empty, i)
            row = Identity(acc) }> }"""
    exe = build(text)
    x = np.ones((2, 3), np.float32)
    for n, c in ((0, True), (3, False), (-1, False)):
        got = exe.run({"n": i64(n), "c": np.array(c), "x": x})
        np.testing.assert_array_equal(got["y"], x)
        assert len(got["rows"]) == 0
    with pytest.raises(pliant.RunError, match='node "y".*can not run: node "next".*always empty'):
        exe.run({"n": i64(1), "c": np.array(True), "x": x})


def test_what_is_empty_in_the_first_iteration_only_is_read_later():
    check("""m (int64 n, float[k, 3] x) => (float[a, 3] y, seq(float[b, 3]) s) {
        empty = SequenceEmpty()
        zero = Constant<value_int = 0>()
        y, s = Loop(n, , x, empty) <body = b (int64 i, bool c, float[d, 3] acc, seq(float[e, 3]) l)
                                       => (bool c2, float[f, 3] next, seq(float[g, 3]) l2) {
            c2 = Identity(c)
            next = Loop(i, , acc) <body = inner (int64 j, bool d, float[h, 3] t) => (bool d2, float[o, 3] t2) {
                d2 = Identity(d)
                first = SequenceAt(l, zero)
                t2 = Add(t, first) }>
            l2 = SequenceInsert(l, next) }> }""",
          *[{"n": i64(n), "x": np.ones((2, 3), np.float32)} for n in (0, 1, 2, 4)])
