#!/usr/bin/env python3
"""Checks of source files that need no compiler: length, white space, words, Python syntax, files a folder. Arguments: the files."""
import collections
import pathlib
import re
import sys

MAX_LINES = 1000
MAX_FILES = 30  # of a folder of src/; the operator families, a file an operator, aside
FAMILIES = {"array", "math", "nn"}
# Words that the field has others for (docs/glossary.md), and those.
REPLACED_WORDS = {
    r"\bfew_rows\b": "skinny_gemm",
    r"\b[Oo]bligations?\b": "shape constraint",
    r"\bExterns?\b": "library call",
    r"past the caches": "non-temporal",
    r"(nearest|first) cache": "L1",
    r"\barms?\b": "branch",
    r"\b[Qq]uads?\b": "dot4",
    r"\bSweep\b": "rewriter",
}
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
        if path.suffix in (".cc", ".h", ".md", ".def", ".ir"):
            for word, better in REPLACED_WORDS.items():
                if re.search(word, line):
                    yield f"{path}:{n}: the word for this is \"{better}\""
        if len(line) > 140 and path.suffix == ".py":
            yield f"{path}:{n}: {len(line)} columns"
    if text and not text.endswith("\n"):
        yield f"{path}: no newline at the end"


def check_folders(paths):
    for folder, files in collections.Counter(path.parent for path in paths).items():
        if "src" in folder.parts and folder.name not in FAMILIES and files > MAX_FILES:
            yield f"{folder}: {files} files, at most {MAX_FILES}"


def main():
    bad = list(check_folders(map(pathlib.Path, sys.argv[1:])))
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
