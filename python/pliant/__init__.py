"""Ahead-of-time compiler for deep-learning models of dynamic shape.

    exe = pliant.compile("model.onnx")      # once, for every shape
    exe.run({"data": x})                    # dict of name -> numpy array
    exe.save("model.pliant")                # pliant.load("model.pliant") needs no compiler
"""
import atexit
import itertools
import json
import operator
import os
import sys
from collections.abc import Mapping
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
_MOST_THREADS, _MOST_BYTES = 1024, 2**63 - 1

# Threads that are in a run or a compilation when the interpreter ends must not come back into it.
atexit.register(_core.shut_down)


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


def _count(name, value, most):
    """A number that is not negative, at most `most`; 0 for None."""
    value = 0 if value is None else operator.index(value)
    if value < 0:
        raise ValueError(f"{name} must not be negative, got {value}")
    return min(value, most)


def _int64(name, value):
    value = operator.index(value)
    if not -2**63 <= value < 2**63:
        raise ValueError(f"{name}: {value} does not fit into 64 bits")
    return value


def _seed_of(value):
    return None if value is None else operator.index(value)


def _path(path):
    path = os.fsencode(path)
    if b"\0" in path:
        raise ValueError(f"a zero byte in the name {path!r}")
    return path


def _array_of(name, value, dtype):
    """The array that numbers and nested lists of them make, of the input's dtype when that is known."""
    if isinstance(value, (list, tuple)) and any(isinstance(element, np.ma.MaskedArray) for element in value):
        value = [_unmasked(name, element) for element in value]
    try:
        array = np.asarray(value)
        if dtype is None or array.dtype == dtype:
            return array
        if array.dtype.kind in "fc" and dtype.kind in "iub" and array.size:
            raise TypeError(f"{array.dtype} values for {dtype}")
        return np.asarray(value, dtype)
    except (TypeError, ValueError, OverflowError) as e:
        raise InputError(f"input '{name}' is no array: {e}") from None


