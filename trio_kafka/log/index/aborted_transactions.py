"""Aborted transactions as columns of numbers.

One segment may have 100,000 of them, and a read_committed Fetch lists thousands: bisecting a column
and slicing it costs a hundredth of objects (docs/reference/benchmarks.md,
fetch-of-10000-transactions).
"""

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator

from trio_kafka.attributes import frozen


@frozen(kw_only=True)
class AbortedTransaction:
    """An aborted transaction: its producer's records from `first_offset` to `last_offset` do not
        count.

    last_offset: that of its marker. last_stable_offset: after the abort; readers below it need not
        search further.
    """

    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


class AbortedTransactions:
    """Aborted transactions in the order of their markers. Columns of int64."""

    __slots__ = ("first_offsets", "last_offsets", "last_stable_offsets", "producer_ids")

    def __init__(self, entries: Iterable[AbortedTransaction] = ()) -> None:
        self.producer_ids = array("q")
        self.first_offsets = array("q")
        self.last_offsets = array("q")
        self.last_stable_offsets = array("q")
        for entry in entries:
            self.append(entry)

    def __len__(self) -> int:
        return len(self.producer_ids)

    def __iter__(self) -> Iterator[AbortedTransaction]:
        columns = self.producer_ids, self.first_offsets, self.last_offsets, self.last_stable_offsets
        for producer_id, first, last, stable in zip(*columns, strict=True):
            yield AbortedTransaction(
                producer_id=producer_id,
                first_offset=first,
                last_offset=last,
                last_stable_offset=stable,
            )

    def append(self, entry: AbortedTransaction) -> None:
        """Add a transaction."""
        self.add(entry.producer_id, entry.first_offset, entry.last_offset, entry.last_stable_offset)

    def add(self, producer_id: int, first: int, last: int, stable: int) -> None:
        """Add a transaction by its numbers, in the order of the attributes."""
        self.producer_ids.append(producer_id)
        self.first_offsets.append(first)
        self.last_offsets.append(last)
        self.last_stable_offsets.append(stable)

    def extend(self, other: "AbortedTransactions") -> None:
        """Add all transactions of a later segment."""
        self.producer_ids += other.producer_ids
        self.first_offsets += other.first_offsets
        self.last_offsets += other.last_offsets
        self.last_stable_offsets += other.last_stable_offsets

    def __getitem__(self, part: slice) -> "AbortedTransactions":
        """Return a part, as a copy."""
        copy = AbortedTransactions.__new__(AbortedTransactions)
        copy.producer_ids = self.producer_ids[part]
        copy.first_offsets = self.first_offsets[part]
        copy.last_offsets = self.last_offsets[part]
        copy.last_stable_offsets = self.last_stable_offsets[part]
        return copy

    def between(self, first: int, end: int) -> tuple["AbortedTransactions", bool]:
        """Return those with records or markers between two offsets, and whether later ones have
        none. O(log n), and one copy of what it returns.

        first: inclusive. end: exclusive.
        """
        last_offsets = self.last_offsets
        begin = bisect_left(last_offsets, first)
        # The last stable offset never falls, so nothing behind the first one at `end` counts.
        behind = bisect_left(self.last_stable_offsets, end, begin)
        is_complete = behind < len(self)
        stop = behind + is_complete
        # A transaction that ends below `end` began there, too. Of the others look at each.
        sure = bisect_left(last_offsets, end, begin, stop)
        part = self[begin:sure]
        if sure < stop:
            for entry in self[sure:stop]:
                if entry.first_offset < end:
                    part.append(entry)
        return part, is_complete
