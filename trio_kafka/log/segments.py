"""The segments of one log in the order of their offsets; the last one is active."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator

from trio_kafka.log.segment import Segment


class Segments:
    """Never empty once a log has been loaded."""

    __slots__ = ("_bases", "_segments", "active")

    def __init__(self, segments: Iterable[Segment]) -> None:
        self._segments = sorted(segments, key=lambda segment: segment.base_offset)
        self._bases = [segment.base_offset for segment in self._segments]
        self.active = self._segments[-1]

    def __len__(self) -> int:
        return len(self._segments)

    def __iter__(self) -> Iterator[Segment]:
        return iter(tuple(self._segments))

    def __reversed__(self) -> Iterator[Segment]:
        return reversed(tuple(self._segments))

    @property
    def first(self) -> Segment:
        return self._segments[0]

    @property
    def size(self) -> int:
        """Bytes of all batches."""
        return sum(segment.size for segment in self._segments)

    def floor(self, offset: int) -> int:
        """The number of the segment in which `offset` lies, or would."""
        return max(bisect_right(self._bases, offset) - 1, 0)

    def at(self, number: int) -> Segment | None:
        """The segment with this number; None behind the last."""
        return self._segments[number] if number < len(self._segments) else None

    def end_of(self, number: int, log_end: int) -> int:
        """The offset where a segment ends."""
        return self._bases[number + 1] if number + 1 < len(self._bases) else log_end

    def add(self, segment: Segment) -> None:
        """A new active segment."""
        self._segments.append(segment)
        self._bases.append(segment.base_offset)
        self.active = segment

    def remove_below(self, offset: int) -> list[Segment]:
        """Take out those that end at `offset` or before, never the active one; they are given.

        O(segments), however many go.
        """
        count = self.floor(offset)
        gone = self._segments[:count]
        del self._segments[:count], self._bases[:count]
        return gone

    def remove(self, segment: Segment) -> None:
        """Take one out; the last of the rest becomes active."""
        number = self._segments.index(segment)
        del self._segments[number], self._bases[number]
        if self._segments:
            self.active = self._segments[-1]
