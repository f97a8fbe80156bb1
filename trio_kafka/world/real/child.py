"""Child processes, each below a warden that kills it with all its descendants."""

import contextlib
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from subprocess import PIPE, STDOUT
from typing import Final

import trio
from trio.lowlevel import FdStream

from trio_kafka.world.real import warden

_PIECE: Final = 1 << 16


class RealChild:
    """See `protocols.Child`. pid: of the warden, and of the process group of the command."""

    def __init__(self, process: trio.Process) -> None:
        lifeline, output = process.stdin, process.stdout
        if not isinstance(lifeline, FdStream) or not isinstance(output, FdStream):
            raise TypeError(f"{process!r} without pipes: want stdin and stdout as pipes")
        self.pid = process.pid
        self._process = process
        self._lifeline = lifeline
        self._output = output
        self._is_cut = False

    async def receive(self) -> bytes:
        return bytes(await self._output.receive_some(_PIECE))

    async def wait(self) -> int:
        status = await self._process.wait()
        if status == -signal.SIGKILL and not self._is_cut:
            # The warden itself may have been killed; its group may still run.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.pid, signal.SIGKILL)
        return status

    def terminate(self) -> None:
        self._signal(signal.SIGTERM)

    def kill(self) -> None:
        if self._is_cut:
            self._signal(signal.SIGKILL)
        self._is_cut = True
        self._lifeline.close()

    def close(self) -> None:
        if not self._is_cut:
            self.kill()
        self._output.close()

    def _signal(self, number: int) -> None:
        if self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.pid, number)


def _variables() -> dict[str, str]:
    """Return the environment, with the interpreter's directory first in PATH."""
    path = os.environ.get("PATH", os.defpath)
    return {**os.environ, "PATH": f"{os.path.dirname(sys.executable)}{os.pathsep}{path}"}


async def start_child(
    command: Sequence[str], *, environment: Mapping[str, str], directory: str
) -> RealChild:
    """See `World.start_child`."""
    wrapped = [sys.executable, "-I", "-S", warden.__file__, *command]
    process = await trio.lowlevel.open_process(
        wrapped,
        stdin=PIPE,
        stdout=PIPE,
        stderr=STDOUT,
        cwd=directory,
        env={**_variables(), **environment},
        start_new_session=True,
    )
    return RealChild(process)