def _unmasked(name, value):
    if not isinstance(value, np.ma.MaskedArray):
        return value
    if np.ma.is_masked(value):
        raise InputError(f"input '{name}' is an array with masked elements: say what they are, as with .filled(0)")
    return value.data


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
        value = _unmasked(name, value)
        if not hasattr(value, "__dlpack__") and not isinstance(value, np.ndarray):
            value = _array_of(name, value, None if info is None else _bfloat16() if info.dtype == "bfloat16" else np.dtype(info.dtype))
        if isinstance(value, (np.ndarray, np.generic)):
            if not (value.flags.c_contiguous and value.flags.aligned and isinstance(value, np.ndarray)):
                value = np.require(value, requirements=["C", "A"])
            if value.dtype.kind == "V" and value.dtype.name == "bfloat16":
                return value.view(np.uint16), _BF16
            return value, -1
        # DLPack says nothing of what a torch tensor has put off: gradients, conjugation, negation.
        if getattr(value, "requires_grad", False):
            value = value.detach()
        for resolve in ("resolve_conj", "resolve_neg"):
            if hasattr(value, resolve):
                value = getattr(value, resolve)()
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
            seed = self._seed * 0x9E3779B97F4A7C15 + next(self._seeded_runs)
        return None if seed is None else _seed_of(seed) % 2**64

    @staticmethod
    def _missing(what, name, known):
        quoted = [json.dumps(str(n), ensure_ascii=False) for n in (name, *known)]
        return f"there is no {what} {quoted[0]}; the model has {', '.join(quoted[1:])}"

    def _run(self, feed, memory_limit=None, seed=None):
        lists, tensors = {}, {}
        for name, value in feed.items():
            if not isinstance(name, str):
                raise TypeError(f"inputs have names, of type str: got {name!r}")
            if name not in self._known:
                raise InputError(self._missing("input", name, self._known))
            if self._known[name].kind != "tensor":
                lists[name] = self._prepare_list(name, value)
            else:
                tensors[name] = self._prepare(name, value)
        rows = self._core.run(list(tensors), [array for array, _ in tensors.values()], [code for _, code in tensors.values()],
                              list(lists), list(lists.values()), _count("memory_limit", memory_limit, _MOST_BYTES),
                              self._run_seed(seed))
        return [self._value(info, row) for info, row in zip(self.outputs, rows)]

    @staticmethod
    def _value(info, row):
        if info.kind == "tensor":
            return _array(row)
        if row is None:
            return None
        return _array(row[0]) if info.kind == "optional" else [_array(element) for element in row]

    def run(self, inputs=None, *, memory_limit=None, seed=None):
        """Runs once. With a dict, a list or tuple in the inputs' order, or one array for a model of one input: returns a dict of
        output name -> numpy array. Without: uses what `set_input` gave and keeps the outputs for `get_output`.
        Sequences are lists of arrays, both ways, and an optional without a value is None.
        A run that needs more than `memory_limit` bytes of intermediate tensors and outputs ends with a MemoryLimitError.
        Runs of one artifact with the same `seed` draw the same random numbers where the model gives none of its own."""
        if inputs is None:
            self._got = self._run(self._set, memory_limit, seed)
            return None
        if isinstance(inputs, (list, tuple)):
            inputs = self._named(inputs)
        elif not isinstance(inputs, Mapping):
            inputs = self._only(inputs)
        return dict(zip((info.name for info in self.outputs), self._run(inputs, memory_limit, seed)))

    def __call__(self, *inputs, **named):
        """Positional inputs, in the model's order, or by name; returns the list of outputs."""
        return self._run({**self._named(inputs), **named})

    def _named(self, values):
        if len(values) > len(self.inputs):
            raise InputError(f"the model has {len(self.inputs)} inputs, {len(values)} were given")
        return {info.name: value for info, value in zip(self.inputs, values) if value is not None}

    def _only(self, value):
        needed = [info.name for info in self.inputs if not info.optional] or [info.name for info in self.inputs]
        if len(needed) != 1 or isinstance(value, (str, bytes)):
            raise TypeError(f"expected a dict of arrays, or a list of them: the model has {len(self.inputs)} inputs "
                            f"({', '.join(self._known)}), got {type(value).__name__}")
        return {needed[0]: value}

    def set_input(self, key, value):
        """Keeps a value, by name or by position, for `run()` without arguments."""
        name = self.inputs[key].name if isinstance(key, int) else key
        if not isinstance(name, str):
            raise TypeError(f"an input's name or position is wanted, got {key!r}")
        if name not in self._known:
            raise InputError(self._missing("input", name, self._known))
        self._set[name] = value

    def get_output(self, key=0):
        """An output of the last `run()` without arguments, by position or name."""
        if self._got is None:
            raise Error("run() has not been called")
        if not isinstance(key, int):
            names = [info.name for info in self.outputs]
            if key not in names:
                raise Error(self._missing("output", key, names))
            key = names.index(key)
        return self._got[key]

    def cancel(self):
        """Ends all runs in flight, which other threads started: each raises a CancelledError."""
        self._core.cancel()

    def save(self, path):
        """Writes the artifact that was compiled or loaded, whatever has become of its file since: whole, or not at all."""
        self._core.save(_path(path))

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

    Files larger than 64 MiB are mapped: they must not be cut short while they are compiled. Ctrl-C ends it within a second.
    """
    if hasattr(model, "SerializeToString"):
        model = model.SerializeToString()
    is_path = not isinstance(model, bytes)
    seed = _seed_of(seed)
    shapes, bounds, likely = ({} if given is None else given for given in (shapes, bounds, likely))
    # Programs without a console have no standard error, and what stands for it need not be a file.
    show = sys.stderr is not None and (hasattr(sys.stderr, "isatty") and sys.stderr.isatty() if progress is None else progress)
    try:
        core = _core.compile(
            _path(model) if is_path else model, is_path, target=target, precision=precision,
            opt_level=max(-1, min(operator.index(opt_level), 99)), threads=0,
            run_threads=_count("threads", threads, _MOST_THREADS), memory_limit=_count("memory_limit", memory_limit, _MOST_BYTES),
            shapes={name: [str(axis) for axis in axes] for name, axes in shapes.items()},
            bounds={name: (_int64("bounds", low), _int64("bounds", high)) for name, (low, high) in bounds.items()},
            likely={name: [_int64("likely", value) for value in values] for name, values in likely.items()},
            dump_dir=_path(dump_dir) if dump_dir else b"", native_loops=bool(native_loops), check_passes=bool(check_passes),
            check_memory=bool(check_memory),
            progress=_show_progress if show else None)
    finally:
        if show:
            sys.stderr.write("\r\x1b[K")
    return Executable(core, seed)


def load(path, threads=None, memory_limit=None, huge_pages=None, seed=None, check_memory=False):
    """Loads an artifact.

    An artifact is a program: its native code does whatever this process may do. Load only what you trust.
    A file of up to 1 MiB is read. A larger one is mapped and must not be cut short or written to while it is loaded, which
    would end the process; replacing it by another file under its name is fine.

    memory_limit  runs that need more bytes of intermediate tensors and outputs end with a MemoryLimitError
    huge_pages    True copies the weights to memory on huge pages, False uses them in the mapped file, which processes share;
                  by default those of 1 MiB to 256 MiB are copied
    seed          the first, second … run draw the same random numbers whenever the artifact is loaded with it; without one
                  all draw others
    check_memory  for finding faults of ours: runs are slow and end with a RunError that names the kernel where one writes
                  outside its buffers; what is read before anything wrote it is no number
    """
    seed = _seed_of(seed)
    return Executable(_core.Executable(_path(path), _count("threads", threads, _MOST_THREADS),
                                       _count("memory_limit", memory_limit, _MOST_BYTES), huge_pages, bool(check_memory)), seed)
