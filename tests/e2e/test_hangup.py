"""A broker in the foreground of a terminal that closes."""

import os
import pty
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from trio_kafka.testing.processes import trio_kafka_command


@pytest.fixture(autouse=True)
def hangup_is_not_ignored() -> Iterator[None]:
    """Have the usual SIGHUP, also where the whole suite runs under `nohup`."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


@pytest.mark.slow
@pytest.mark.timeout(60)
def test_broker_shuts_down_cleanly_when_its_terminal_closes(tmp_path: Path) -> None:
    command = trio_kafka_command(0, tmp_path / "data", ["plugin.http.listeners="])
    process, terminal = pty.fork()
    if not process:
        os.execv(command[0], command)
    shown = b""
    while b"broker started" not in shown:
        shown += os.read(terminal, 4096)

    os.close(terminal)
    _, status = os.waitpid(process, 0)

    assert os.waitstatus_to_exitcode(status) == 0
    assert (tmp_path / "data" / ".kafka_cleanshutdown").exists()
