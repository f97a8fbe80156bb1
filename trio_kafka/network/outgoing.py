"""Answers on their way out: segments that the socket has not taken yet.

Sends what the socket takes, and no more than a share of file bytes a turn. The leases of file
ranges end when their last byte is taken, or with `release`, on whatever path the answer ends.
"""

from collections import deque
from collections.abc import Iterable
from enum import Enum, auto
from typing import TYPE_CHECKING, Any, Final

from trio_kafka.records.file_range import FileRange
from trio_kafka.world.protocols import Socket

if TYPE_CHECKING:
    from trio_kafka.network.request import Request

FILE_SHARE: Final = 1 << 20  # bytes of files a turn


class Progress(Enum):
    """How far a flush came."""

    DONE = auto()
    BLOCKED = auto()  # the socket's WRITE edge goes on
    SHARE_USED = auto()  # nothing tells when to go on: it must be queued


class Outgoing:
    """The answers to `requests`; `taken` bytes of them are with the socket."""

    __slots__ = ("_segments", "requests", "taken")

    def __init__(
        self, requests: "Iterable[Request]", segments: Iterable[Any], taken: int = 0
    ) -> None:
        self.requests = list(requests)
        self._segments: deque[Any] = deque(segments)
        self.taken = 0
        if taken:
            self._take_bytes(taken)

    def add(self, requests: "Iterable[Request]", segments: Iterable[Any]) -> None:
        """Answers that go behind these."""
        self.requests.extend(requests)
        self._segments.extend(segments)

    def flush(self, socket: Socket, share: int = FILE_SHARE) -> Progress:
        """Offer the rest to the socket, at most `share` bytes of files.

        Raises ConnectionError, and RangeCutError when a file was cut under its promised length.
        """
        segments = self._segments
        try:
            while segments:
                segment = segments[0]
                if isinstance(segment, FileRange):
                    if share <= 0:
                        return Progress.SHARE_USED
                    if segment.left:
                        limit = min(segment.left, share)
                        n = socket.send_file_range(segment.lease, segment.position, limit)
                        segment.position += n
                        segment.left -= n
                        self.taken += n
                        share -= n
                    if not segment.left:
                        segments.popleft()
                        segment.release()
                elif size := len(segment):
                    n = socket.send_more(segment) if len(segments) > 1 else socket.send(segment)
                    if n == size:
                        self.taken += n
                        segments.popleft()
                    else:
                        self._take_bytes(n)
                else:
                    segments.popleft()
        except BlockingIOError:
            return Progress.BLOCKED
        return Progress.DONE

    def release(self) -> None:
        """Give up the rest. Idempotent."""
        release(self._segments)
        self._segments.clear()

    @property
    def left(self) -> int:
        """Bytes that the socket has not taken."""
        return sum(map(len, self._segments))

    @property
    def left_of_files(self) -> int:
        """Bytes of files among them: they take no memory while they are with the socket."""
        return sum(len(one) for one in self._segments if isinstance(one, FileRange))

    def _take_bytes(self, n: int) -> None:
        self.taken += n
        segment = self._segments[0]
        if n == len(segment):
            self._segments.popleft()
        else:
            self._segments[0] = memoryview(segment)[n:]


def release(segments: Iterable[Any]) -> None:
    """End the leases of an answer that will not be sent."""
    for segment in segments:
        if isinstance(segment, FileRange):
            segment.release()
