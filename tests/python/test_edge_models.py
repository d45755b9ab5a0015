"""Small models at the edges of what the operators' texts allow, each run as native loops, as bytecode and unoptimised; and models that
the texts forbid, which are refused by name."""
import numpy as np
import onnx.parser
import pytest
from onnx import TensorProto, helper, numpy_helper

import pliant

LOWEST, HIGHEST = -(2**63), 2**63 - 1
X = np.arange(20, dtype=np.float32).reshape(5, 4)
FORMS = ({}, {"native_loops": False}, {"opt_level": 0})


def model(text, opset=18, domains=""):
    return onnx.parser.parse_model(f'<ir_version: 9, opset_import: ["" : {opset}{domains}]>\n' + text)


def i64(*values):
    return np.array(values, np.int64)


def check(proto, feeds, wants):
    for options in FORMS:
        exe = pliant.compile(proto, progress=False, **options)
        for feed, want in zip(feeds, wants):
            got = exe.run(feed)
            for name, value in want.items():
                assert got[name].dtype == np.asarray(value).dtype
                np.testing.assert_array_equal(got[name], value, err_msg=f"{name} with {options}")


def refused(proto, *words, feed=None):
    with pytest.raises(pliant.Error) as e:
        pliant.compile(proto, progress=False).run(feed)
    missing = [w for w in words if w not in str(e.value)]
    assert not missing, f"{missing} not in: {e.value}"


def test_condition_that_is_a_carried_value():
    """The body goes on by the old value of a flag that it replaces."""
    proto = model("""g (int64 n, bool c, float[N] x) => (float[M] y, bool last) {
        y, last = Loop(n, c, x, c) <body = b (int64 i, bool ci, float[N] a, bool go) => (bool co, float[N] ao, bool goo) {
            ao = Add(a, a) s = ReduceMax<keepdims=0>(ao) k = Constant<value_float=100.0>() goo = Less(s, k) co = Identity(go) }> }""")
    x = np.float32([1, 3])
    feeds = [{"n": np.int64(n), "c": np.bool_(c), "x": x} for n, c in ((50, 1), (50, 0), (2, 1))]
    check(proto, feeds, [{"y": x * 128, "last": np.bool_(False)}, {"y": x, "last": np.bool_(False)}, {"y": x * 4, "last": np.bool_(True)}])


@pytest.mark.parametrize("steps", [(HIGHEST, 1), (LOWEST, 1), (HIGHEST, LOWEST), (-1, LOWEST), (2**62, -(2**62))])
@pytest.mark.parametrize("constant", [True, False])
def test_far_steps_of_a_slice(steps, constant):
    bounds = {"s": i64(*(0 if v > 0 else HIGHEST for v in steps)), "e": i64(*(HIGHEST if v > 0 else LOWEST for v in steps)),
              "p": i64(*steps)}
    proto = model("""g (float[N,M] x, int64[2] s, int64[2] e, int64[2] p) => (float[A,B] y) {
        a = Constant<value_ints=[0,1]>() y = Slice(x, s, e, a, p) }""")
    if constant:
        proto.graph.initializer.extend(numpy_helper.from_array(v, k) for k, v in bounds.items())
        del proto.graph.input[1:]
    feed = {"x": X, **({} if constant else bounds)}
    check(proto, [feed], [{"y": X[:: steps[0], :: steps[1]]}])


@pytest.mark.parametrize("shape, words", [((-2, 3), ("-2", "negative")), ((-1, -1), ("2 sizes to infer",)), ((7, 3), ("21", "20"))])
def test_shapes_that_a_run_time_reshape_cannot_have(shape, words):
    refused(model("g (float[N,4] x, int64[2] s) => (float[A,B] y) { y = Reshape(x, s) }"), '"y" (onnx.Reshape)', *words,
            feed={"x": X, "s": i64(*shape)})


@pytest.mark.parametrize("limit, step", [(1, 0), (np.inf, 1)])
def test_float_range_without_an_end(limit, step):
    feed = {"a": np.float32(0), "b": np.float32(limit), "c": np.float32(step)}
    refused(model("g (float a, float b, float c) => (float[K] y) { y = Range(a, b, c) }"), '"y" (onnx.Range)', "step", feed=feed)


