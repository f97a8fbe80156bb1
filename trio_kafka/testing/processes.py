"""Brokers as separate processes, for tests with real clients and for measurements.

Calls block, as those of the clients do. A process is a child, identified by its id, and ends with
its block; its output stays in a file. It is ready when it has answered ApiVersions, not when its
port is open.
"""

import os
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from trio_kafka.attributes import frozen
from trio_kafka.testing.ports import LOOPBACK, unused_port
from trio_kafka.world.machine_time import elapsed

Address = tuple[str, int]
# From (port, data directory, settings as NAME=VALUE) to the command line.
Command = Callable[[int, Path, Sequence[str]], list[str]]

_API_VERSIONS_V0: Final = struct.pack(">ihhih", 10, 18, 0, 1, -1)
_RETRY_S: Final = 0.01


class ProcessError(Exception):
    """Process that ended too early, or did not answer or stop in time; includes its last output."""


def trio_kafka_command(port: int, data: Path, settings: Sequence[str]) -> list[str]:
    """Return the command of this interpreter's trio-kafka, which formats an empty data
    directory.
    """
    named = [f"listeners=PLAINTEXT://{LOOPBACK}:{port}", f"log.dirs={data}", *settings]
    options = [word for setting in named for word in ("-c", setting)]
    return [sys.executable, "-m", "trio_kafka", "start", *options, "--format-if-empty"]


def ask_api_versions(address: Address, timeout_s: float = 5.0) -> dict[int, tuple[int, int]]:
    """Return versions by API key, through ApiVersions 0. OSError; ValueError for an
    error response.
    """
    with socket.create_connection(address, timeout_s) as connection:
        connection.sendall(_API_VERSIONS_V0)
        with connection.makefile("rb") as answers:
            head = answers.read(4)
            body = answers.read(struct.unpack(">i", head)[0]) if len(head) == 4 else b""
    if len(body) < 10:
        raise ConnectionError(f"ApiVersions: {len(body)} bytes, want at least 10")
    _, error, count = struct.unpack_from(">ihi", body)
    if error:
        raise ValueError(f"ApiVersions: error {error}")
    return {
        key: (first, last)
        for key, first, last in struct.iter_unpack(">hhh", body[10:][: 6 * count])
    }


@frozen(kw_only=True)
class BrokerProcess:
    """Serving broker process."""

    process: subprocess.Popen[bytes]
    address: Address
    data: Path
    log: Path
    start_s: float

    @property
    def bootstrap(self) -> str:
        return f"{self.address[0]}:{self.address[1]}"

    def stop(self, timeout_s: float = 30.0) -> int:
        """Send SIGTERM and return the exit status. On timeout SIGKILL and ProcessError.
        Idempotent.
        """
        return _stop(self.process, self.log, timeout_s)


@contextmanager
def broker_process(
    directory: Path,
    *settings: str,
    command: Command = trio_kafka_command,
    port: int | None = None,
    start_timeout_s: float = 60.0,
    stop_timeout_s: float = 30.0,
) -> Iterator[BrokerProcess]:
    """Run a broker on loopback for the duration of the block, with its data in `directory`/data.

    settings: NAME=VALUE, after the address and the data directory. An existing data directory is
    used again.
    port: for a broker that restarts on the address its clients know; None: an unused one.
    """
    directory = directory.resolve()
    port = unused_port() if port is None else port
    data, log = directory / "data", directory / "broker.log"
    data.mkdir(parents=True, exist_ok=True)
    began = elapsed()
    with child_process(command(port, data, settings), log, stop_timeout_s) as process:
        wait_until_serving((LOOPBACK, port), process, log, timeout_s=start_timeout_s)
        yield BrokerProcess(
            process=process,
            address=(LOOPBACK, port),
            data=data,
            log=log,
            start_s=elapsed() - began,
        )


@contextmanager
def child_process(
    command: Sequence[str], log: Path, stop_timeout_s: float = 30.0
) -> Iterator[subprocess.Popen[bytes]]:
    """Run a child for the duration of the block; its output is appended to `log`.

    It runs in the directory of `log`, so that it finds no modules in the parent's directory. It has
    its own session, so that Ctrl-C ends the block, which stops the child in order. It may write
    bytecode, because otherwise each start would compile all imports.
    """
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    with log.open("ab") as output:
        process = subprocess.Popen(
            command,
            cwd=log.parent,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        yield process
    finally:
        _stop(process, log, stop_timeout_s)


def wait_until_serving(
    address: Address, process: subprocess.Popen[bytes], log: Path, *, timeout_s: float
) -> None:
    """Wait for the first answer. ProcessError if the process ends or the time expires before."""
    deadline = elapsed() + timeout_s
    while True:
        remaining = deadline - elapsed()
        if process.poll() is not None:
            raise ProcessError(_report(f"ended with status {process.returncode}", process, log))
        if remaining <= 0:
            raise ProcessError(_report(f"did not answer within {timeout_s:g} s", process, log))
        try:
            ask_api_versions(address, timeout_s=remaining)
        except OSError:
            time.sleep(_RETRY_S)  # a parent is not notified when a port opens
        else:
            return


def _stop(process: subprocess.Popen[bytes], log: Path, timeout_s: float) -> int:
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            # Kill its process group, which has its id; the id stays ours until `wait`.
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            raise ProcessError(_report(f"did not stop in {timeout_s:g} s", process, log)) from None
    return process.returncode


def _report(problem: str, process: subprocess.Popen[bytes], log: Path) -> str:
    last = log.read_text(errors="replace").splitlines()[-20:]
    return "\n".join([f"{process.args!r}: {problem}; its last output:", *last])
