"""Ahead-of-time compiler for deep-learning models of dynamic shape.

    exe = pliant.compile("model.onnx")      # once, for every shape
    exe.run({"data": x})                    # dict of name -> numpy array
    exe.save("model.pliant")                # pliant.load("model.pliant") needs no compiler
"""
import itertools
import operator
import os
import sys
from typing import NamedTuple, Optional, Tuple, Union

import numpy as np

from . import _core
from ._core import (ArtifactError, CancelledError, CompileError, Error, InputError, InternalError, MemoryLimitError,
                    RunError)

__version__ = _core.version()
__all__ = ["ArtifactError", "CancelledError", "CompileError", "Error", "Executable", "InputError", "InternalError",
           "MemoryLimitError", "RunError", "TensorInfo", "compile", "load"]

_NUMPY_NAMES = {"bool": "bool", "i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64", "u8": "uint8", "u16": "uint16",
                "u32": "uint32", "u64": "uint64", "f16": "float16", "bf16": "bfloat16", "f32": "float32", "f64": "float64"}
_BF16 = _core.dtype_code("bf16")


_KINDS = ("tensor", "sequence", "optional", "optional sequence")


class TensorInfo(NamedTuple):
    """An input or output: axes of the shape are numbers, or symbols and expressions over them as text.

    `kind` is "tensor", "sequence" (a list of arrays), "optional" (an array or None) or "optional sequence" (a list or None).
    dtype and shape are those of the arrays; "?" is a size that each array has for itself, a shape of None any rank."""
    name: str
    dtype: str
    shape: Optional[Tuple[Union[int, str], ...]]
    optional: bool = False
    kind: str = "tensor"

    @property
    def type(self):
        """As text: "float32[batch, 3]", "seq<float32[?, 3]>", "opt<seq<int64[*]>>"."""
        text = f"{self.dtype}[{'*' if self.shape is None else ', '.join(map(str, self.shape))}]"
        if self.kind.endswith("sequence"):
            text = f"seq<{text}>"
        return f"opt<{text}>" if self.kind.startswith("optional") else text


def _bfloat16():
    import ml_dtypes
    return np.dtype(ml_dtypes.bfloat16)


def _infos(rows):
    return [TensorInfo(name, _NUMPY_NAMES[dtype], shape, optional, _KINDS[kind]) for name, dtype, shape, optional, kind in rows]


def _array(row):
    array, dtype = row
    return array.view(_bfloat16()) if dtype == "bf16" else array


class Executable:
    """A loaded model. `run` and calling it are safe from several threads at once; `set_input` and `get_output` keep one
    set of values in the object and belong to one thread."""

    def __init__(self, core, seed=None):
        self._core = core
        self._seed, self._seeded_runs = seed, itertools.count()
        self.inputs = _infos(core.inputs())
        self.outputs = _infos(core.outputs())
        self._known = {info.name: info for info in self.inputs}
        self._set, self._got = {}, None

    def __repr__(self):
        def show(infos):
            return ", ".join(f"{i.name}: {i.type}" for i in infos)
        return f"<pliant.Executable ({show(self.inputs)}) -> ({show(self.outputs)})>"

    def _prepare(self, name, value):
        """An array that the extension takes, and the dtype code that replaces its own, or -1."""
        info = self._known.get(name)
        if not hasattr(value, "__dlpack__") and not isinstance(value, np.ndarray):
            dtype = None if info is None else _bfloat16() if info.dtype == "bfloat16" else np.dtype(info.dtype)
            try:
                value = np.asarray(value, dtype)
            except (TypeError, ValueError) as e:
                raise InputError(f"input '{name}' is no array: {e}") from None
        if isinstance(value, (np.ndarray, np.generic)):
            if not (value.flags.c_contiguous and value.flags.aligned and isinstance(value, np.ndarray)):
                value = np.require(value, requirements=["C", "A"])
            if value.dtype.kind == "V" and value.dtype.name == "bfloat16":
                return value.view(np.uint16), _BF16
        elif getattr(value, "requires_grad", False):
            value = value.detach()
        return value, -1

    def _prepare_list(self, name, value):
        """What `_prepare` gives for each array of a sequence or optional, or None."""
        kind = self._known[name].kind
        if value is None or kind == "optional":
            return None if value is None else [self._prepare(name, value)]
        if not isinstance(value, (list, tuple)):
            raise InputError(f"input '{name}' is a {kind}: expected a list of arrays, got {type(value)}")
        return [self._prepare(name, element) for element in value]

    def _run_seed(self, seed):
        """What the run's random numbers follow from, as the extension takes it; None: nothing that another run has."""
        if seed is None and self._seed is not None:
            seed = operator.index(self._seed) * 0x9E3779B97F4A7C15 + next(self._seeded_runs)
        return None if seed is None else operator.index(seed) % 2**64

    def _run(self, feed, memory_limit=0, seed=None):
        lists, tensors = {}, {}
        for name, value in feed.items():
            if name in self._known and self._known[name].kind != "tensor":
                lists[name] = self._prepare_list(name, value)
            else:
                tensors[name] = self._prepare(name, value)
        rows = self._core.run(list(tensors), [array for array, _ in tensors.values()], [code for _, code in tensors.values()],
                              list(lists), list(lists.values()), memory_limit, self._run_seed(seed))
        return [self._value(info, row) for info, row in zip(self.outputs, rows)]

    @staticmethod
    def _value(info, row):
        if info.kind == "tensor":
            return _array(row)
        if row is None:
            return None
        return _array(row[0]) if info.kind == "optional" else [_array(element) for element in row]

    def run(self, inputs=None, *, memory_limit=None, seed=None):
        """Runs once. With a dict (or a sequence in the inputs' order): returns a dict of output name -> numpy array. Without:
        uses what `set_input` gave and keeps the outputs for `get_output`.
        Sequences are lists of arrays, both ways, and an optional without a value is None.
        A run that needs more than `memory_limit` bytes of intermediate tensors and outputs ends with a MemoryLimitError.
        Runs of one artifact with the same `seed` draw the same random numbers where the model gives none of its own."""
        if inputs is None:
            self._got = self._run(self._set, memory_limit or 0, seed)
            return None
        if not isinstance(inputs, dict):
            inputs = self._named(inputs)
        return dict(zip((info.name for info in self.outputs), self._run(inputs, memory_limit or 0, seed)))

    def __call__(self, *inputs, **named):
        """Positional inputs, in the model's order, or by name; returns the list of outputs."""
        return self._run({**self._named(inputs), **named})

    def _named(self, values):
        if len(values) > len(self.inputs):
            raise InputError(f"the model has {len(self.inputs)} inputs, {len(values)} were given")
        return {info.name: value for info, value in zip(self.inputs, values) if value is not None}

    def set_input(self, key, value):
        """Keeps a value, by name or by position, for `run()` without arguments."""
        name = self.inputs[key].name if isinstance(key, int) else key
        if name not in self._known:
            raise InputError(f"there is no input '{name}'; the model has {', '.join(self._known)}")
        self._set[name] = value

    def get_output(self, key=0):
        """An output of the last `run()` without arguments, by position or name."""
        if self._got is None:
            raise Error("run() has not been called")
        if not isinstance(key, int):
            names = [info.name for info in self.outputs]
            if key not in names:
                raise Error(f"there is no output '{key}'; the model has {', '.join(names)}")
            key = names.index(key)
        return self._got[key]

    def cancel(self):
        """Ends all runs in flight, which other threads started: each raises a CancelledError."""
        self._core.cancel()

    def save(self, path):
        """Writes the artifact."""
        self._core.save(os.fspath(path))

    @property
    def info(self):
        """Model, target, precision, threads, sizes, and the symbols with (min, max, multiple of)."""
        return self._core.info()

    @property
    def stats(self):
        """Counters since loading: runs, plan cache hits and misses, bytes of intermediate tensors."""
        return self._core.stats()


