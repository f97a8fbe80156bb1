"""Keys and values of many records of one partition, with their sizes. Does no I/O."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate

from trio_kafka.attributes import frozen

Bytes = bytes | None


@frozen(kw_only=True)
class RecordColumns:
    """Records. keys: None: all are null. ends: running sum of bounds of their encoded sizes."""

    values: Sequence[Bytes]
    keys: Sequence[Bytes] | None
    ends: Sequence[int]
    timestamp_ms: int

    def fitting(self, at: int, room: float) -> int:
        """Return how many records from the one at `at` on fit into so many bytes."""
        before = self.ends[at - 1] if at else 0
        return bisect_right(self.ends, before + room, lo=at) - at

    def size(self, at: int, end: int) -> int:
        """Return the bound of the size of the records from `at` to `end`, exclusive."""
        return self.ends[end - 1] - (self.ends[at - 1] if at else 0)

    def portions(self, most: int) -> Iterator["RecordColumns"]:
        """Yield the records in portions of about `most` bytes, at least one in each."""
        at = 0
        while at < len(self.values):
            end = at + max(self.fitting(at, most), 1)
            yield self if end - at == len(self.values) else self.picked(range(at, end))
            at = end

    def picked(self, positions: Sequence[int]) -> "RecordColumns":
        """Return some of the records, in this order."""
        ends = self.ends
        sizes = [ends[at] - (ends[at - 1] if at else 0) for at in positions]
        return RecordColumns(
            values=[self.values[at] for at in positions],
            keys=None if self.keys is None else [self.keys[at] for at in positions],
            ends=list(accumulate(sizes)),
            timestamp_ms=self.timestamp_ms,
        )
