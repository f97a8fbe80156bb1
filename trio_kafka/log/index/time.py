"""Time index of a segment: the largest timestamp so far, and its batch.

An entry (timestamp, relative offset) states that no batch up to this offset has a larger timestamp.
The offset is the last one of the batch with that timestamp. Both ascend. The last entry, written
when the segment is sealed or closed, holds the largest timestamp of all.
Source: Kafka's `.timeindex` format.
"""

from typing import Final

from trio_kafka.attributes import define
from trio_kafka.log.files.operations import FileWork
from trio_kafka.log.index.entries import EntryFile
from trio_kafka.log.scan.index_files import TIME_ENTRY

ENTRY: Final = TIME_ENTRY
NO_TIMESTAMP: Final = -1


@define(eq=False)
class TimeIndex:
    """Time index with absolute offsets; relative ones in the file."""

    _base: int
    entries: EntryFile

    def append_larger(self, timestamp: int, offset: int) -> None:
        """Add an entry if `timestamp` is larger than the last one's."""
        if timestamp > self.last[0]:
            self.entries.append(timestamp, offset - self._base)

    @property
    def last(self) -> tuple[int, int]:
        """Return (timestamp, offset) of the last entry, once loaded.

        (-1, base offset) without an entry.
        """
        entry = self.entries.last
        return (entry[0], self._base + entry[1]) if entry else (NO_TIMESTAMP, self._base)

    def offset_before(self, timestamp: int) -> FileWork[int]:
        """Return an offset below which every timestamp is smaller than `timestamp`."""
        entry = yield from self.entries.lookup(timestamp - 1)
        return self._base + entry[1] if entry else self._base

    def cut(self, offset: int) -> None:
        """Forget entries whose offset is `offset` or later, in a growing index."""
        while self.entries.last and self._base + self.entries.last[1] >= offset:
            self.entries.cut(self.entries.count - 1)

    def is_full(self, limit: int) -> bool:
        """Return whether only the entry that sealing writes still fits into `limit` bytes."""
        return self.entries.count >= limit // ENTRY.size - 1
