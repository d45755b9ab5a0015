#!/usr/bin/env python3
"""Checks of source files that need no compiler: length, white space, Python syntax. Arguments: the files."""
import pathlib
import sys

MAX_LINES = 1000
FORBIDDEN_STEMS = {"utils", "util", "common", "misc", "helper", "helpers", "manager"}


def check_text(path, text):
    lines = text.split("\n")
    if len(lines) > MAX_LINES:
        yield f"{path}: {len(lines)} lines, at most {MAX_LINES}"
    if path.stem in FORBIDDEN_STEMS:
        yield f"{path}: name the file after its one concept"
    for n, line in enumerate(lines, 1):
        if line != line.rstrip():
            yield f"{path}:{n}: white space at the end"
        if "\t" in line:
            yield f"{path}:{n}: tab"
        if len(line) > 140 and path.suffix == ".py":
            yield f"{path}:{n}: {len(line)} columns"
    if text and not text.endswith("\n"):
        yield f"{path}: no newline at the end"


def main():
    bad = []
    for name in sys.argv[1:]:
        path = pathlib.Path(name)
        text = path.read_text()
        bad += check_text(path, text)
        if path.suffix == ".py" or path.name == "dev":
            try:
                compile(text, name, "exec")
            except SyntaxError as e:
                bad.append(f"{name}:{e.lineno}: {e.msg}")
    print("\n".join(bad) if bad else f"{len(sys.argv) - 1} files: ok")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
