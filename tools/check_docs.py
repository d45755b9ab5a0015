#!/usr/bin/env python3
"""Checks that the documentation is true where a script can tell: links, ./dev commands, operators, passes, ids of diagnostics."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def text_of(path):
    return path.read_text() if path.exists() else ""


def check_links():
    for page in PAGES:
        prose = re.sub(r"```.*?```", "", text_of(page), flags=re.S)
        for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", prose):
            if "://" not in target and not (page.parent / target).exists():
                yield f"{page.relative_to(ROOT)}: link to {target}, which does not exist"
        examples = page.name.startswith("add-a")  # these name files that the reader will write
        for path in [] if examples else re.findall(r"`((?:src|tools|tests|docs|python|bench|fuzz|cmake|examples)/[\w./-]+\.\w+)`", prose):
            if not (ROOT / path).exists():
                yield f"{page.relative_to(ROOT)}: names {path}, which does not exist"


def check_commands():
    known = set(re.findall(r"^  \./dev (\w+)", text_of(ROOT / "dev"), re.M)) | {"new"}
    for page in PAGES:
        for command in re.findall(r"\./dev ([a-z]+)", text_of(page)):
            if command not in known:
                yield f"{page.relative_to(ROOT)}: ./dev {command} is no command"


def check_operators():
    page = text_of(ROOT / "docs" / "operators.md")
    for source in sorted((ROOT / "src" / "ops").glob("*/*.cc")):
        name = f"{source.parent.name}.{source.stem}"
        is_operator = f"OpDef op_{source.parent.name}_{source.stem}()" in source.read_text()
        if is_operator and f"`{name}`" not in page:
            yield f"docs/operators.md: {name} is missing"


def check_diagnostics():
    table = re.findall(r'^PLIANT_DIAGNOSTIC\("([a-z-]+)"', text_of(ROOT / "src" / "base" / "diagnostics.def"), re.M)
    listed = re.findall(r"^\| `([a-z-]+)`", text_of(ROOT / "docs" / "errors.md"), re.M)
    if table != listed:
        yield f"docs/errors.md: other ids than in base/diagnostics.def, or in another order: {sorted(set(table) ^ set(listed))}"
    named, ids = set(), set()
    for source in [p for folder in ("src", "tools", "python") for p in sorted((ROOT / folder).rglob("*")) if p.suffix in (".cc", ".h")]:
        own_messages = "artifact" in source.parts or "runtime" in source.parts  # whole sentences, without ids
        if not source.stem.endswith("_test") and not own_messages:
            text = source.read_text()
            named |= set(re.findall(r'"([a-z]+(?:-[a-z]+)*)"', text))
            ids |= set(re.findall(r'(?:make_error|fail|report|error|Diagnostic|DiagnosticId)[({]\s*"([a-z]+(?:-[a-z]+)*)"', text))
            ids |= set(re.findall(r'(?:DiagnosticId \w+ = |push_back\(\{)"([a-z]+(?:-[a-z]+)+)"', text))
    for name in sorted(set(table) - named):
        yield f"base/diagnostics.def: the id {name} is used nowhere"
    for name in sorted(ids - set(table)):
        yield f"base/diagnostics.def: the id {name} is missing"


def main():
    bad = [line for check in (check_links, check_commands, check_operators, check_diagnostics) for line in check()]
    print("\n".join(bad) if bad else f"{len(PAGES)} pages: ok")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
