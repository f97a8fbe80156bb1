"""Transaction index of a segment: the aborted transactions that end in it.

The file exists only if there are any. They are few enough to stay in memory once read.
Source: Kafka's `.txnindex` format, version 0.
"""

from bisect import bisect_left
from collections.abc import Iterable
from typing import Final

from trio_kafka.log.files.names import TRANSACTION_INDEX, offset_file
from trio_kafka.log.files.open_files import OpenFiles
from trio_kafka.log.files.operations import FileWork, ReadBytes
from trio_kafka.log.index.aborted_transactions import AbortedTransaction, AbortedTransactions
from trio_kafka.log.index.entries import LARGEST, CorruptIndexError
from trio_kafka.log.index.segment_sidecar import WrittenFile
from trio_kafka.log.scan.index_files import ABORTED_ENTRY
from trio_kafka.world.protocols import Directory

ENTRY: Final = ABORTED_ENTRY
_VERSION: Final = 0
_NOTHING: Final = AbortedTransactions()  # never changed


class TransactionIndex(WrittenFile):
    """Aborted transactions in the order of their markers."""

    __slots__ = ("_base_offset", "_entries")

    def __init__(
        self,
        directory: Directory,
        base_offset: int,
        *,
        sealed: bool = False,
        files: OpenFiles | None = None,
    ) -> None:
        super().__init__(directory, offset_file(base_offset, TRANSACTION_INDEX), files)
        self._base_offset = base_offset
        self._entries = None if sealed else AbortedTransactions()

    def append(self, aborted: AbortedTransaction) -> None:
        """Add a transaction in memory; `write` writes it."""
        if self._entries is None:
            raise ValueError(f"{self._name} is not loaded")
        self._entries.append(aborted)

    def all(self) -> FileWork[tuple[AbortedTransaction, ...]]:
        """Return every aborted transaction that ends in this segment."""
        yield from self.load()
        return tuple(self._entries or ())

    def between(self, first: int, end: int) -> FileWork[tuple[AbortedTransactions, bool]]:
        """Return those of this segment with records or markers between two offsets, and whether
        later segments have none, see `AbortedTransactions.between`.
        """
        yield from self.load()
        return (self._entries or _NOTHING).between(first, end)

    def load(self) -> FileWork[None]:
        """Read the file unless it was read. Raises CorruptIndexError.

        Recovery loads every existing file and rebuilds a corrupt one: without its entries readers
            would take aborted records for committed ones.
        """
        if self._entries is not None:
            return
        entries = AbortedTransactions()
        if self._directory.exists(self._name):
            file = self._open()
            if file.size > LARGEST:
                raise CorruptIndexError(f"{self._name}: {file.size} bytes, want at most {LARGEST}")
            view = yield ReadBytes(file, 0, file.size, file.size)
            if len(view) % ENTRY.size or not view:
                raise CorruptIndexError(f"{self._name}: {len(view)} bytes, want {ENTRY.size} each")
            before = self._base_offset - 1
            for version, producer_id, first, last, stable in ENTRY.iter_unpack(view):
                if version != _VERSION:
                    raise CorruptIndexError(f"{self._name}: version {version}, want {_VERSION}")
                if not (before < last and 0 <= first <= last):
                    raise CorruptIndexError(f"{self._name}: from {first} to {last} after {before}")
                before = last
                entries.add(producer_id, first, last, stable)
        self._entries = entries
        self._files.close(self)

    def reset(self, entries: Iterable[AbortedTransaction] = ()) -> None:
        """Replace the entries, in memory."""
        self._entries = AbortedTransactions(entries)

    def cut(self, offset: int) -> None:
        """Forget transactions whose marker is at `offset` or later; must be loaded."""
        if self._entries is not None:
            self._entries = self._entries[: bisect_left(self._entries.last_offsets, offset)]

    def write(self) -> FileWork[None]:
        """Write the entries to the file, which the owner syncs. Without entries there is none."""
        if self._entries or (self._entries is not None and self._is_there):
            yield from self._replace(pack_entries(self._entries))


def pack_entries(entries: Iterable[AbortedTransaction]) -> bytes:
    """Return the content of the file."""
    return b"".join(
        ENTRY.pack(_VERSION, e.producer_id, e.first_offset, e.last_offset, e.last_stable_offset)
        for e in entries
    )
