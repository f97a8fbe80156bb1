"""The README does what it says: its blocks are run as they stand, against what `make run` starts.

Only the address is another, where port 9092 is taken, and groups begin sooner.
"""

import os
import re
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import BRIEF_REBALANCE
from tests.installed import need_or_skip
from tests.project.tree import ROOT
from trio_kafka.testing.processes import child_process

pytestmark = pytest.mark.slow

ADDRESS = "127.0.0.1:9092"
TEXT = (ROOT / "README.md").read_text()
FENCED = re.compile(r"^```(\w*)\n(.*?)^```\n", re.DOTALL | re.MULTILINE)
INDENTED = re.compile(r"(?:^    .+\n)+", re.MULTILINE)
PYTHON = [text for language, text in FENCED.findall(TEXT) if language == "python"]
SHELL = [textwrap.dedent(block) for block in INDENTED.findall(FENCED.sub("", TEXT))]
SERVES = re.compile(r"^trio-kafka serves at (\S+),", re.MULTILINE)


def start_command() -> list[str]:
    """Command that `make run` runs in the end, by this interpreter."""
    # Not as a part of the make that runs this test: it would say more.
    alone = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    command = ["make", "--dry-run", "run"]
    planned = subprocess.run(
        command, cwd=ROOT, env=alone, capture_output=True, text=True, check=True
    ).stdout
    program, *arguments = planned.splitlines()[-1].split()
    assert program.endswith("/trio-kafka")
    return [sys.executable, "-m", "trio_kafka", *arguments, "-c", BRIEF_REBALANCE]


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Of a broker as the README starts it; its data is where it is started."""
    directory = tmp_path_factory.mktemp("readme")
    log, end = directory / "broker.log", time.monotonic() + 30
    with child_process(start_command(), log) as process:
        while (match := SERVES.search(log.read_text())) is None:
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < end, log.read_text()
            time.sleep(0.02)  # another process writes it
        assert (directory / "data" / "meta.properties").exists()
        yield match[1]


def run(command: list[str], where: Path) -> str:
    done = subprocess.run(
        command, cwd=where, capture_output=True, text=True, timeout=50, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_code_block_of_the_readme_is_run_by_a_test() -> None:
    programs = ("kcat", "/trio-kafka ")
    others = [block for block in SHELL if not any(program in block for program in programs)]
    assert [block for block in others if not block.startswith("make ")] == []
    assert [language for language, _ in FENCED.findall(TEXT) if language != "python"] == []
    assert sum("kcat" in block for block in SHELL) == 1
    # The second one is run by tests/trio_kafka_spark/test_readme.py, the third one by
    # tests/project/test_programs_of_pages.py.
    assert ["spark" in block for block in PYTHON] == [False, True, False]
    assert ["def test_" in block for block in PYTHON] == [False, False, True]


def test_every_make_target_in_the_readme_exists_in_the_makefile() -> None:
    named = {*re.findall(r"^make ([a-z]+)", "".join(SHELL), re.MULTILINE)}
    named.update(re.findall(r"`make ([a-z]+)", TEXT))
    makefile = (ROOT / "Makefile").read_text()

    assert {"run", "test"} <= named
    assert [name for name in named if not re.search(rf"^{name}:", makefile, re.MULTILINE)] == []


def test_kcat_example_of_the_readme_writes_and_reads_hello(address: str, tmp_path: Path) -> None:
    need_or_skip("kcat")
    (block,) = [block for block in SHELL if "kcat" in block]

    output = run(["sh", "-e", "-c", block.replace(ADDRESS, address)], tmp_path)

    assert set(output.splitlines()) == {"hello"}


def test_commands_of_the_readme_write_and_read_hello(address: str, tmp_path: Path) -> None:
    (block,) = [block for block in SHELL if "/trio-kafka " in block]
    program = f"{sys.executable} -m trio_kafka"
    environment = f"export TRIO_KAFKA_BOOTSTRAP={address}\n"

    # A topic of its own, as other examples write to that of the README.
    text = block.replace(".venv/bin/trio-kafka", program).replace("greetings", "greetings-2")
    output = run(["sh", "-e", "-c", environment + text], tmp_path)

    assert output == "hello\n"


def test_python_example_of_the_readme_writes_and_reads_hello(address: str, tmp_path: Path) -> None:
    output = run([sys.executable, "-c", PYTHON[0].replace(ADDRESS, address)], tmp_path)

    assert output == "b'hello'\n"
