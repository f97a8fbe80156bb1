"""Bytes to frames, and the pool of buffers that frames are received into.

A connection owns a buffer only while it holds bytes. A frame is a view into the buffer, valid until
`done()`: one request of a connection is in hand at a time, so nothing is received behind it and
nothing is copied. Views of a frame must not outlive `done()`: the pool gives the bytes to others.
Only a short frame is copied: that costs less than to keep the buffer for it, and bytes of its own
are read faster than a view. A buffer larger than those kept comes from the allocator, whose pages
cost when they are written: a frame that is only promised costs what was sent of it.
Source: Kafka's wire format: int32 size, then as many bytes.
"""

import struct
from collections import deque
from collections.abc import Callable
from typing import Final

from attrs import field

from trio_kafka.attributes import define, frozen
from trio_kafka.errors import ProtocolError

SMALL: Final = 64 << 10
LARGE: Final = 1 << 20
LEAST: Final = 10  # key, version, correlation id and the length of the client id
SHORT: Final = 1 << 10  # bytes of a frame that is copied out of its buffer
_NAMED: Final = 2  # bytes of a frame that name its API
Frame = memoryview | bytearray
_SIZE: Final = struct.Struct(">i").unpack_from
_KEY: Final = struct.Struct(">h").unpack_from


class FrameSizeError(ProtocolError):
    """A peer promised a frame of a size that is never read."""


@frozen(kw_only=True)
class Largest:
    """The largest frames that are read.

    whole: bytes of any frame. common: bytes of a frame of an API that declares no size of its own.
    declared: from an API key to the size that it declares, or 0.
    """

    whole: int
    common: int
    declared: Callable[[int], int]

    @property
    def sure(self) -> int:
        """A frame up to this size is read whatever its key is."""
        return min(self.whole, self.common)

    def check(self, size: int, frame: memoryview) -> None:
        """Raise FrameSizeError for a frame that is too small or too large.

        frame: what is there of it; without a key only `whole` holds.
        """
        if not LEAST <= size <= self.whole:
            raise FrameSizeError(f"frame of {size} bytes: want {LEAST} to {self.whole}")
        if size > self.common and len(frame) >= _NAMED:
            (key,) = _KEY(frame)
            limit = max(self.common, self.declared(key))
            if size > limit:
                raise FrameSizeError(
                    f"request of {size} bytes with API key {key}: want at most {limit}"
                    " (trio.admin.request.max.bytes)"
                )


def any_up_to(size: int) -> Largest:
    """The same limit for all frames."""
    return Largest(whole=size, common=size, declared=lambda _: 0)


@define(eq=False)
class Buffers:
    """Views of 64 KiB and 1 MiB are kept, last used first; larger ones are the caller's alone."""

    _allocate: Callable[[int], memoryview]
    small: int = 256  # how many are kept at most
    large: int = 16
    fresh: int = 0  # allocations so far
    kept_small: deque[memoryview] = field(init=False)
    _kept_large: list[memoryview] = field(factory=list, init=False)

    @kept_small.default
    def _none_yet(self) -> deque[memoryview]:
        return deque(maxlen=self.small)

    def take(self, size: int) -> memoryview:
        """A view of at least `size` bytes, with anything in it."""
        if size <= SMALL:
            if self.kept_small:
                return self.kept_small.pop()
            size = SMALL
        elif size <= LARGE:
            if self._kept_large:
                return self._kept_large.pop()
            size = LARGE
        self.fresh += 1
        return self._allocate(size)

    def give(self, view: memoryview) -> None:
        """Give back what `take` gave."""
        size = len(view)
        if size == SMALL:
            self.kept_small.append(view)
        elif size == LARGE and len(self._kept_large) < self.large:
            self._kept_large.append(view)

    @property
    def kept(self) -> int:
        """Bytes that wait to be used again."""
        return len(self.kept_small) * SMALL + len(self._kept_large) * LARGE


