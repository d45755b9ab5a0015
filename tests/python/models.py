"""Small ONNX models written node by node."""
import numpy as np
from onnx import TensorProto, helper, numpy_helper

F32, I64 = TensorProto.FLOAT, TensorProto.INT64


class Graph:
    """Collects nodes; each call appends one and returns the name of its first output."""

    def __init__(self, seed=0):
        self.rng = np.random.default_rng(seed)
        self.nodes, self.initializers = [], []

    def weight(self, *shape, scale=None):
        scale = 1 / np.sqrt(shape[0]) if scale is None else scale
        return self.constant((self.rng.standard_normal(shape) * scale).astype(np.float32))

    def constant(self, array):
        name = f"c{len(self.initializers)}"
        self.initializers.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def __call__(self, op, *inputs, outputs=1, name=None, **attributes):
        name = name or f"{op.lower()}{len(self.nodes)}"
        names = [name] + [f"{name}_{i}" for i in range(1, outputs)]
        self.nodes.append(helper.make_node(op, list(inputs), names, name=name, **attributes))
        return names[0] if outputs == 1 else names

    def model(self, inputs, outputs, opset=17):
        infos = [[helper.make_tensor_value_info(n, t, s) for n, t, s in rows] for rows in (inputs, outputs)]
        graph = helper.make_graph(self.nodes, "g", *infos, self.initializers)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


def mlp():
    g = Graph()
    h = g("Relu", g("Add", g("MatMul", "x", g.weight(8, 16), name="fc1"), g.weight(16)))
    g("Add", g("MatMul", h, g.weight(16, 4), name="fc2"), g.weight(4), name="y")
    return g.model([("x", F32, ["batch", 8])], [("y", F32, ["batch", 4])])


def two_inputs():
    """a and b share the symbol n; c is of a fixed shape."""
    g = Graph()
    g("Add", g("Add", "a", "b", name="sum"), "c", name="y")
    return g.model([("a", F32, ["n", 4]), ("b", F32, ["n", 4]), ("c", F32, [1, 4])], [("y", F32, ["n", 4])])


def layer_norm(g, x, width):
    mean = g("ReduceMean", x, axes=[-1], keepdims=1)
    centred = g("Sub", x, mean)
    variance = g("ReduceMean", g("Mul", centred, centred), axes=[-1], keepdims=1)
    norm = g("Div", centred, g("Sqrt", g("Add", variance, g.constant(np.float32(1e-5)))))
    return g("Add", g("Mul", norm, g.weight(width, scale=1.0)), g.weight(width, scale=0.1))


def attention(g, x, mask, width, heads):
    def split(t):
        return g("Reshape", t, g.constant(np.array([0, 0, heads, width // heads], np.int64)))
    q = g("Transpose", split(g("MatMul", x, g.weight(width, width))), perm=[0, 2, 1, 3])
    k = g("Transpose", split(g("MatMul", x, g.weight(width, width))), perm=[0, 2, 3, 1])
    v = g("Transpose", split(g("MatMul", x, g.weight(width, width))), perm=[0, 2, 1, 3])
    scores = g("Mul", g("MatMul", q, k), g.constant(np.float32((width // heads) ** -0.5)))
    weights = g("Softmax", g("Add", scores, mask), axis=-1)
    joined = g("Transpose", g("MatMul", weights, v), perm=[0, 2, 1, 3])
    return g("MatMul", g("Reshape", joined, g.constant(np.array([0, 0, width], np.int64))), g.weight(width, width))


def bert_like(layers=2, width=64, heads=4, vocabulary=100, positions=1024):
    """An encoder: ids and mask i64[batch, seq] -> hidden f32[batch, seq, width]."""
    g = Graph(1)
    seq = g("Gather", g("Shape", "ids"), g.constant(np.array(1, np.int64)))
    index = g("Range", g.constant(np.array(0, np.int64)), seq, g.constant(np.array(1, np.int64)))
    x = g("Add", g("Gather", g.weight(vocabulary, width, scale=1.0), "ids"), g("Gather", g.weight(positions, width, scale=0.2), index))
    x = layer_norm(g, x, width)
    bias = g("Mul", g("Sub", g.constant(np.float32(1)), g("Cast", "mask", to=F32)), g.constant(np.float32(-1e4)))
    bias = g("Unsqueeze", bias, g.constant(np.array([1, 2], np.int64)))
    for _ in range(layers):
        x = layer_norm(g, g("Add", x, attention(g, x, bias, width, heads)), width)
        h = g("MatMul", x, g.weight(width, 4 * width))
        gelu = g("Mul", g("Mul", h, g.constant(np.float32(0.5))),
                 g("Add", g("Erf", g("Mul", h, g.constant(np.float32(2 ** -0.5)))), g.constant(np.float32(1))))
        x = layer_norm(g, g("Add", x, g("MatMul", gelu, g.weight(4 * width, width))), width)
    g("Identity", x, name="hidden")
    return g.model([("ids", I64, ["batch", "seq"]), ("mask", I64, ["batch", "seq"])], [("hidden", F32, ["batch", "seq", width])])


def convnet():
    """A small image model of free batch, height and width with BatchNormalization, strides, depthwise and residuals."""
    g = Graph(2)

    def block(x, cin, cout, kernel, stride, group=1):
        w = g.weight(cout, cin // group, kernel, kernel, scale=(2 / (cin // group * kernel * kernel)) ** 0.5)
        y = g("Conv", x, w, strides=[stride] * 2, pads=[kernel // 2] * 4, group=group)
        var = g.constant(g.rng.uniform(0.5, 1.5, cout).astype(np.float32))
        return g("Relu", g("BatchNormalization", y, g.weight(cout, scale=1.0), g.weight(cout), g.weight(cout), var))
    x = block("image", 3, 8, 3, 2)
    x = block(x, 8, 8, 3, 1, group=8)
    y = block(x, 8, 16, 1, 1)
    y = g("Add", y, block(y, 16, 16, 3, 1))
    y = g("GlobalAveragePool", g("MaxPool", y, kernel_shape=[2, 2], strides=[2, 2], ceil_mode=1))
    g("Gemm", g("Flatten", y), g.weight(16, 5), g.weight(5), name="logits")
    return g.model([("image", F32, ["batch", 3, "height", "width"])], [("logits", F32, ["batch", 5])])
