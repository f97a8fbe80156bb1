"""Index files of a segment: layouts of their entries, and readers for programs without a loop.

Entries are yielded as they stand in the file. Where they end is up to the caller, as files of a
growing segment are filled up with zeros.
Source: Kafka's formats of `.index`, `.timeindex` and `.txnindex`.
"""

from collections.abc import Iterator
from struct import Struct
from typing import Final

from trio_kafka.log.scan.batches import ReadsAt

OFFSET_ENTRY: Final = Struct(">II")  # relative last offset of a batch, position where it begins
TIME_ENTRY: Final = Struct(">qI")  # largest timestamp so far, relative offset
# Version, producer id, first offset, offset of the marker, last stable offset then.
ABORTED_ENTRY: Final = Struct(">hqqqq")
_AT_ONCE: Final = 4096  # entries in one read


def entries_of(file: ReadsAt, layout: Struct) -> Iterator[tuple[int, ...]]:
    """Yield the fields of each whole entry. OSError."""
    position = 0
    while position < file.size:
        view = file.read(position, layout.size * _AT_ONCE)
        whole = len(view) // layout.size * layout.size
        yield from layout.iter_unpack(view[:whole])
        position += whole
        if not whole:
            return


def remainder(file: ReadsAt, layout: Struct) -> int:
    """Return the number of bytes after the last whole entry; more than 0 is damage."""
    return file.size % layout.size
