"""Memory for files, warm.

A virtual machine may give free memory back to its host after a second or two; who uses it next pays
for getting it back, ten times what the write costs (0.2 s/GiB and 2.5 were measured). Brokers would
pay by chance, more than what they are measured for.
"""

import os
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryFile
from typing import Final

_NEARLY: Final = 1.5  # times what it costs to write where memory is there already
_PASSES: Final = 10  # each gets more of it: 3 to 5 were needed


def warm_page_cache(directory: Path, size: int, piece: int) -> bool:
    """Have the kernel take `size` bytes of memory for a file of this directory, and free them,
    until what it takes is warm: who writes within a second gets the same. Whether it came to that.

    piece: bytes of each write, as whoever comes next will write: other sizes take other memory.
    """
    passes = _passes(directory, size, b"\1" * piece)
    return any(took_s < _NEARLY * again_s for took_s, again_s in passes)


def _passes(directory: Path, size: int, piece: bytes) -> Iterator[tuple[float, float]]:
    """CPU seconds of writing a new file, and of writing over it."""
    for _ in range(_PASSES):
        with TemporaryFile(dir=directory, buffering=0) as file:
            took_s = _write(file.fileno(), size, piece)
            again_s = _write(file.fileno(), size, piece)
            os.ftruncate(file.fileno(), 0)  # before any of it goes to the disk
        yield took_s, again_s


def _write(descriptor: int, size: int, piece: bytes) -> float:
    """CPU seconds."""
    began = time.thread_time()
    for offset in range(0, size, len(piece)):
        os.pwrite(descriptor, piece, offset)
    return time.thread_time() - began
