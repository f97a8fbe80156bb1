"""Segments of one log, ordered by offset. The last one is active."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence

from trio_kafka.log.segment import Segment


class Segments:
    """Ordered segments; never empty after the log was loaded."""

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
        """Return the number of the segment whose range contains `offset`."""
        return max(bisect_right(self._bases, offset) - 1, 0)

    def at(self, number: int) -> Segment | None:
        """Return the segment with this number; None after the last one."""
        return self._segments[number] if number < len(self._segments) else None

    def end_of(self, number: int, log_end: int) -> int:
        """Return the end offset of a segment."""
        return self._bases[number + 1] if number + 1 < len(self._bases) else log_end

    def add(self, segment: Segment) -> None:
        """Add a new active segment."""
        self._segments.append(segment)
        self._bases.append(segment.base_offset)
        self.active = segment

    def remove_below(self, offset: int) -> list[Segment]:
        """Remove and return the segments that end at `offset` or before, except the active one.

        O(segments), whatever their number.
        """
        count = self.floor(offset)
        gone = self._segments[:count]
        del self._segments[:count], self._bases[:count]
        return gone

    def replace(self, old: Sequence[Segment], new: Segment) -> None:
        """Put one sealed segment in the place of adjacent sealed ones. It begins where they do."""
        number = self._segments.index(old[0])
        self._segments[number : number + len(old)] = [new]
        self._bases[number : number + len(old)] = [new.base_offset]

    def has(self, old: Sequence[Segment]) -> bool:
        """Return whether these segments are adjacent, sealed and still in the log."""
        number = self.floor(old[0].base_offset)
        segments = self._segments[number : number + len(old)]
        return len(segments) == len(old) and all(
            segment is other and segment.sealed
            for segment, other in zip(segments, old, strict=True)
        )

    def remove(self, segment: Segment) -> None:
        """Remove a segment. The last one of the rest becomes active."""
        number = self._segments.index(segment)
        del self._segments[number], self._bases[number]
        if self._segments:
            self.active = self._segments[-1]