def _show_progress(stage, fraction):
    sys.stderr.write(f"\r\x1b[Kcompiling {fraction:4.0%}  {stage}")
    sys.stderr.flush()


def compile(model, *, target="native", precision="fp32", opt_level=3, threads=None, shapes=None, bounds=None, likely=None,
            native_loops=True, memory_limit=None, seed=None, dump_dir=None, check_passes=False, check_memory=False,
            progress=None):
    """Compiles a model for every shape and loads it.

    model      a path (.onnx, or .ir: a module in the text of the graph IR), the bytes of an ONNX model, or an
               onnx.ModelProto
    target     "native", "x86-64-v3", "x86-64-v4", and with VNNI "x86-64-v3-vnni", "x86-64-v4-vnni"
    precision  "fp32" is exact
    opt_level  0 to 3
    threads    of one run; None: as many as this process may use
    shapes     {"data": ["batch", 3, 224, 224]}: the inputs' shapes, in place of the model's
    bounds     {"batch": (1, 64)}: range of a symbol, inclusive
    likely     {"batch": [1, 4]}: values to make fast
    native_loops  False runs every loop as bytecode, for comparisons
    memory_limit  bytes that one run may use, as for `load`
    seed       of the random numbers of the runs, as for `load`
    check_memory  as for `load`
    progress   True, False, or None: on a terminal
    """
    directory = "."
    if hasattr(model, "SerializeToString"):
        model = model.SerializeToString()
    if not isinstance(model, bytes):
        model = os.fspath(model)
    show = sys.stderr.isatty() if progress is None else progress
    try:
        core = _core.compile(
            model, directory, target=target, precision=precision, opt_level=opt_level, threads=0, run_threads=threads or 0,
            memory_limit=memory_limit or 0,
            shapes={name: [str(axis) for axis in axes] for name, axes in (shapes or {}).items()},
            bounds={name: tuple(pair) for name, pair in (bounds or {}).items()},
            likely={name: list(values) for name, values in (likely or {}).items()},
            dump_dir=os.fspath(dump_dir) if dump_dir else "", native_loops=native_loops, check_passes=check_passes,
            check_memory=check_memory,
            progress=_show_progress if show else None)
    finally:
        if show:
            sys.stderr.write("\r\x1b[K")
    return Executable(core, seed)


def load(path, threads=None, memory_limit=None, huge_pages=None, seed=None, check_memory=False):
    """Loads an artifact. Runs that need more than `memory_limit` bytes of intermediate tensors and outputs end with a
    MemoryLimitError. `huge_pages`: True copies the weights to memory on huge pages, False uses them in the mapped file, which
    processes share; by default those of 1 MiB to 256 MiB are copied.
    With a `seed` the first, second … run draw the same random numbers whenever the artifact is loaded; without one all draw
    others.
    `check_memory` is for finding faults of ours: runs are slow and end with a RunError that names the kernel where one writes
    outside its buffers; what is read before anything wrote it is no number."""
    return Executable(_core.Executable(os.fspath(path), threads or 0, memory_limit or 0, huge_pages, check_memory), seed)
