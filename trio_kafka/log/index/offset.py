"""Offset index of a segment: where the scan for an offset begins.

An entry states that a batch with last offset `base + relative` begins at `position`. There is at
most one entry for each `index.interval.bytes`. The first batch never has one, so no entry has
position 0.
Source: Kafka's `.index` format.
"""

from typing import Final

from trio_kafka.attributes import define
from trio_kafka.log.files.operations import FileWork
from trio_kafka.log.index.entries import EntryFile
from trio_kafka.log.scan.index_files import OFFSET_ENTRY

ENTRY: Final = OFFSET_ENTRY


@define(eq=False)
class OffsetIndex:
    """Offset index with absolute offsets; relative ones in the file."""

    _base: int
    entries: EntryFile

    def append(self, last_offset: int, position: int) -> None:
        """Add an entry: the batch that ends with `last_offset` begins at `position`."""
        self.entries.append(last_offset - self._base, position)

    def position_now(self, offset: int) -> int | None:
        """Look up a position as `position` does, in memory; None if the entries are not there."""
        if not self.entries.in_memory:
            return None
        entry = self.entries.find(offset - self._base)
        return entry[1] if entry else 0

    def position(self, offset: int) -> FileWork[int]:
        """Return where the scan for the batch that holds `offset` begins.

        0 if no entry is low enough.
        """
        entry = yield from self.entries.lookup(offset - self._base)
        return entry[1] if entry else 0

    def bound_behind(self, position: int) -> FileWork[int | None]:
        """Return the last offset of an indexed batch at `position` or behind; None: no entry."""
        entry = yield from self.entries.lookup_value(position)
        return self._base + entry[0] if entry else None

    @property
    def last(self) -> tuple[int, int] | None:
        """(last offset, position) of the last entry, once loaded."""
        entry = self.entries.last
        return (self._base + entry[0], entry[1]) if entry else None

    def cut(self, offset: int) -> None:
        """Forget batches that end at `offset` or later, in a growing index."""
        self.entries.cut(self.entries.position_of(offset - self._base))

    def is_full(self, limit: int) -> bool:
        """Return whether no entry fits into `limit` bytes any more."""
        return self.entries.count >= limit // ENTRY.size
