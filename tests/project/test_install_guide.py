"""docs/how-to/install.md: its commands install a package that works, and no page says otherwise.

So does the command of docs/how-to/test-your-application.md.
"""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.project.shell_pages import shell_blocks
from tests.project.tree import ROOT, tracked_files

GUIDE = (ROOT / "docs" / "how-to" / "install.md").read_text()
TESTING = ROOT / "docs" / "how-to" / "test-your-application.md"
# The second page's one command runs in the environment of the first one's.
BLOCKS = [*shell_blocks(ROOT / "docs" / "how-to" / "install.md"), *shell_blocks(TESTING)]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
# `pip install trio-kafka`, with extras or without: no index has that name.
BY_NAME = re.compile(r"install [^\n`]*(?<![\w./-])trio-kafka(?=\[|[\"'`]|$)")


def clone(directory: Path) -> None:
    """Copy what git knows of the project to `directory`."""
    for name in tracked_files():
        place = directory / name
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, place)


@pytest.mark.long  # builds wheels, and installs from the index; test_wheel.py installs the wheel
@pytest.mark.slow
@pytest.mark.timeout(300)
def test_commands_of_the_install_guide_install_a_working_package(tmp_path: Path) -> None:
    clone(tmp_path / "trio-kafka")
    programs = Path(sys.executable).parent
    alone = {name: text for name, text in os.environ.items() if not name.startswith("MAKE")}
    alone["PATH"] = f"{programs}:{os.environ['PATH']}"
    alone["PIP_NO_COMPILE"] = "1"  # what is installed runs for seconds
    script = "\n".join(["set -e", *BLOCKS, "trio-kafka version", "pip list --format=freeze"])

    done = subprocess.run(
        ["bash", "-c", script],
        cwd=tmp_path,
        env=alone,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stdout + done.stderr
    version = re.escape(f"trio-kafka {PROJECT['version']}")
    assert len(re.findall(rf"^{version}", done.stdout, re.MULTILINE)) == 2
    assert re.search(r"^pytest==", done.stdout, re.MULTILINE)
    assert re.search(r"^confluent-kafka==", done.stdout, re.MULTILINE)


def test_no_page_or_message_says_to_install_trio_kafka_from_an_index() -> None:
    readers = [
        path
        for path in tracked_files()
        if path.suffix in (".md", ".py", ".toml", ".yml") and path.parts[0] != "tests"
    ]
    wrong = [
        f"{path}:{number}"
        for path in readers
        for number, line in enumerate((ROOT / path).read_text().splitlines(), 1)
        if BY_NAME.search(line) and path.name != "install_hint.py"
    ]

    assert wrong == []


def test_install_guide_has_a_row_for_every_extra() -> None:
    rows = re.findall(r"^\| `(\w+)` \|", GUIDE, re.MULTILINE)

    assert sorted(rows) == sorted(PROJECT["optional-dependencies"])


def test_wheel_named_in_the_guides_has_the_version_of_the_project() -> None:
    recipe = TESTING.read_text()
    wheel = f"trio_kafka-{PROJECT['version']}-py3-none-any.whl[testing]"

    assert f"/{wheel}" in GUIDE
    assert f"./wheels/{wheel}" in recipe


def test_install_guide_names_exactly_the_declared_python_versions() -> None:
    declared = [
        text.rpartition(" ")[2]
        for text in PROJECT["classifiers"]
        if re.fullmatch(r"Programming Language :: Python :: 3\.\d+", text)
    ]

    assert f"Python {', '.join(declared[:-1])} or {declared[-1]}." in GUIDE
    assert PROJECT["requires-python"] == f">={declared[0]}"
