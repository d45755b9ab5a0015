"""The Attention operator, one compilation for many shapes, beside direct evaluation."""

import numpy as np
import pytest
from onnx import helper

import pliant

TYPES = {"f32": (np.float32, 1e-5), "f16": (np.float16, 4e-3), "f64": (np.float64, 1e-12)}


def attention(q, k, v, scale, causal):
    group = q.shape[1] // k.shape[1]
    q, k, v = (t.astype(np.float64) for t in (q, np.repeat(k, group, 1), np.repeat(v, group, 1)))
    scores = q @ k.swapaxes(2, 3) * scale
    if causal:
        rows, columns = scores.shape[2:]
        scores[..., np.arange(columns) > np.arange(rows)[:, None] + (columns - rows)] = -np.inf
    weights = np.exp(scores - scores.max(-1, keepdims=True, initial=-1e30))
    return weights / weights.sum(-1, keepdims=True) @ v


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("heads, groups", [(6, 2), (4, 4), (5, 1)])
@pytest.mark.parametrize("causal", [0, 1])
def test_grouped_heads_and_a_past(heads, groups, causal, dtype):
    kind, tolerance = TYPES[dtype]
    tensor = helper.np_dtype_to_tensor_dtype(np.dtype(kind))
    size, wide = 8, 5
    shapes = {
        "q": ["b", heads, "s", size],
        "k": ["b", groups, "t", size],
        "v": ["b", groups, "t", wide],
        "pk": ["b", groups, "p", size],
        "pv": ["b", groups, "p", wide],
    }
    infos = [helper.make_tensor_value_info(name, tensor, shape) for name, shape in shapes.items()]
    node = helper.make_node("Attention", ["q", "k", "v", "", "pk", "pv"], ["y", "ok", "ov"], is_causal=causal, scale=0.25)
    outputs = [helper.make_empty_tensor_value_info(name) for name in node.output]
    graph = helper.make_graph([node], "g", infos, outputs)
    exe = pliant.compile(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)], ir_version=10))
    rng = np.random.default_rng(0)
    for b, s, p in [(2, 3, 4), (1, 1, 37), (1, 5, 0), (0, 2, 3), (3, 17, 1)]:
        sizes = {"b": b, "s": s, "t": s, "p": p}
        feeds = {n: rng.standard_normal([sizes.get(d, d) for d in shape]).astype(kind) for n, shape in shapes.items()}
        got = exe.run(feeds)
        k, v = np.concatenate([feeds["pk"], feeds["k"]], 2), np.concatenate([feeds["pv"], feeds["v"]], 2)
        np.testing.assert_array_equal(got["ok"], k)
        np.testing.assert_array_equal(got["ov"], v)
        np.testing.assert_allclose(got["y"], attention(feeds["q"], k, v, 0.25, causal), rtol=tolerance, atol=tolerance)
