"""Updates of slices that may meet, at odd and zero sizes, beside numpy."""
import numpy as np
import pliant
import pytest
from onnx import TensorProto
from models import F32, I64, Graph

TYPES = {"f32": (F32, np.float32), "i64": (I64, np.int64), "u8": (TensorProto.UINT8, np.uint8), "f16": (TensorProto.FLOAT16, np.float16)}
COMBINE = {"none": lambda a, b: b, "add": np.add, "mul": np.multiply, "max": np.maximum, "min": np.minimum}


@pytest.mark.parametrize("dtype,target", [("f32", "native"), ("f32", "x86-64-v3"), ("u8", "native"), ("f16", "native"), ("i64", "native")])
@pytest.mark.parametrize("reduction", COMBINE)
@pytest.mark.parametrize("depth", [1, 2])
def test_slices_in_order(depth, reduction, dtype, target):
    onnx_type, np_type = TYPES[dtype]
    g = Graph()
    g("ScatterND", "x", "i", "u", reduction=reduction, name="y")
    rest = ["b", "c"][depth - 1:]
    exe = pliant.compile(g.model([("x", onnx_type, ["a", "b", "c"]), ("i", I64, ["n", depth]), ("u", onnx_type, ["n", *rest])],
                                 [("y", onnx_type, None)], opset=18), target=target)
    rng = np.random.default_rng(depth)
    for shape in [(3, 4, 0), (2, 1, 1), (3, 2, 7), (2, 3, 16), (4, 3, 33), (5, 2, 130)]:
        for n in (0, 1, 9):
            x = rng.integers(0, 3, shape).astype(np_type)
            i = np.stack([rng.integers(-size, size, n) for size in shape[:depth]], -1).reshape(n, depth)
            u = rng.integers(0, 3, (n, *shape[depth:])).astype(np_type)
            expected = x.copy()
            for k in range(n):
                at = tuple(i[k])
                expected[at] = COMBINE[reduction](expected[at], u[k])
            np.testing.assert_array_equal(exe.run({"x": x, "i": i, "u": u})["y"], expected, err_msg=f"{shape} {n}")
