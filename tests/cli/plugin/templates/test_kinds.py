"""Templates of new plugins: each kind is complete, and its own tests pass at the first try."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.project.tree import ROOT
from trio_kafka.cli import main
from trio_kafka.cli.plugin.templates.kinds import KINDS

FILES = [(kind, path) for kind, template in KINDS.items() for path in template.files]


@pytest.mark.parametrize(("kind", "path"), FILES)
def test_templates_contain_only_known_placeholders(kind: str, path: str) -> None:
    text = KINDS[kind].files[path]

    assert set(re.findall(r"@([A-Z]+)@", text)) <= {"NAME", "MODULE", "CLASS", "KEY", "PAGE"}


@pytest.mark.parametrize("kind", KINDS)
def test_templates_contain_code_tests_and_documentation(kind: str) -> None:
    files = KINDS[kind].files

    assert {path.rpartition(".")[2] for path in files} == {"py", "md", "toml"}
    assert any(path.startswith("tests/") for path in files)


@pytest.mark.slow
@pytest.mark.timeout(150)
def test_tests_of_a_new_package_of_each_kind_pass(tmp_path: Path) -> None:
    packages = {kind: tmp_path / kind for kind in KINDS if kind != "api"}
    for kind, package in packages.items():
        new = ["plugin", "new", f"my_{kind}", "--kind", kind, "--directory", str(package)]
        assert main(new) == 0

    # One run for all, with the settings of the first: those of the others differ in names only.
    settings = str(next(iter(packages.values())) / "pyproject.toml")
    options = ["-q", "-rA", "-p", "no:cacheprovider", "-c", settings]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, *map(str, packages.values())],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, [*packages.values(), ROOT]))},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )

    assert done.returncode == 0, done.stdout + done.stderr
    for kind in packages:
        assert re.search(rf"PASSED .*test_my_{kind}\.py::", done.stdout), done.stdout


@pytest.mark.parametrize("kind", KINDS)
def test_template_readme_names_every_setting_of_the_plugin(kind: str) -> None:
    files = KINDS[kind].files
    fields = re.findall(r"^    (\w+): \w+ = (?:string|integer)\(", files["MODULE.py"], re.MULTILINE)

    assert [
        name for name in fields if f"@.{name.replace('_', '.')}`" not in files["README.md"]
    ] == []
