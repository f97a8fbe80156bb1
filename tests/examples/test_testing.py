"""The projects of `examples/testing`: their tests pass, each in an environment of its own."""

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.project.tree import ROOT

RECIPES = ROOT / "examples" / "testing"
SEPARATE = "pyspark"  # tests/trio_kafka_spark/test_recipe.py
SHORT = "aiokafka"
PROJECTS = sorted(path.parent.name for path in RECIPES.glob("*/pyproject.toml"))

# Installs from the index, if the packages are not in uv's cache.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


def run(*command: str | Path, cwd: Path) -> str:
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def requirements(name: str, wheel: Path) -> list[str]:
    """Requirements of a project and its group `test`, with this wheel."""
    project = tomllib.loads((RECIPES / name / "pyproject.toml").read_text())
    expected = [*project["project"]["dependencies"], *project["dependency-groups"]["test"]]
    return [
        f"{requirement} @ {wheel.as_uri()}" if requirement.startswith("trio-kafka") else requirement
        for requirement in expected
    ]


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[] if name == SHORT else [pytest.mark.long])
        for name in PROJECTS
        if name != SEPARATE
    ],
)
def test_the_tests_of_a_recipe_pass_in_its_own_environment(
    wheel: Path, tmp_path: Path, name: str
) -> None:
    uv = (sys.executable, "-m", "uv")
    run(*uv, "venv", "--python", sys.executable, tmp_path / "venv", cwd=tmp_path)
    python = tmp_path / "venv" / "bin" / "python"
    locked = ("--constraints", ROOT / "requirements" / "recipes.txt")
    run(
        *uv, "pip", "install", "--python", python, *locked, *requirements(name, wheel), cwd=tmp_path
    )
    project = tmp_path / "project"
    shutil.copytree(RECIPES / name, project, ignore=shutil.ignore_patterns("__pycache__"))

    printed = run(python, "-m", "pytest", "-q", "-p", "no:cacheprovider", cwd=project)

    assert "passed" in printed
    assert "skipped" not in printed


@pytest.mark.parametrize("name", PROJECTS)
def test_the_readme_of_a_recipe_contains_the_commands_to_run_its_tests(name: str) -> None:
    readme = (RECIPES / name / "README.md").read_text()

    assert re.search(r'^    pip install .*"../../..\[(spark,)?testing\]"$', readme, re.MULTILINE)
    assert "    pytest\n" in readme
    for path in (RECIPES / name).glob("*.py"):
        assert f"`{path.name}`" in readme
