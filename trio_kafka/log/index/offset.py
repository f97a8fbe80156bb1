"""The offset index of a segment: where in the file to begin the scan for an offset.

An entry says that a batch whose last offset is `base + relative` begins at `position`. At most one
entry for each `index.interval.bytes`; the first batch never has one, so position 0 never stands in
it.
Source: Kafka's `.index` format.
"""

from struct import Struct
from typing import Final

from trio_kafka.log.files.names import INDEX, offset_file
from trio_kafka.log.files.open_files import OpenFiles
from trio_kafka.log.files.operations import FileWork
from trio_kafka.log.index.entries import EntryFile
from trio_kafka.world.protocols import Directory

ENTRY: Final = Struct(">II")


class OffsetIndex:
    """Absolute offsets outside, relative ones in the file."""

    __slots__ = ("_base", "entries")

    def __init__(
        self,
        directory: Directory,
        base_offset: int,
        *,
        sealed: bool = False,
        files: OpenFiles | None = None,
    ) -> None:
        self._base = base_offset
        name = offset_file(base_offset, INDEX)
        self.entries = EntryFile(directory, name, ENTRY, sealed=sealed, files=files)

    def append(self, last_offset: int, position: int) -> None:
        """The batch that ends with `last_offset` begins at `position`."""
        self.entries.append(last_offset - self._base, position)

    def position_now(self, offset: int) -> int | None:
        """As `position`, from memory; None where that does not hold the entries."""
        if not self.entries.in_memory:
            return None
        entry = self.entries.find(offset - self._base)
        return entry[1] if entry else 0

    def position(self, offset: int) -> FileWork[int]:
        """Where the scan for the batch that holds `offset` begins.

        0 where no entry is low enough.
        """
        entry = yield from self.entries.lookup(offset - self._base)
        return entry[1] if entry else 0

    @property
    def last(self) -> tuple[int, int] | None:
        """(last offset, position) of the last entry, once loaded."""
        entry = self.entries.last
        return (self._base + entry[0], entry[1]) if entry else None

    def cut(self, offset: int) -> None:
        """Forget batches that end at `offset` or later, in a growing index."""
        self.entries.cut(self.entries.position_of(offset - self._base))

    def is_full(self, limit: int) -> bool:
        """No entry fits into `limit` bytes any more."""
        return self.entries.count >= limit // ENTRY.size
