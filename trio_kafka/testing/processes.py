"""Brokers as processes of their own, for tests with real clients and for measurements.

Blocking, as the clients are. A process is a child, is known by its id and is gone when its block
ends; what it printed stays in a file. It is ready when it has answered ApiVersions, not when its
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

Address = tuple[str, int]
# From (port, data directory, settings as NAME=VALUE) to what is executed.
Command = Callable[[int, Path, Sequence[str]], list[str]]

LOOPBACK: Final = "127.0.0.1"
_API_VERSIONS_V0: Final = struct.pack(">ihhih", 10, 18, 0, 1, -1)
_RETRY_S: Final = 0.01


class ProcessError(Exception):
    """A process ended too early, or did not answer or stop in time; says what it printed last."""


def unused_port() -> int:
    """A port that was free a moment ago, chosen by the kernel: for servers that must be told."""
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        return int(probe.getsockname()[1])


def trio_kafka_command(port: int, data: Path, settings: Sequence[str]) -> list[str]:
    """This interpreter's trio-kafka, which formats an empty data directory."""
    named = [f"listeners=PLAINTEXT://{LOOPBACK}:{port}", f"log.dirs={data}", *settings]
    options = [word for setting in named for word in ("-c", setting)]
    return [sys.executable, "-m", "trio_kafka", "start", *options, "--format-if-empty"]


def ask_api_versions(address: Address, timeout_s: float = 5.0) -> dict[int, tuple[int, int]]:
    """Versions of each API key, by ApiVersions 0. OSError; ValueError: the answer is an error."""
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
    """A broker that answers."""

    process: subprocess.Popen[bytes]
    address: Address
    data: Path
    log: Path
    start_s: float

    @property
    def bootstrap(self) -> str:
        return f"{self.address[0]}:{self.address[1]}"

    def stop(self, timeout_s: float = 30.0) -> int:
        """SIGTERM, and the exit status. SIGKILL and ProcessError when time is up. Idempotent."""
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
    """A broker on loopback that keeps its data in `directory`/data, until the block ends.

    settings: NAME=VALUE, after the address and the data directory. A data directory that is
        there already is used again.
    port: for one that lives again where its clients look for it; else one that is unused.
    """
    directory = directory.resolve()
    port = unused_port() if port is None else port
    data, log = directory / "data", directory / "broker.log"
    data.mkdir(parents=True, exist_ok=True)
    began = time.perf_counter()
    with child_process(command(port, data, settings), log, stop_timeout_s) as process:
        wait_until_serving((LOOPBACK, port), process, log, start_timeout_s)
        yield BrokerProcess(
            process=process,
            address=(LOOPBACK, port),
            data=data,
            log=log,
            start_s=time.perf_counter() - began,
        )


@contextmanager
def child_process(
    command: Sequence[str], log: Path, stop_timeout_s: float = 30.0
) -> Iterator[subprocess.Popen[bytes]]:
    """A child until the block ends; what it prints is added to `log`, in whose directory it runs.

    So no child finds modules in the directory that its parent happens to be in. It has a session
    of its own: Ctrl-C ends the block, which stops it in order. It may keep bytecode: without, each
    start compiles all that it imports.
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
    address: Address, process: subprocess.Popen[bytes], log: Path, timeout_s: float
) -> None:
    """Return with the first answer. ProcessError if the process ends before, or the time does."""
    deadline = time.monotonic() + timeout_s
    while True:
        left = deadline - time.monotonic()
        if process.poll() is not None:
            raise ProcessError(_report(f"ended with status {process.returncode}", process, log))
        if left <= 0:
            raise ProcessError(_report(f"no answer in {timeout_s:g} s", process, log))
        try:
            ask_api_versions(address, timeout_s=left)
        except OSError:
            time.sleep(_RETRY_S)  # nothing tells a parent when a port opens
        else:
            return


def _stop(process: subprocess.Popen[bytes], log: Path, timeout_s: float) -> int:
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            # With all it started: its group has its id, which is ours until it is waited for.
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            raise ProcessError(_report(f"did not stop in {timeout_s:g} s", process, log)) from None
    return process.returncode


def _report(what: str, process: subprocess.Popen[bytes], log: Path) -> str:
    last = log.read_text(errors="replace").splitlines()[-20:]
    return "\n".join([f"{process.args!r}: {what}; it printed last:", *last])
