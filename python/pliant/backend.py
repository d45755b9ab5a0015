"""Pliant as a backend of the ONNX backend test suite and of whatever else speaks that interface."""

import numpy as np
import onnx
from onnx.backend.base import Backend as _Backend
from onnx.backend.base import BackendRep

import pliant


class Rep(BackendRep):
    """A compiled model; inputs come in the graph's order, outputs are a tuple."""

    def __init__(self, executable):
        self.executable = executable

    def run(self, inputs, **kwargs):
        if isinstance(inputs, dict):
            return tuple(self.executable.run(inputs).values())
        if isinstance(inputs, np.ndarray):
            inputs = [inputs]
        return tuple(self.executable(*inputs))


def _value_info(name, x):
    if isinstance(x, list):
        dtype = x[0].dtype if x else np.dtype(np.float32)
        return onnx.helper.make_tensor_sequence_value_info(name, onnx.helper.np_dtype_to_tensor_dtype(dtype), None)
    return onnx.helper.make_tensor_value_info(name, onnx.helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)


class Backend(_Backend):
    @classmethod
    def prepare(cls, model, device="CPU", **kwargs):
        if not cls.supports_device(device):
            raise ValueError(f"device {device!r} is not supported")
        super().prepare(model, device, **kwargs)
        return Rep(pliant.compile(model, **kwargs))

    @classmethod
    def run_model(cls, model, inputs, device="CPU", **kwargs):
        return cls.prepare(model, device, **kwargs).run(inputs)

    @classmethod
    def run_node(cls, node, inputs, device="CPU", outputs_info=None, **kwargs):
        """Runs one node. `outputs_info`, pairs of dtype and shape, is not needed: outputs are inferred."""
        super().run_node(node, inputs, device, outputs_info)
        names = [name for name in node.input if name]
        arrays = [[np.asarray(e) for e in x] if isinstance(x, (list, tuple)) else np.asarray(x) for x in inputs]
        values = [_value_info(name, x) for name, x in zip(names, arrays)]
        results = [onnx.helper.make_empty_tensor_value_info(name) for name in node.output if name]
        opset = kwargs.pop("opset_version", onnx.defs.onnx_opset_version())
        graph = onnx.helper.make_graph([node], "node", values, results)
        model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid(node.domain, opset)])
        return Rep(pliant.compile(model, **kwargs)).run(arrays)

    @classmethod
    def supports_device(cls, device):
        return device.split(":")[0] == "CPU"


prepare = Backend.prepare
run_model = Backend.run_model
run_node = Backend.run_node
supports_device = Backend.supports_device
