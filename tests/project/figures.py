"""Figures of the code that say how easy it is to read: `python -m tests.project.figures`."""

import ast
from collections.abc import Iterator
from pathlib import Path

import trio
from trio.testing import MockClock

from tests.project.journeys import journey_of_a_join, journey_of_a_produce, journey_of_a_setting
from tests.project.test_glossary import names as glossary_names
from tests.project.tree import ROOT
from trio_kafka import plugin

CORE = ROOT / "trio_kafka"
APIS = ROOT / "plugins" / "trio_kafka_apis"
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
MOST_PARAMETERS = 8


def code_lines(text: str) -> int:
    """Lines without blank lines, comments, docstrings and imports."""
    tree, others = ast.parse(text), set[int]()
    for node in ast.walk(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)) or is_text(node):
            others |= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    lines = enumerate(map(str.strip, text.splitlines()), 1)
    return sum(bool(line) and line[0] != "#" and at not in others for at, line in lines)


def is_text(node: ast.AST) -> bool:
    """Return whether a node is a statement that is only a string, such as a docstring."""
    return isinstance(node, ast.Expr) and isinstance(getattr(node.value, "value", None), str)


def parameters(text: str) -> Iterator[int]:
    """Yield the number of parameters of each function, without self and cls."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, _FUNCTIONS):
            every = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
            yield sum(argument.arg not in ("self", "cls") for argument in every)


def lines_with_any(text: str) -> int:
    """Lines with the word Any."""
    return sum("Any" in words_of(line) for line in text.splitlines() if "Any" in line)


def texts(folder: Path, *, without: str = "") -> Iterator[str]:
    for path in sorted(folder.rglob("*.py")):
        if not without or without not in path.relative_to(folder).parts:
            yield path.read_text()


def main() -> None:
    for name, travel in (
        ("Produce, acks=all", journey_of_a_produce),
        ("JoinGroup of one member", journey_of_a_join),
        ("one topic setting changed", journey_of_a_setting),
    ):
        journey = trio.run(travel, clock=MockClock(autojump_threshold=0))
        steps = f"{len(journey.calls)} calls; {len(journey.files)} files; {journey.entries} entries"
        print(f"{name}: {steps}")
    core = list(texts(CORE))
    handlers = {path: (APIS / path).read_text() for path in ("k00_produce.py", "k01_fetch.py")}
    for name, count in {
        "code lines of trio_kafka without the test kit": sum(
            map(code_lines, texts(CORE, without="testing"))
        ),
        **{f"lines of {path}": len(text.splitlines()) for path, text in handlers.items()},
        "names in plugin.py": len(plugin.__all__),
        "lines with Any in trio_kafka": sum(map(lines_with_any, core)),
        f"functions with more than {MOST_PARAMETERS} parameters": sum(
            count > MOST_PARAMETERS for text in core for count in parameters(text)
        ),
        "terms of the glossary": len(glossary_names()),
    }.items():
        print(f"{name}: {count}")


def words_of(line: str) -> list[str]:
    """Return the words of a line of code."""
    return "".join(char if char.isalnum() or char == "_" else " " for char in line).split()


if __name__ == "__main__":
    main()
