"""Frames whose memory comes from a pool: the size is read first, the rest when there is memory.

Nothing is read ahead, so a connection that waits for memory owns four bytes; a request costs one
system call more than without a pool. Small frames have buffers of their own size: what is taken
from the pool is what is used. Source: NetworkReceive of Apache Kafka 4.4.0.
"""

import struct
from collections.abc import Callable
from functools import partial
from typing import Final

from trio_kafka.wire.frame import LEAST, SMALL, Buffers, Frame, Framer, FrameSizeError
from trio_kafka.wire.memory import MemoryPool

_SIZE: Final = struct.Struct(">i").unpack_from
_HEAD: Final = 4


class MemoryFullError(Exception):
    """There is no memory for a frame now."""

    def __init__(self, framer: "MeteredFramer") -> None:
        super().__init__()
        self._framer = framer

    def wait(self, tell: Callable[[], None]) -> None:
        """Call `tell` when the frame has its memory; never, if the framer drops it before."""
        self._framer.wait(tell)


class MeteredFramer(Framer):
    """As `Framer`, but that `room` raises MemoryFullError."""

    __slots__ = ("_got", "_head", "_in_hand", "_pool", "_size", "_taken", "_waits")

    def __init__(self, pool: MemoryPool, buffers: Buffers, largest: int) -> None:
        super().__init__(buffers, largest)
        self._pool = pool
        self._head = memoryview(bytearray(_HEAD))
        self._got = 0  # bytes of the head
        self._size = 0
        self._taken = 0  # from the pool
        self._waits = False
        self._in_hand = False

    def room(self) -> memoryview:
        if self._got < _HEAD:
            return self._head[self._got :]
        body = self.buffer
        if body is None or body is self._head:
            if not self._taken:
                if not self._pool.take(self._size):
                    raise MemoryFullError(self)
                self._taken = self._size
            body = self.buffer = self._take()
        return body[self._end : self._size]

    def received(self, n: int) -> Frame | None:
        if self._got == _HEAD:
            self._end += n
        elif n:
            self._got += n
            self.buffer = self._head
            if self._got == _HEAD:
                (self._size,) = _SIZE(self._head)
        body = self.buffer
        if self._got < _HEAD or body is None:
            return None
        size = self._size
        if not LEAST <= size <= self._largest:
            raise FrameSizeError(f"frame of {size} bytes: want {LEAST} to {self._largest}")
        if self._end < size:
            return None
        self._in_hand = True
        return body[:size]

    def done(self) -> None:
        if self._in_hand:
            self.drop()

    def rest(self) -> None:
        """Nothing is kept that a frame does not need."""

    def drop(self) -> None:
        body, self.buffer = self.buffer, None
        if body is not None and body is not self._head and self._size > SMALL:
            self._buffers.give(body)
        taken, self._taken = self._taken, 0
        self._got = self._end = self._size = 0
        self._in_hand = False
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
    def wanted(self) -> int:
        return self._size

    def wait(self, tell: Callable[[], None]) -> None:
        """See MemoryFullError."""
        self._waits = True
        self._pool.wait(self, tell)

    def granted(self) -> None:
        self._waits = False
        self._taken = self._size

    def _take(self) -> memoryview:
        if self._size <= SMALL:
            return memoryview(bytearray(self._size))
        return self._buffers.take(self._size)


def framers(pool: MemoryPool | None, buffers: Buffers, largest: int) -> Callable[[], Framer]:
    """Makes the framers of connections; without a pool nothing is paid for one."""
    if pool is None:
        return partial(Framer, buffers, largest)
    return partial(MeteredFramer, pool, buffers, largest)
