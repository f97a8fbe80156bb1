"""Programs with Spark in process groups of their own, which a test may kill."""

import os
import signal
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def process_group(log: Path, command: Sequence[str]) -> Iterator[subprocess.Popen[str]]:
    """Run a program as the leader of its process group; all of it is gone at the end.

    log: takes its standard error; its directory is the working directory.
    """
    with log.open("ab") as errors:
        process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            start_new_session=True,
            cwd=log.parent,
        )
    try:
        yield process
    finally:
        kill_group(process)
        assert process.stdout is not None
        process.stdout.close()


def kill_group(process: subprocess.Popen[str]) -> None:
    """SIGKILL for the driver and its JVM; their id is ours until the driver is waited for."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def has_ended(process: subprocess.Popen[str]) -> bool:
    return process.poll() is not None
