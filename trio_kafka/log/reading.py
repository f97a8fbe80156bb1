"""Reads from files as generators: written once, run without waiting where the bytes are warm, else
in a thread.

A generator yields what it wants and is sent a view of the bytes, valid until it yields again.
`run_warm` raises BlockingIOError as soon as one read would wait; the caller runs a fresh generator
with `run_cold` then.
"""

import errno
from collections.abc import Generator
from typing import Final, NamedTuple, TypeVar

from trio_kafka.world.protocols import File

T = TypeVar("T")

_LARGEST_WARM: Final = 64 * 1024
_SCRATCH: Final = memoryview(bytearray(_LARGEST_WARM))


class Want(NamedTuple):
    """Bytes of a file.

    Up to `size` from `position`, at least `need` unless the file ends before.
    """

    file: File
    position: int
    need: int
    size: int


Steps = Generator[Want, memoryview, T]


def run_warm(steps: Steps[T]) -> T:
    """The result, without waiting for the disk. BlockingIOError: something is cold, or large."""
    try:
        want = next(steps)
        while True:
            file, position, need, size = want
            if need > _LARGEST_WARM:
                raise BlockingIOError(errno.EAGAIN, "a large read")
            view = _SCRATCH[: min(size, _LARGEST_WARM)]
            try:
                found = file.try_read(position, view)
            except OSError as error:
                if error.errno == errno.EOPNOTSUPP:  # tmpfs: nothing is known to be warm
                    raise BlockingIOError(errno.EAGAIN, "cold") from None
                raise
            if (
                found < need and position + found != file.size
            ):  # short is not the end: the rest is cold
                raise BlockingIOError(errno.EAGAIN, "cold")
            want = steps.send(view[:found])
    except StopIteration as stop:
        result: T = stop.value
        return result


async def run_cold(steps: Steps[T]) -> T:
    """The result; waits for the disk where it must."""
    buffer = bytearray()
    try:
        want = next(steps)
        while True:
            file, position, _, size = want
            if len(buffer) < size:
                buffer = bytearray(size)
            view = memoryview(buffer)[:size]
            found = await file.read(position, view)
            want = steps.send(view[:found])
    except StopIteration as stop:
        result: T = stop.value
        return result