def test_length_of_index_tuples_follows_from_the_ranks():
    proto = model("""g (float[N,M] x, int64[P,K] i, float[P] u, int64[Q,T] j) => (float[A,B] y, float[C] z) {
        y = ScatterND(x, i, u) z = GatherND(x, j) }""")
    want = X.copy()
    want[[0, -1], [1, -2]] = -1
    feed = {"x": X, "i": i64([0, 1], [-1, -2]), "u": np.float32([-1, -1]), "j": i64([4, 3], [-5, 0], [2, -1])}
    check(proto, [feed], [{"y": want, "z": np.float32([19, 0, 11])}])
    refused(proto, "\"i\"", "1", "2", feed={**feed, "i": i64([0], [1])})


def call(inputs, outputs, name="F", domain="own", **attributes):
    body = [helper.make_node("Neg", ["a"], ["b"]), helper.make_node("Exp", ["a"], ["c"])]
    imports = [helper.make_opsetid("", 18), helper.make_opsetid("own", 1)]
    function = helper.make_function(domain, name, ["a"], ["b", "c"], body, imports)
    node = helper.make_node(name, inputs, outputs, name="call", domain=domain, **attributes)
    info = [helper.make_tensor_value_info(n, TensorProto.FLOAT, ["N"]) for n in ("x", "y")]
    graph = helper.make_graph([node], "g", info[:1], info[1:])
    return helper.make_model(graph, opset_imports=imports, functions=[function], ir_version=9)


def test_calls_with_more_than_the_function_has():
    check(call(["x", ""], ["y"]), [{"x": X[0]}], [{"y": -X[0]}])
    refused(call(["x", "x"], ["y"]), '"call"', "F takes 1 inputs", "2")
    refused(call(["x"], ["y", "z", "w"]), '"call"', "2 outputs", "3")


def test_a_function_goes_before_an_operator_of_its_name():
    check(call(["x"], ["y"], name="Abs", domain=""), [{"x": X[0]}], [{"y": -X[0]}])


W = numpy_helper.from_array(np.float32([1, 2, 3, 4]), "w")
BRANCH = """y = If(c) <then_branch = t () => (float[N,4] p) {{ p = Neg({0}) }}, else_branch = e () => (float[N,4] q) {{ q = Abs(x) }}>"""
MALFORMED = {
    "two initialisers": ("y = Add(x, w)", [W, W], ("'w'", "two")),
    "a node's output is an initialiser": ("w = Relu(x) y = Neg(w)", [W], ("Relu", "'w'", "initialiser")),
    "Cast to nothing": ("y = Cast(x)", [], ("Cast", "'to'")),
    "Concat along nothing": ("y = Concat(x, x)", [], ("Concat", "'axis'")),
    "two operands of Relu": ("y = Relu(x, x)", [], ("Relu", "2 inputs", "at most 1")),
    "three operands of Gather": ("i = Constant<value_ints=[0]>() y = Gather(x, i, x)", [], ("Gather", "3 inputs", "at most 2")),
    "a folded node's attribute": ("s = Shape<start=\"one\">(x) y = Expand(x, s)", [], ("Shape", "'start'")),
    "another element type": ("z = Identity(x) y = Cast<to=7>(z)", [], ('"y"', "f32", "i64")),
    "a branch that no run takes": (BRANCH.format("ghost"), [], ("Neg", "ghost")),
}


@pytest.mark.parametrize("what", MALFORMED)
def test_malformed(what):
    nodes, initialisers, words = MALFORMED[what]
    proto = model(f"g (float[N,4] x, bool c) => (float[N,4] y) {{ {nodes} }}")
    proto.graph.initializer.extend(initialisers)
    refused(proto, *words, feed={"x": X, "c": np.bool_(False)})


@pytest.mark.parametrize("op", ["Concat<axis=0>", "Sum", "Mean", "Max", "Min", 'Einsum<equation="i,j,k->i">', "SequenceConstruct"])
@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize("left_out", [1, 2, 16])
def test_none_of_any_number_of_inputs_may_be_left_out(op, known, left_out):
    value = "s" if known else "x"
    proto = model(f"g (float[N] x) => (float[M] y) {{ s = Shape(x) y = {op}(x, x) }}")
    del proto.graph.node[1].input[:]
    proto.graph.node[1].input.extend(value if k != left_out else "" for k in range(max(3, left_out + 1)))
    refused(proto, f"input {left_out} is missing")


