"""Framers: received bytes become frames, in buffers of a pool.

A connection owns a buffer only while it holds bytes. A frame is a view of the buffer, valid until
`done()`. One request of a connection is in flight at a time, so nothing is received after it, and
nothing is copied. Views of a frame must not outlive `done()`, as the buffer is reused. Only a short
frame is copied, which costs less than keeping the buffer for it. Large buffers come from an
allocator whose pages cost when they are written, so a size that a peer only announces costs
nothing. Source: Kafka's wire format: int32 size, then as many bytes.
"""

import struct
from collections import deque
from collections.abc import Callable
from typing import Final

from attrs import field

from trio_kafka.attributes import define, frozen
from trio_kafka.errors import ProtocolError
from trio_kafka.protocol.foreign import spoken_protocol

SMALL: Final = 64 << 10
LARGE: Final = 1 << 20
LEAST: Final = 10  # key, version, correlation id and the length of the client id
SHORT: Final = 1 << 10  # frames up to this size are copied
_NAMED: Final = 2  # bytes of a frame with its API key
Frame = memoryview | bytearray
_SIZE: Final = struct.Struct(">i").unpack_from
_KEY: Final = struct.Struct(">h").unpack_from


class FrameSizeError(ProtocolError):
    """A frame is too small or too large."""


@frozen(kw_only=True)
class FrameLimits:
    """Largest frames that are accepted.

    whole: bytes of any frame. common: bytes of a frame of an API that declares no size.
    declared: returns the size that an API declares, by key, or 0.
    least: bytes of the smallest frame.
    """

    whole: int
    common: int
    declared: Callable[[int], int]
    least: int = LEAST

    @property
    def sure(self) -> int:
        """Size up to which a frame is accepted whatever its key is."""
        return min(self.whole, self.common)

    def check(self, size: int, frame: memoryview) -> None:
        """Raise FrameSizeError for a frame that is too small or too large.

        frame: what was received of it; without a key only `whole` applies.
        """
        if not self.least <= size <= self.whole:
            protocol = spoken_protocol((size & 0xFFFFFFFF).to_bytes(4, "big"))
            hint = "" if protocol is None else f"; the client speaks {protocol} on a plaintext port"
            raise FrameSizeError(f"frame of {size} bytes: want {self.least} to {self.whole}{hint}")
        if size > self.common and len(frame) >= _NAMED:
            (key,) = _KEY(frame)
            limit = max(self.common, self.declared(key))
            if size > limit:
                raise FrameSizeError(
                    f"request of {size} bytes with API key {key}: want at most {limit}"
                    " (trio.admin.request.max.bytes)"
                )


def any_up_to(size: int) -> FrameLimits:
    """Return the same limit for all frames."""
    return FrameLimits(whole=size, common=size, declared=lambda _: 0)


@define(eq=False)
class Buffers:
    """Pool of buffers of 64 KiB and 1 MiB, last used first; larger ones are not kept.

    small, large: how many are kept at most. fresh: allocations so far.
    """

    _allocate: Callable[[int], memoryview]
    small: int = 256
    large: int = 16
    fresh: int = 0
    kept_small: deque[memoryview] = field(init=False)
    _kept_large: list[memoryview] = field(factory=list, init=False)

    @kept_small.default
    def _none_yet(self) -> deque[memoryview]:
        return deque(maxlen=self.small)

    def take(self, size: int) -> memoryview:
        """Return a buffer of at least `size` bytes, with any content."""
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
        """Return a buffer to the pool."""
        size = len(view)
        if size == SMALL:
            self.kept_small.append(view)
        elif size == LARGE and len(self._kept_large) < self.large:
            self._kept_large.append(view)

    @property
    def kept(self) -> int:
        """Bytes of the buffers that are kept."""
        return len(self.kept_small) * SMALL + len(self._kept_large) * LARGE


class Framer:
    """Framer of one connection. largest: which frames are accepted.

    buffer: None: no bytes are here. Bytes are received into the small buffer that is used next, and
    which is taken from the pool only if some of them stay in it.
    """

    __slots__ = (
        "_buffers",
        "_end",
        "_frame",
        "_guess",
        "_largest",
        "_least",
        "_small",
        "_start",
        "_sure",
        "buffer",
    )

    def __init__(self, buffers: Buffers, largest: FrameLimits | int) -> None:
        self._buffers = buffers
        self._small = buffers.kept_small
        self._largest = any_up_to(largest) if isinstance(largest, int) else largest
        self._sure, self._least = self._largest.sure, self._largest.least
        self.buffer: memoryview | None = None
        self._start = self._end = self._frame = 0
        # After a large frame, another one of that size is likely.
        self._guess = SMALL

    def limit(self, largest: FrameLimits) -> None:
        """Accept other frames from now on. A frame whose size was checked already stays."""
        self._largest = largest
        self._sure, self._least = largest.sure, largest.least

    def room(self) -> memoryview:
        """Return where to receive the next bytes; never empty, and not beyond a large frame.

        Call `next` before, which checks the size, and `received` afterwards, before any other
        framer is used.
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
            need = 4 + LEAST  # first the key, which decides whether the frame is accepted
        if start + need > len(view):
            target = view if need <= len(view) else self._buffers.take(need)
            target[: end - start] = view[start:end]
            if target is not view:
                self._buffers.give(view)
            self.buffer, self._start, self._end = target, 0, end - start
            view, start, end = target, 0, end - start
        return view[end : start + need] if need > SMALL else view[end:]

    def next(self) -> Frame | None:
        """Return the next frame without its size, once; None: it is not complete.

        It is valid until `done`, which must precede the next call. Raises FrameSizeError.
        """
        return self.received(0)

    def received(self, n: int) -> Frame | None:
        """Take the `n` bytes that were received into `room()`; return as `next`."""
        view = self.buffer
        if view is None:
            if not n:
                return None
            view = self._small[-1]
            (size,) = _SIZE(view, 0)
            if size + 4 == n and self._least <= size <= SHORT and size <= self._sure:
                # Nearly always: exactly one frame.
                return bytearray(view[4:n])
            self.buffer = self._small.pop()
        start = self._start + 4
        end = self._end = self._end + n
        have = end - start
        if have < 0:
            return None
        (size,) = _SIZE(view, start - 4)
        if not self._least <= size <= self._sure:
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
        """Release the current frame. Idempotent."""
        frame = self._frame
        if frame:
            self._guess = SMALL if frame <= SMALL else min(frame, LARGE)
            self._frame = 0
            self._start += frame
            self.rest()

    def rest(self) -> None:
        """Return the buffer to the pool if it is empty."""
        if self._start == self._end and not self._frame:
            self._give()

    def _give(self) -> None:
        view, self.buffer = self.buffer, None
        self._start = self._end = 0
        if view is not None:
            self._buffers.give(view)

    def drop(self) -> None:
        """Discard all bytes, the current frame too. Idempotent."""
        self._start, self._frame = self._end, 0
        self.rest()

    @property
    def pending(self) -> bool:
        """True if there are bytes that `done` has not released."""
        return self._end > self._start

    @property
    def missing(self) -> int:
        """Bytes that the current frame lacks; 0 if its size is unknown."""
        view, start, have = self.buffer, self._start, self._end - self._start
        return 0 if view is None or have < 4 else 4 + int(_SIZE(view, start)[0]) - have

    @property
    def held(self) -> int:
        """Bytes of the buffer that this connection owns."""
        return 0 if self.buffer is None else len(self.buffer)
