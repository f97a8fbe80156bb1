"""docs/tutorial/first-api.md, block by block: what it says to write is written, what it says to run
is run.
"""

import os
import re
import subprocess
import sys
import tomllib
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.plugin_host.packages import write
from tests.project.tree import ROOT
from trio_kafka.testing.processes import BrokerProcess, broker_process

PAGE = ROOT / "docs" / "tutorial" / "first-api.md"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
ADDRESS = "127.0.0.1:19092"


class Reader:
    """Who follows the page in a directory of their own."""

    def __init__(self, place: Path, stack: ExitStack) -> None:
        self.place = place
        self.printed: list[str] = []
        self._stack = stack
        self._broker: BrokerProcess | None = None
        programs = Path(sys.executable).parent
        self._variables = {
            **os.environ,
            "PATH": f"{programs}:{os.environ['PATH']}",
            "PYTHONPATH": f"{place / 'dice'}:{ROOT}:{ROOT / 'plugins'}",
        }

    def write(self, text: str) -> None:
        """A block whose first line names its file."""
        name, _, rest = text.partition("\n")
        (self.place / name.removeprefix("# ")).write_text(rest)

    def run(self, command: str) -> None:
        if command.startswith(("python3.11 -m venv", ". rolls/", 'pip install "./trio-kafka')):
            return  # the environment of these tests stands for it
        if command.startswith("pip install"):
            self._install()
        elif " start " in command:
            address, setting = command.split(" -c ")[1:]
            assert address == f"listeners=PLAINTEXT://{ADDRESS}"
            self._start(setting)
        else:
            self._call(command)

    def _install(self) -> None:
        """As `pip install -e` leaves it: in the path, its entry points known."""
        project = tomllib.loads((self.place / "dice" / "pyproject.toml").read_text())["project"]
        write(self.place / "dice", "dice", {}, project["entry-points"]["trio_kafka.plugins"])

    def _start(self, setting: str) -> None:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("PYTHONPATH", self._variables["PYTHONPATH"])
            self._broker = self._stack.enter_context(broker_process(self.place, setting))

    def _call(self, command: str) -> None:
        if self._broker is not None:
            command = command.replace(ADDRESS, ":".join(map(str, self._broker.address)))
        done = subprocess.run(
            ["bash", "-ec", command],
            cwd=self.place,
            env=self._variables,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
        self.printed.append(done.stdout)


@pytest.mark.slow
def test_the_page_works_from_its_first_line_to_its_last(tmp_path: Path) -> None:
    with ExitStack() as stack:
        reader = Reader(tmp_path, stack)
        for language, text in BLOCK.findall(PAGE.read_text()):
            if language == "python":
                reader.write(text)
            elif language == "sh":
                for command in text.splitlines():
                    reader.run(command)
            else:
                assert text in (tmp_path / "dice" / "pyproject.toml").read_text()

    assert "3 passed" in reader.printed[1]
    assert "3 passed" in reader.printed[2]
    assert "api:Roll(10150)" in reader.printed[4]
    assert re.fullmatch(r"rolled( \d+){3}\n", reader.printed[5])
    assert reader.printed[-1] == "rolled 20 20 20\n"
    assert "It prints `rolled 20 20 20`" in PAGE.read_text()
