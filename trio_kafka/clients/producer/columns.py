"""Keys and values of many records of one partition, with their sizes. Does no I/O."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate
from operator import itemgetter
from typing import Protocol, TypeVar

from attrs import field

from trio_kafka.attributes import frozen

Bytes = bytes | None
T = TypeVar("T")


class _Pick(Protocol):
    """Returns some rows of a column."""

    def __call__(self, column: Sequence[T], /) -> Sequence[T]: ...


@frozen(kw_only=True)
class RecordColumns:
    """Records. keys: None: all are null. bounds: of their encoded sizes. ends: their sums."""

    values: Sequence[Bytes]
    keys: Sequence[Bytes] | None
    bounds: Sequence[int]
    timestamp_ms: int
    ends: Sequence[int] = field(init=False)

    @ends.default
    def _ends(self) -> Sequence[int]:
        return list(accumulate(self.bounds))

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
            rows = slice(at, end)
            yield self if end - at == len(self.values) else self._with(itemgetter(rows))
            at = end

    def picked(self, positions: Sequence[int]) -> "RecordColumns":
        """Return some of the records, in this order."""
        if len(positions) == 1:
            rows = slice(positions[0], positions[0] + 1)
            return self._with(lambda column: column[rows])
        return self._with(itemgetter(*positions))

    def _with(self, pick: _Pick) -> "RecordColumns":
        return RecordColumns(
            values=pick(self.values),
            keys=None if self.keys is None else pick(self.keys),
            bounds=pick(self.bounds),
            timestamp_ms=self.timestamp_ms,
        )
