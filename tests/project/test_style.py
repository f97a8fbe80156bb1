"""docs/style.md describes the tree as it is: its layers, its packages."""

import re
import tomllib

from tests.project.tree import ROOT, modules

PAGE = (ROOT / "docs" / "style.md").read_text()
LINTED = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]


def test_style_page_shows_the_layers_that_import_linter_checks() -> None:
    [layers] = [row["layers"] for row in LINTED if row["id"] == "layers"]
    there = {path.stem for path in (ROOT / "trio_kafka").iterdir() if path.name != "__pycache__"}
    checked = [sorted(set(re.findall(r"\w+", line)) & there) for line in layers]
    [shown] = re.findall(r"^```\n(testing ▸.*?)```$", PAGE, re.MULTILINE | re.DOTALL)

    assert [sorted(re.findall(r"\w+", line)) for line in shown.split("▸")] == [
        line for line in checked if line
    ]


def test_tree_on_the_style_page_shows_every_package() -> None:
    [tree] = re.findall(r"^```\n(pyproject\.toml.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    shown = set(re.findall(r"^  (\w+)(?:/|\.py)", tree, re.MULTILINE))
    there = {
        module.parts[1].removesuffix(".py")
        for module in modules()
        if module.parts[0] in ("trio_kafka", "plugins") and not module.name.startswith("__")
    }

    assert {name for name in there if not name.startswith("pyspark")} - shown == set()
    assert shown - there == {"pyspark_trio_kafka"} & shown
