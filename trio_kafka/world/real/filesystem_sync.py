"""Sync of a whole filesystem: one call instead of one for each file.

A sync of one file waits for the disk, 5 ms, even if nothing is to be written. A broker that stops
has some files for each of its partitions.
Linux reports failed writes to syncfs since 5.8, see syncfs(2). Elsewhere this is not possible.
"""

import ctypes
import os
import sys
from collections.abc import Callable, Sequence
from functools import cache
from typing import Final

_FIRST: Final = (5, 8)


def sync_filesystem(descriptor: int, paths: Sequence[str]) -> bool:
    """Make durable all that was written to the filesystem of an open file. OSError.

    descriptor: opened before the writes, so that none of their failures is missed. paths: of
        directories; False: the system cannot do this, or one of them is on another filesystem.
    """
    syncfs = _syncfs()
    if syncfs is None:
        return False
    device = os.fstat(descriptor).st_dev
    if any(os.stat(path).st_dev != device for path in paths):
        return False
    if syncfs(descriptor):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return True


@cache
def _syncfs() -> Callable[[int], int] | None:
    """Return the system's call; None: there is none that reports errors."""
    if sys.platform != "linux":
        return None
    numbers = os.uname().release.split(".")
    if not all(number.isdecimal() for number in numbers[:2]):
        return None
    if tuple(map(int, numbers[:2])) < _FIRST:
        return None
    syncfs: Callable[[int], int] | None = getattr(ctypes.CDLL(None, use_errno=True), "syncfs", None)
    return syncfs
