"""Damage that recovery finds in a segment, described before anything is cut.

A power loss leaves a torn tail, or sectors of zeros before a later write that survived. Any other
bytes between whole batches were changed after they had been written.
"""

from collections.abc import Callable
from typing import Final

from trio_kafka.attributes import frozen
from trio_kafka.records.header import LENGTH_END
from trio_kafka.world.protocols import File

_SECTOR: Final = 512
_LOOKED_AT: Final = 1 << 20
_NO_CHANCE: Final = 64  # zeros: more than a batch ends with


@frozen(kw_only=True)
class Damage:
    """Bytes at `position` of a file that are not the batch with `offset`.

    whole_at: position of the next whole batch, None: none in this file.
    lost: the bytes in between look like a torn write, or there are none.
    later: the log has later segments.
    """

    path: str
    position: int
    offset: int
    whole_at: int | None
    lost: bool
    later: bool


# Raises LogDirError if the log must not be cut.
Judge = Callable[[Damage], None]


async def looks_lost(file: File, begin: int, end: int) -> bool:
    """Return whether a power loss may have torn a write from `begin` on. OSError.

    True if the file ends within the batch, or if zeros run up to `end`: from `begin`, from the
        start of a sector, or for long.
    """
    if end == file.size:
        head = bytearray(LENGTH_END)
        if await file.read(begin, head) < LENGTH_END:
            return True
        if begin + LENGTH_END + int.from_bytes(head[8:], "big", signed=True) > end:
            return True
    start = max(begin, end - _LOOKED_AT)
    content = bytearray(end - start)
    length = await file.read(start, content)
    zeros = end - start - len(bytes(content[:length]).rstrip(b"\0"))
    return zeros >= min((end - begin - 1) % _SECTOR + 1, _NO_CHANCE)
