"""Files of programs without a loop, such as commands and Spark's workers: read at positions."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

CHUNK: Final = 256 << 10


class FileReader:
    """File that is read at positions. size: when it was opened; it may have grown since.

    chunk: bytes that are read at least, for the reads that follow. inode: tells it from a file that
    took its name.
    """

    def __init__(self, descriptor: int, chunk: int = CHUNK) -> None:
        self._descriptor = descriptor
        self._chunk = chunk
        status = os.fstat(descriptor)
        self.size = status.st_size
        self.inode = status.st_ino
        self._start = 0
        self._window = b""

    def read(self, position: int, size: int) -> memoryview:
        """Return up to `size` bytes, fewer at the end of the file. OSError."""
        size = min(size, self.size - position)
        at = position - self._start
        if at < 0 or at + size > len(self._window):
            self._window, self._start, at = b"", position, 0
            most = min(max(size, self._chunk), self.size - position)
            content = os.pread(self._descriptor, most, position) if most > 0 else b""
            while 0 < len(content) < most:
                rest = os.pread(self._descriptor, most - len(content), position + len(content))
                if not rest:
                    break  # it was truncated
                content += rest
            self._window = content
        return memoryview(self._window)[at : at + size]

    def pieces(self, position: int, end: int) -> Iterator[memoryview]:
        """Yield the bytes up to `end`, piece by piece. OSError."""
        while position < end:
            piece = self.read(position, min(CHUNK, end - position))
            if not piece:
                return
            yield piece
            position += len(piece)


@contextmanager
def open_reader(path: str | Path, chunk: int = CHUNK) -> Iterator[FileReader]:
    """Open a file for reads. OSError."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        yield FileReader(descriptor, chunk)
    finally:
        os.close(descriptor)