@pytest.mark.parametrize("policy, scale", [("not_larger", 1.4), ("not_smaller", 2.25)])
def test_resize_that_keeps_the_aspect_has_one_scale(policy, scale):
    """The scale of the positions is the common one, not the ratio of the rounded sizes."""
    proto = model(f"""g (float[N,M] x, int64[2] s) => (float[A,B] y) {{
        y = Resize<mode="nearest", keep_aspect_ratio_policy="{policy}">(x, "", "", s) }}""")
    x = np.arange(20, dtype=np.float32).reshape(4, 5)
    rows, columns = (np.ceil((np.arange(int(n * scale + 0.5)) + 0.5) / scale - 1).astype(int).clip(0, n - 1) for n in x.shape)
    check(proto, [{"x": x, "s": i64(9, 7)}], [{"y": x[np.ix_(rows, columns)]}])
    refused(proto, "Resize", "-3", "negative", feed={"x": x, "s": i64(-3, 7)})


def test_an_argument_left_out_is_absent_inside_a_branch():
    branches = [helper.make_graph(nodes, "branch", [], [helper.make_tensor_value_info(n, TensorProto.FLOAT, None)]) for n, nodes in (
        ("t", [helper.make_node("Clip", ["a", "", "m"], ["t"])]), ("e", [helper.make_node("Neg", ["a"], ["e"])]))]
    body = [helper.make_node("If", ["c"], ["b"], then_branch=branches[0], else_branch=branches[1])]
    imports = [helper.make_opsetid("", 18), helper.make_opsetid("own", 1)]
    function = helper.make_function("own", "F", ["c", "a", "m"], ["b"], body, imports)
    nodes = [helper.make_node("F", ["c", "x"], ["y"], domain="own"), helper.make_node("F", ["c", "x", "m"], ["z"], domain="own")]
    infos = [helper.make_tensor_value_info("c", TensorProto.BOOL, [])]
    infos += [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in (("x", ["N"]), ("m", []), ("y", ["N"]), ("z", ["N"]))]
    graph = helper.make_graph(nodes, "g", infos[:3], infos[3:])
    proto = helper.make_model(graph, opset_imports=imports, functions=[function], ir_version=9)
    x = np.float32([-1, 2])
    feeds = [{"c": np.bool_(c), "x": x, "m": np.float32(0.5)} for c in (True, False)]
    check(proto, feeds, [{"y": x, "z": np.float32([-1, 0.5])}, {"y": -x, "z": -x}])


@pytest.mark.parametrize("rank", [3, 6, 12])
def test_reshape_to_sizes_of_unknown_signs(rank):
    """0 copies a size and -1 infers one, wherever the run puts them: written out, their product has a term for each choice."""
    axes, ones = ",".join(f"d{k}" for k in range(rank)), [1] * (rank - 3)
    proto = model(f"g (float[N,M] x, int64[{rank}] s) => (float[{axes}] y) {{ y = Reshape(x, s) }}")
    given = [(0, 2, 2), (-1, 2, 1), (0, -1, 4), (5, 4, 1), (-1, 0, 1), (2, 5, -1)]
    meant = [(5, 2, 2), (10, 2, 1), (5, 1, 4), (5, 4, 1), (5, 4, 1), (2, 5, 2)]
    check(proto, [{"x": X, "s": i64(*s, *ones)} for s in given], [{"y": X.reshape(*s, *ones)} for s in meant])
    refused(proto, "y", feed={"x": X, "s": i64(-1, -1, 1, *ones)})
    refused(proto, "y", feed={"x": X, "s": i64(3, -1, 1, *ones)})


def test_more_axes_than_there_may_be():
    x, s, y = (helper.make_tensor_value_info(n, t, d) for n, t, d in (("x", 1, ["N"]), ("s", 7, [40]), ("y", 1, None)))
    graph = helper.make_graph([helper.make_node("Reshape", ["x", "s"], ["y"], name="wide")], "g", [x, s], [y])
    refused(helper.make_model(graph, ir_version=9, opset_imports=[helper.make_opsetid("", 18)]), '"wide"', "40 axes", "32")


def test_result_whose_sizes_come_after_its_elements():
    """The elements are computed before the run knows the sizes that the result has in the end."""
    proto = model("""g (float[N,M] x, float[2] f) => (float[A,B] y, float[C,D] z) {
        a = Relu(x) r = Floor(f) s = Cast<to=7>(r) y = Reshape(a, s) b = Exp(a) c = Sub(b, b) z = Reshape(c, s) }""")
    shapes = [(2, 10), (20, 1), (5, 4), (1, 20)]
    check(proto, [{"x": X, "f": np.float32(s)} for s in shapes], [{"y": X.reshape(s), "z": np.zeros(s, np.float32)} for s in shapes])
