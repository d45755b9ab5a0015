#!/usr/bin/env python3
"""Checks that every #include of src/ points down the layers of docs/architecture.md, and that loops of kernels are built where
docs/adr/0022-naive-functions.md says. Exit status 1 with one line a violation."""
import pathlib
import re
import sys

ALLOWED = {
    "artifact": [],
    "machine": [],
    "base": ["artifact"],  # dtype and status codes are one definition for both worlds
    "expr": ["base"],
    "graph": ["expr"],
    "te": ["expr"],
    "ops": ["graph", "te"],
    "frontend/core": ["ops"],
    "frontend/onnx": ["frontend/core"],
    "passes": ["ops"],
    "loop": ["expr"],
    "target": ["loop", "machine"],
    "schedule": ["target"],
    "codegen": ["loop", "target", "artifact"],
    "lower": ["ops", "schedule", "target"],
    "partition": ["passes", "lower"],
    "host": ["loop", "artifact"],
    "bufferize": ["graph", "host", "lower", "codegen"],
    "emit": ["host", "artifact"],
    "driver": ["frontend/onnx", "passes", "partition", "bufferize", "emit", "codegen", "artifact"],
    "runtime": ["artifact", "machine"],
}

# Files and folders of src/lower/ that build loops: the naive functions and what they are made of, and direct builders that the ADR
# names with reasons. What else there is becomes a template.
LOOP_BUILDERS = {
    "naive/work.cc", "nest.cc", "movement/", "fourier/",
    "contraction/blocked.cc", "reduction/halo_tile.cc", "reduction/long_sum.cc",
}


def check_loop_builders(lower):
    """Files that build loops without being listed, and entries of the list that build none."""
    found = {p.relative_to(lower).as_posix() for p in lower.rglob("*.cc") if re.search(r"\bmake_for\(", p.read_text())}
    listed = {(path, entry) for path in found for entry in LOOP_BUILDERS if path == entry or entry.endswith("/") and path.startswith(entry)}
    for path in sorted(found - {path for path, _ in listed}):
        yield f"src/lower/{path}: loops of kernels are built by naive functions and templates (tools/check_layers.py, LOOP_BUILDERS)"
    for entry in sorted(LOOP_BUILDERS - {entry for _, entry in listed}):
        yield f"tools/check_layers.py: src/lower/{entry} builds no loops"


def reach(layer):
    seen, todo = {layer}, [layer]
    while todo:
        for below in ALLOWED[todo.pop()]:
            if below not in seen:
                seen.add(below)
                todo.append(below)
    return seen


def layer_of(path):
    """The layer of a path below src/: its folder, with the one inside it where that is a layer of its own."""
    parts = path.split("/")
    return next((layer for layer in ("/".join(parts[:2]), parts[0]) if layer in ALLOWED), None)


def main():
    src = pathlib.Path(__file__).resolve().parent.parent / "src"
    bad = []
    for path in sorted(src.rglob("*")):
        if path.suffix not in (".h", ".cc", ".def", ".inc"):
            continue
        layer = layer_of(path.relative_to(src).as_posix())
        if layer is None:
            bad.append(f"{path}: folder is not a layer")
            continue
        allowed = reach(layer)
        for number, line in enumerate(path.read_text().splitlines(), 1):
            m = re.match(r'\s*#\s*include\s+"([a-z_]+/[^"]*)"', line)
            included = layer_of(m.group(1)) if m else None
            if included and included not in allowed:
                bad.append(f"{path.relative_to(src.parent)}:{number}: {layer} includes {included}")
            if re.match(r'\s*#\s*include\s+[<"]llvm', line) and "codegen/llvm" not in str(path):
                bad.append(f"{path.relative_to(src.parent)}:{number}: LLVM outside codegen/llvm")
    bad += check_loop_builders(src / "lower")
    print("\n".join(bad) if bad else "layers: ok")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
