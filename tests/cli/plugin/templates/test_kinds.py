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
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "api"])
def test_tests_of_a_new_package_of_each_kind_pass(kind: str, tmp_path: Path) -> None:
    assert main(["plugin", "new", f"my_{kind}", "--kind", kind, "--directory", str(tmp_path)]) == 0

    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": f"{tmp_path}:{ROOT}"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert "passed" in done.stdout


@pytest.mark.parametrize("kind", KINDS)
def test_template_readme_names_every_setting_of_the_plugin(kind: str) -> None:
    files = KINDS[kind].files
    fields = re.findall(r"^    (\w+): \w+ = (?:string|integer)\(", files["MODULE.py"], re.MULTILINE)

    assert [
        name for name in fields if f"@.{name.replace('_', '.')}`" not in files["README.md"]
    ] == []
