"""docs/design/parts.md: every package has its row, and every name on the page exists."""

import ast
import re
from collections.abc import Iterator

from tests.lanes import together
from tests.project.tree import ROOT, modules

PAGE = (ROOT / "docs" / "design" / "parts.md").read_text()
SPANS = re.findall(r"`([^`\n]+)`", PAGE)


def names_in(source: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Name):
            yield node.id


def names_in_code() -> set[str]:
    return {
        name
        for module in modules()
        if module.parts[0] == "trio_kafka"
        for name in names_in((ROOT / module).read_text())
    }


def test_parts_page_has_a_row_for_every_package() -> None:
    core = {
        f"trio_kafka.{module.parts[1].removesuffix('.py')}"
        for module in modules()
        if module.parts[0] == "trio_kafka" and len(module.parts) > 1
    }
    plugins = {module.parts[1] for module in modules() if module.parts[0] == "plugins"}
    first = "\n".join(re.findall(r"^\| (`.*?`) \|", PAGE, re.MULTILINE))
    rows = set(re.findall(r"`([\w.]+)`", first))

    assert core - rows - {"trio_kafka.__init__", "trio_kafka.__main__"} == set()
    assert {name for name in plugins if not name.startswith("pyspark")} - rows == set()


@together(sorted({name for name in SPANS if "trio_kafka." in name}))
def test_every_dotted_name_on_the_parts_page_is_a_module(name: str) -> None:
    path = ROOT.joinpath(*name.split("."))

    assert path.is_dir() or path.with_suffix(".py").is_file()


def test_every_class_named_on_the_parts_page_is_defined() -> None:
    classes = {span for span in SPANS if re.fullmatch("[A-Z]\\w+", span)}

    assert classes - names_in_code() == set()
