"""Standard input and output of commands that run in Trio's loop: waits happen in threads.

A blocked pipe must not stop heartbeats, and Ctrl-C must end a wait for a terminal. A file of a disk
is written without a thread, which would cost more than the write.
"""

import os
import stat
import sys
from collections.abc import Callable
from typing import BinaryIO, Final

import trio
from attrs import field

from trio_kafka.attributes import define
from trio_kafka.cli.records.escapes import show_bytes

CHUNK: Final = 1 << 18


def _is_terminal() -> bool:
    return sys.stdout.isatty()


@define(eq=False)
class Output:
    """Bytes for standard output, written in chunks. Raises BrokenPipeError.

    For a terminal, what is no text is escaped: it could command the terminal.
    """

    stream: BinaryIO = field(factory=lambda: sys.stdout.buffer)
    is_terminal: bool = field(factory=_is_terminal)
    _is_file: bool = field(init=False)
    _parts: list[bytes | memoryview] = field(factory=list, init=False)
    _size: int = field(default=0, init=False)

    def __attrs_post_init__(self) -> None:
        try:
            self._is_file = stat.S_ISREG(os.fstat(self.stream.fileno()).st_mode)
        except OSError:  # replaced by a stream in memory
            self._is_file = False

    def add(self, data: bytes | memoryview) -> None:
        """Keep bytes for the next `flush`."""
        self._parts.append(data)
        self._size += len(data)

    @property
    def is_due(self) -> bool:
        """True if there is enough to write."""
        return self._size >= CHUNK

    async def flush(self) -> None:
        """Write what was added."""
        data = b"".join(self._parts)
        self._parts.clear()
        self._size = 0
        if self.is_terminal:
            data = show_bytes(data).encode()
        if self._is_file:
            self._write(data)
            await trio.lowlevel.checkpoint()
        elif data:
            await trio.to_thread.run_sync(self._write, data, abandon_on_cancel=True)

    def _write(self, data: bytes) -> None:
        self.stream.write(data)
        self.stream.flush()


async def read_some(read: Callable[[int], bytes]) -> bytes:
    """Return the next bytes of a file or a pipe, as many as there are; empty at the end."""
    return await trio.to_thread.run_sync(read, CHUNK, abandon_on_cancel=True)
