"""The live screen in a terminal (tmux): what it shows, what keys do, and how it ends."""

import shlex
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.installed import need_or_skip
from trio_kafka.testing.kafka.threaded import running_broker

pytestmark = pytest.mark.slow

WITHIN_S = 20.0


class Terminal:
    """A terminal of 120 columns and 30 lines that runs one command."""

    def __init__(self, socket: Path) -> None:
        self._socket = socket

    def run(self, *words: str) -> None:
        line = f"trap : INT; {shlex.join(words)}; echo status $?; read wait"
        self._tmux("new-session", "-d", "-x", "120", "-y", "30", "sh", "-c", line)

    def press(self, *keys: str) -> None:
        self._tmux("send-keys", *keys)

    def screen(self) -> str:
        return self._tmux("capture-pane", "-p")

    def wait(self, text: str) -> str:
        """Return the screen once it contains a text."""
        end = time.monotonic() + WITHIN_S
        while text not in (screen := self.screen()):
            assert time.monotonic() < end, f"{text!r} is not on the screen:\n{screen}"
            time.sleep(0.05)
        return screen

    def close(self) -> None:
        self._tmux("kill-server")

    def _tmux(self, *words: str) -> str:
        command = ["tmux", "-S", str(self._socket), "-f", "/dev/null", *words]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    need_or_skip("tmux")
    terminal = Terminal(tmp_path / "tmux")
    try:
        yield terminal
    finally:
        terminal.close()


def test_person_looks_at_tables_filters_pauses_and_ends(terminal: Terminal) -> None:
    with running_broker(
        {"plugin.http.listeners": "http://127.0.0.1:0"}, plugins=None, topics=["orders"]
    ) as broker:
        top = (sys.executable, "-m", "trio_kafka", "top", "--bootstrap", broker.bootstrap)
        terminal.run(*top, "--interval", "0.2")

        screen = terminal.wait("requests a second")
        assert "Listener" in screen
        assert "Answers" in screen
        assert screen.rstrip().endswith("q end")
        terminal.press("4")
        assert "CreateTopics" in terminal.wait("mean ms")
        terminal.press("/", "Meta", "Enter")
        assert "CreateTopics" not in terminal.wait("contains 'Meta'")
        terminal.press("p")
        terminal.wait("paused")
        terminal.press("?")
        terminal.wait("sort by the next column")
        terminal.press("q")
        assert "requests a second" not in terminal.wait("status 0")


def test_broker_that_ends_leaves_one_line_and_status_1(terminal: Terminal) -> None:
    with running_broker(plugins=None, settings={"plugin.http.enabled": "false"}) as broker:
        address = broker.bootstrap
        top = (sys.executable, "-m", "trio_kafka", "top", "--bootstrap", address)
        terminal.run(*top, "--interval", "0.2")
        terminal.wait("serves no admin UI")

    screen = terminal.wait("status 1")
    (line,) = [line for line in screen.splitlines() if line and line != "status 1"]
    assert address in line


def test_interrupt_ends_the_screen_with_status_0(terminal: Terminal) -> None:
    with running_broker() as broker:
        terminal.run(sys.executable, "-m", "trio_kafka", "top", "--bootstrap", broker.bootstrap)
        terminal.wait("1 slowest")
        terminal.press("C-c")
        terminal.wait("status 0")
