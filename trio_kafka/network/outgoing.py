"""Outgoing answers: segments that the socket has not taken yet.

A flush offers at most a share of file bytes, and makes at most one piece of an answer that is
encoded while it is sent. Leases of file ranges end when their last byte is sent, or with `release`.
"""

from collections import deque
from collections.abc import Iterable
from enum import Enum, auto
from typing import Any, Final

from trio_kafka.network.request import Request
from trio_kafka.records.file_range import FileRange
from trio_kafka.wire.streamed import StreamedBody
from trio_kafka.world.protocols import PIECE, ColdRangeError, Socket

FILE_SHARE: Final = 1 << 20  # bytes of files a flush


class Progress(Enum):
    """Result of a flush."""

    DONE = auto()
    BLOCKED = auto()  # continue at the socket's WRITE edge
    SHARE_USED = auto()  # no edge follows: the writer resumes it
    COLD = auto()  # the next bytes of a file are not in memory: see `cold_reads`


class Outgoing:
    """Answers to `requests`, of which the socket has taken `taken` bytes."""

    __slots__ = ("_segments", "requests", "taken")

    def __init__(
        self, requests: Iterable[Request], segments: Iterable[object], taken: int = 0
    ) -> None:
        self.requests = list(requests)
        self._segments: deque[Any] = deque(segments)
        self.taken = 0
        if taken:
            self._take_bytes(taken)

    def add(self, requests: Iterable[Request], segments: Iterable[object]) -> None:
        """Append answers."""
        self.requests.extend(requests)
        self._segments.extend(segments)

    def flush(self, socket: Socket, share: int = FILE_SHARE) -> Progress:
        """Offer the rest to the socket, at most `share` bytes of files.

        Raises ConnectionError; RangeCutError when a file was cut under its promised length;
        BodyChangedError.
        """
        segments = self._segments
        try:
            while segments:
                segment = segments[0]
                if isinstance(segment, FileRange):
                    if share <= 0:
                        return Progress.SHARE_USED
                    share -= self._send_range(socket, segment, share)
                elif type(segment) is StreamedBody:
                    if share <= 0:
                        return Progress.SHARE_USED
                    self._make_piece(segment)
                    share = 0
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
        except ColdRangeError:
            return Progress.COLD
        return Progress.DONE

    @property
    def next_range(self) -> FileRange | None:
        """Range of a file whose bytes are sent next; None: others are, or nothing is left."""
        segment = self._segments[0] if self._segments else None
        return segment if isinstance(segment, FileRange) else None

    def put_ahead(self, part: FileRange, content: bytes) -> None:
        """Send the first of the bytes of `next_range` that a thread has read from memory.

        The others are sent from the page cache, if it still has them.
        """
        first = content[:PIECE]
        part.cached_to = part.position + len(content)
        part.position += len(first)
        part.remaining -= len(first)
        self._segments.appendleft(first)

    def _send_range(self, socket: Socket, part: FileRange, share: int) -> int:
        """Offer bytes of the first segment once; return how many the socket has taken."""
        sent = 0
        if part.remaining:
            limit = min(part.remaining, share)
            if part.cached_to > part.position:  # what follows may be cold
                limit = min(limit, part.cached_to - part.position)
            sent = socket.send_file_range(part.lease, part.position, limit)
            part.position += sent
            part.remaining -= sent
            self.taken += sent
        if not part.remaining:
            self._segments.popleft()
            part.release()
        return sent

    def _make_piece(self, body: StreamedBody) -> None:
        """Put the next piece of a body before the rest of it; at its end, remove it."""
        if piece := body.next_piece():
            self._segments.appendleft(piece)
        else:
            self._segments.popleft()

    def release(self) -> None:
        """Discard the rest. Idempotent."""
        release(self._segments)
        self._segments.clear()

    @property
    def unsent_bytes(self) -> int:
        """Bytes that are not sent."""
        return sum(map(len, self._segments))

    @property
    def unsent_file_bytes(self) -> int:
        """Bytes of files that are not sent: they take no memory in the socket."""
        return sum(len(segment) for segment in self._segments if isinstance(segment, FileRange))

    def _take_bytes(self, n: int) -> None:
        self.taken += n
        segment = self._segments[0]
        if n == len(segment):
            self._segments.popleft()
        else:
            self._segments[0] = memoryview(segment)[n:]


def release(segments: Iterable[object]) -> None:
    """End the leases of an answer that is not sent."""
    for segment in segments:
        if isinstance(segment, (FileRange, StreamedBody)):
            segment.release()
