"""Modules and paths that CONTRIBUTING.md and the pages of docs name exist."""

import re
import tomllib
from importlib.util import find_spec

import pytest

from tests.project.tree import ROOT, tracked_files

CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text()
PAGES = [
    path
    for path in tracked_files()
    if path.suffix == ".md" and path.parts[0] in ("README.md", "CONTRIBUTING.md", "docs")
]
RUN = re.compile(r"python -m ([\w.]+)")
MODULES = sorted({name for page in PAGES for name in RUN.findall((ROOT / page).read_text())})
ROOTS = ("trio_kafka", "plugins", "admin_ui", "tests", "examples", "docs")
PATH = re.compile(rf"`((?:{'|'.join(ROOTS)})/[\w./-]*)`")


@pytest.mark.parametrize("name", [module for module in MODULES if module not in ("venv", "pip")])
def test_every_module_that_a_page_runs_exists(name: str) -> None:
    assert find_spec(name) is not None


def test_every_path_named_in_contributing_exists() -> None:
    # `kNN_name.py` and `a/b.py` stand for any of their kind.
    paths = {path for path in PATH.findall(CONTRIBUTING) if not re.search(r"kNN|/a/", path)}

    assert len(paths) > 10
    assert [path for path in sorted(paths) if not (ROOT / path).exists()] == []


def test_ci_runs_every_python_version_that_the_project_declares() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    declared = re.findall(r"Python :: (3\.\d+)", "\n".join(project["classifiers"]))
    [line] = re.findall(
        r"^VERSIONS=\((.*)\)$", (ROOT / ".ci" / "pythons").read_text(), re.MULTILINE
    )

    assert set(declared) <= {"3.11", *line.split()}
    assert ".ci/pythons ||" in (ROOT / ".ci" / "run").read_text()
