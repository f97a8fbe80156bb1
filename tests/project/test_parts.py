"""docs/design/parts.md is the contract between the packages: what it names is there."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.project.tree import ROOT, modules

PAGE = (ROOT / "docs" / "design" / "parts.md").read_text()


def names_in(source: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Name | ast.arg):
            yield node.id if isinstance(node, ast.Name) else node.arg
        elif isinstance(node, ast.Attribute):
            yield node.attr


CODE = {
    name
    for module in modules()
    if module.parts[0] in ("trio_kafka", "admin_ui")
    for name in names_in((ROOT / module).read_text())
}


def called() -> set[str]:
    """What the page shows with arguments: `name(`, `@name(`."""
    return set(re.findall(r"\b([A-Za-z_]\w+)\(", PAGE))


def test_what_the_page_calls_is_defined_somewhere() -> None:
    assert called() - CODE == set()


@pytest.mark.parametrize("name", sorted(set(re.findall(r"`(trio_kafka(?:\.\w+)+)`", PAGE))))
def test_a_full_name_of_the_page_is_a_module_or_stands_in_one(name: str) -> None:
    path = ROOT.joinpath(*name.replace("kNN_name", "k00_produce").split("."))
    if not is_module(path):
        path, inside = path.parent, path.name
        assert inside in CODE

    assert is_module(path)


def is_module(path: Path) -> bool:
    return path.is_dir() or path.with_suffix(".py").is_file()
