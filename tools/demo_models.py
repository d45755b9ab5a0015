"""The models of the demo: ResNet-50 written node by node with seeded random weights, and the PP-OCRv4 text recogniser taken
out of the wheel that ships it.

    python tools/demo_models.py FOLDER      writes resnet50.onnx and ppocr_rec.onnx
"""
import pathlib
import subprocess
import sys
import tempfile
import zipfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

OCR_PACKAGE = "rapidocr-onnxruntime==1.4.4"
OCR_MEMBER = "rapidocr_onnxruntime/models/ch_PP-OCRv4_rec_infer.onnx"


class Graph:
    """Collects nodes and initialisers; every method returns the name of the value that it made."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.nodes, self.initializers = [], []

    def weight(self, name, array):
        self.initializers.append(numpy_helper.from_array(array.astype(np.float32), name))
        return name

    def op(self, kind, name, inputs, **attributes):
        self.nodes.append(helper.make_node(kind, inputs, [name], name=name, **attributes))
        return name

    def conv(self, name, x, cin, cout, kernel, stride=1):
        scale = np.sqrt(2.0 / (cin * kernel * kernel))
        w = self.weight(name + ".weight", self.rng.standard_normal((cout, cin, kernel, kernel)) * scale)
        pad = kernel // 2
        return self.op("Conv", name, [x, w], kernel_shape=[kernel] * 2, strides=[stride] * 2, pads=[pad] * 4)

    def batch_norm(self, name, x, channels, gain=1.0):
        r = self.rng
        params = [self.weight(f"{name}.scale", gain * r.uniform(0.8, 1.2, channels)),
                  self.weight(f"{name}.bias", 0.1 * r.standard_normal(channels)),
                  self.weight(f"{name}.mean", 0.1 * r.standard_normal(channels)),
                  self.weight(f"{name}.var", r.uniform(0.5, 1.5, channels))]
        return self.op("BatchNormalization", name, [x, *params], epsilon=1e-5)

    def bottleneck(self, name, x, cin, width, stride):
        cout = 4 * width
        y = self.conv(f"{name}/conv1", x, cin, width, 1)
        y = self.op("Relu", f"{name}/relu1", [self.batch_norm(f"{name}/bn1", y, width)])
        y = self.conv(f"{name}/conv2", y, width, width, 3, stride)
        y = self.op("Relu", f"{name}/relu2", [self.batch_norm(f"{name}/bn2", y, width)])
        y = self.conv(f"{name}/conv3", y, width, cout, 1)
        y = self.batch_norm(f"{name}/bn3", y, cout, gain=0.3)
        if stride != 1 or cin != cout:
            x = self.conv(f"{name}/shortcut", x, cin, cout, 1, stride)
            x = self.batch_norm(f"{name}/shortcut_bn", x, cout, gain=0.7)
        return self.op("Relu", f"{name}/out", [self.op("Add", f"{name}/add", [y, x])])


def resnet50(blocks=(3, 4, 6, 3), stem=64, classes=1000, seed=50):
    """The 50-layer residual network (stride in the 3x3 convolutions): data f32[batch,3,224,224] -> logits f32[batch,classes]."""
    g = Graph(seed)
    x = g.conv("stem/conv", "data", 3, stem, 7, 2)
    x = g.op("Relu", "stem/relu", [g.batch_norm("stem/bn", x, stem)])
    x = g.op("MaxPool", "stem/pool", [x], kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    cin = stem
    for stage, count in enumerate(blocks):
        width = stem << stage
        for i in range(count):
            x = g.bottleneck(f"stage{stage + 1}/block{i + 1}", x, cin, width, 2 if stage and not i else 1)
            cin = 4 * width
    x = g.op("Flatten", "head/flatten", [g.op("GlobalAveragePool", "head/pool", [x])], axis=1)
    w = g.weight("head/fc.weight", g.rng.standard_normal((classes, cin)) / np.sqrt(cin))
    b = g.weight("head/fc.bias", 0.1 * g.rng.standard_normal(classes))
    g.op("Gemm", "logits", [x, w, b], transB=1)
    graph = helper.make_graph(
        g.nodes, "resnet50",
        [helper.make_tensor_value_info("data", TensorProto.FLOAT, ["batch", 3, 224, 224])],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", classes])], g.initializers)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def fetch_ocr(target):
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--disable-pip-version-check", "--no-deps", "-d", folder,
                        OCR_PACKAGE], check=True, stderr=subprocess.PIPE)
        wheel = next(pathlib.Path(folder).glob("*.whl"))
        with zipfile.ZipFile(wheel) as z:
            target.write_bytes(z.read(OCR_MEMBER))


def make(folder):
    """Writes what is missing; returns name -> path."""
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    paths = {name: folder / f"{name}.onnx" for name in ("resnet50", "ppocr_rec")}
    if not paths["resnet50"].exists():
        onnx.save(resnet50(), paths["resnet50"])
    if not paths["ppocr_rec"].exists():
        fetch_ocr(paths["ppocr_rec"])
    return paths


if __name__ == "__main__":
    for name, path in make(sys.argv[1]).items():
        print(f"{name:12} {path.stat().st_size:>10} bytes")
