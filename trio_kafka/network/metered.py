"""Framers with a memory pool: the size of a frame is read first, the rest when there is memory.

The key of a large frame is read with its size, as it decides whether the frame is accepted. Nothing
is read ahead, so a connection that waits for memory owns four bytes; a request costs one system
call more than without a pool. Small frames get buffers of their own size, so the pool counts what
is used. Source: NetworkReceive of Apache Kafka 4.4.0.
"""

import struct
from collections.abc import Callable
from functools import partial
from typing import Final

from trio_kafka.network.memory import MemoryPool
from trio_kafka.wire.frame import SMALL, Buffers, Frame, FrameLimits, Framer

_SIZE: Final = struct.Struct(">i").unpack_from
_HEAD: Final = 4
_LARGE_HEAD: Final = 8  # with key and version, of a frame that may be too large for its API


class MemoryFullError(Exception):
    """The pool has no memory for a frame now."""

    def __init__(self, framer: "MeteredFramer") -> None:
        super().__init__()
        self._framer = framer

    def wait(self, granted: Callable[[], None]) -> None:
        """Call `granted` when the frame has its memory, unless it is dropped before."""
        self._framer.wait(granted)


class MeteredFramer(Framer):
    """Framer whose `room` raises MemoryFullError if the pool is empty."""

    __slots__ = ("_got", "_head", "_in_flight", "_pool", "_size", "_taken", "_waits")

    def __init__(self, pool: MemoryPool, buffers: Buffers, largest: FrameLimits | int) -> None:
        super().__init__(buffers, largest)
        self._pool = pool
        self._head = memoryview(bytearray(_HEAD))
        self._got = 0  # bytes of the head
        self._size = 0
        self._taken = 0  # from the pool
        self._waits = False
        self._in_flight = False

    def room(self) -> memoryview:
        head = len(self._head)
        if self._got < head:
            return self._head[self._got :]
        body = self.buffer
        if body is None or body is self._head:
            if not self._taken:
                if not self._pool.take(self._size):
                    raise MemoryFullError(self)
                self._taken = self._size
            body = self.buffer = self._take()
            self._end = head - _HEAD
            if self._end:
                body[: self._end] = self._head[_HEAD:]
        return body[self._end : self._size]

    def received(self, n: int) -> Frame | None:
        if self._got == len(self._head):
            self._end += n
        elif n:
            self._got += n
            self.buffer = self._head
            if self._got == _HEAD:
                (self._size,) = _SIZE(self._head)
                if self._size > self._sure:
                    head = bytes(self._head).ljust(_LARGE_HEAD, b"\0")
                    self.buffer = self._head = memoryview(bytearray(head))
        body = self.buffer
        if self._got < _HEAD or body is None:
            return None
        size = self._size
        if body is self._head:
            self._largest.check(size, body[_HEAD : self._got])
        if self._end < size:
            return None
        self._in_flight = True
        return body[:size]

    def done(self) -> None:
        if self._in_flight:
            self.drop()

    def rest(self) -> None:
        """Do nothing: no buffer is kept without a frame."""

    def drop(self) -> None:
        body, self.buffer = self.buffer, None
        if body is not None and body is not self._head and self._size > SMALL:
            self._buffers.give(body)
        taken, self._taken = self._taken, 0
        self._got = self._end = self._size = 0
        self._head = self._head[:_HEAD]
        self._in_flight = False
        if self._waits:
            self._waits = False
            self._pool.forget(self)
        if taken:
            self._pool.give(taken)

    @property
    def pending(self) -> bool:
        return self._got > 0

    # --- for the pool

    @property
    def needed_bytes(self) -> int:
        return self._size

    def wait(self, granted: Callable[[], None]) -> None:
        """See MemoryFullError."""
        self._waits = True
        self._pool.wait(self, granted)

    def granted(self) -> None:
        self._waits = False
        self._taken = self._size

    def _take(self) -> memoryview:
        if self._size <= SMALL:
            return memoryview(bytearray(self._size))
        return self._buffers.take(self._size)


def framers(
    pool: MemoryPool | None, buffers: Buffers, largest: FrameLimits | int
) -> Callable[[], Framer]:
    """Return a factory of framers for connections, metered if there is a pool."""
    if pool is None:
        return partial(Framer, buffers, largest)
    return partial(MeteredFramer, pool, buffers, largest)