class Framer:
    """One connection's bytes on their way in; `largest` says which frames are read.

    buffer: what the bytes are in, None where there are none. Bytes are received into the small
    buffer that is used next: it is taken when some of them stay in it.
    """

    __slots__ = (
        "_buffers",
        "_end",
        "_frame",
        "_guess",
        "_largest",
        "_small",
        "_start",
        "_sure",
        "buffer",
    )

    def __init__(self, buffers: Buffers, largest: Largest | int) -> None:
        self._buffers = buffers
        self._small = buffers.kept_small
        self._largest = any_up_to(largest) if isinstance(largest, int) else largest
        self._sure = self._largest.sure
        self.buffer: memoryview | None = None
        self._start = self._end = self._frame = 0
        # A peer that sent a large frame will probably send another of that size.
        self._guess = SMALL

    def room(self) -> memoryview:
        """Where to receive the next bytes; never empty. A large frame is received up to its end and
        no further.

        Call `next` before, which refuses a size that is never read; and `received` with what came
        before anybody else asks for room.
        """
        view = self.buffer
        if view is None:
            guess = self._guess
            if guess == SMALL and self._small:  # nearly always
                return self._small[-1]
            view = self.buffer = self._buffers.take(guess)
            return view if guess == SMALL else view[:guess]
        start, end = self._start, self._end
        need = 4 + _SIZE(view, start)[0] if end - start >= 4 else 4
        if need - 4 > self._sure and end - start < 4 + LEAST:
            need = 4 + LEAST  # first the key: it says whether the rest is ever read
        if start + need > len(view):
            target = view if need <= len(view) else self._buffers.take(need)
            target[: end - start] = view[start:end]
            if target is not view:
                self._buffers.give(view)
            self.buffer, self._start, self._end = target, 0, end - start
            view, start, end = target, 0, end - start
        return view[end : start + need] if need > SMALL else view[end:]

    def next(self) -> Frame | None:
        """The next frame without its size, or None: it is not whole. Each is given once; it stays
        until `done`, which comes before one asks for another.

        Raises FrameSizeError for a size below that of the smallest head or above the largest frame.
        """
        return self.received(0)

    def received(self, n: int) -> Frame | None:
        """`n` bytes were put into `room()`: as `next`."""
        view = self.buffer
        if view is None:
            if not n:
                return None
            view = self._small[-1]
            (size,) = _SIZE(view, 0)
            if size + 4 == n and LEAST <= size <= SHORT and size <= self._sure:
                # Nearly always: one frame, and no byte more.
                return bytearray(view[4:n])
            self.buffer = self._small.pop()
        start = self._start + 4
        end = self._end = self._end + n
        have = end - start
        if have < 0:
            return None
        (size,) = _SIZE(view, start - 4)
        if not LEAST <= size <= self._sure:
            self._largest.check(size, view[start : start + have])
        if have < size:
            return None
        if size > SHORT:
            self._frame = size + 4
            return view[start : start + size]
        self._guess = SMALL
        self._start = start + size
        frame = bytearray(view[start : start + size])
        self.rest()
        return frame

    def done(self) -> None:
        """The frame in hand is not needed any more. Idempotent."""
        frame = self._frame
        if frame:
            self._guess = SMALL if frame <= SMALL else min(frame, LARGE)
            self._frame = 0
            self._start += frame
            self.rest()

    def rest(self) -> None:
        """Give the buffer back if it is empty."""
        if self._start == self._end and not self._frame:
            self._give()

    def _give(self) -> None:
        view, self.buffer = self.buffer, None
        self._start = self._end = 0
        if view is not None:
            self._buffers.give(view)

    def drop(self) -> None:
        """Forget all bytes, the frame in hand too. Idempotent."""
        self._start, self._frame = self._end, 0
        self.rest()

    @property
    def pending(self) -> bool:
        """Bytes are here that no `done` has taken."""
        return self._end > self._start

    @property
    def missing(self) -> int:
        """Bytes of the frame that has begun which are not here; 0 where its size is not known."""
        view, start, have = self.buffer, self._start, self._end - self._start
        return 0 if view is None or have < 4 else 4 + int(_SIZE(view, start)[0]) - have

    @property
    def held(self) -> int:
        """Bytes of buffer that this connection owns now."""
        return 0 if self.buffer is None else len(self.buffer)
