"""Large buffers outside of the allocator's arenas: their memory goes back when they are done with.

A freed `bytearray` may stay with its thread's arena, and an error may keep it alive. Pages of a
mapping can be given back in either case.
"""

import mmap
import time
from typing import Final

_PIECE: Final = 4 << 20  # 0.4 ms, in which the call keeps the interpreter's lock


def new_buffer(size: int) -> memoryview:
    """See `World.buffer`."""
    if not size:
        return memoryview(bytearray())
    return memoryview(mmap.mmap(-1, size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS))


def discard(buffer: memoryview) -> None:
    """See `World.discard`."""
    mapped = buffer.obj
    if not len(buffer):
        return
    if not isinstance(mapped, mmap.mmap):
        raise TypeError(f"{type(mapped)}, want a buffer of this world")
    for at in range(0, len(mapped), _PIECE):
        mapped.madvise(mmap.MADV_DONTNEED, at, min(_PIECE, len(mapped) - at))
        time.sleep(0)  # lets the loop have the lock
