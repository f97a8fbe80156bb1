"""File of entries of one size, ascending by key: the base of the offset and time indexes.

Entries of the active segment are kept in memory and written when it is sealed or closed: recovery
    rebuilds them from the log. For a sealed segment every 512th key is kept, and a lookup reads one
    page. Files that Kafka has preallocated end in zeros, which are no entries. A key of zero is an
    entry only at the beginning.
"""

from bisect import bisect_right
from struct import Struct
from typing import Final

from trio_kafka.log.files.open_files import OpenFiles
from trio_kafka.log.files.operations import FileWork, ReadBytes
from trio_kafka.log.index.segment_sidecar import WrittenFile
from trio_kafka.world.protocols import Buffer, Directory

Entry = tuple[int, int]
_PAGE: Final = 512
LARGEST: Final = 1 << 30  # bytes; a segment of 2 GiB has no more entries, of any index


class CorruptIndexError(Exception):
    """Raised for an invalid index, which is then rebuilt from the log."""


class EntryFile(WrittenFile):
    """Entries (key, value). `count` and `last` are known while it grows and after `load`."""

    __slots__ = ("_entries", "_layout", "_tops", "_written", "count", "last")

    def __init__(
        self,
        directory: Directory,
        name: str,
        layout: Struct,
        *,
        sealed: bool,
        files: OpenFiles | None = None,
    ) -> None:
        super().__init__(directory, name, files)
        self._layout = layout
        self._entries: bytearray | None = None if sealed else bytearray()
        self._tops: list[int] | None = None
        self._written = False  # the file has these entries
        self.count = 0
        self.last: Entry | None = None

    @property
    def loaded(self) -> bool:
        """True if a lookup reads at most one page from the disk."""
        return self._entries is not None or self._tops is not None

    @property
    def in_memory(self) -> bool:
        """True if all entries are in memory, as `find` requires."""
        return self._entries is not None

    def append(self, key: int, value: int) -> None:
        """Add an entry to a growing index; the caller keeps the order."""
        if self._entries is None:
            raise ValueError(f"{self._name} is sealed")
        self._entries += self._layout.pack(key, value)
        self._written = False
        self.count += 1
        self.last = key, value

    def find(self, key: int) -> Entry | None:
        """Look up an entry as `lookup` does, in memory."""
        if self._entries is None:
            raise ValueError(f"{self._name} is not in memory")
        return self._search(self._entries, self.count, key)

    def lookup(self, key: int) -> FileWork[Entry | None]:
        """Return the last entry with a key of at most `key`. O(log n) and one page."""
        if not self.loaded:
            yield from self.load()
        if self._entries is not None:
            return self._search(self._entries, self.count, key)
        tops = self._tops
        if tops is None:
            raise ValueError(f"{self._name} is closed")
        page = bisect_right(tops, key) - 1
        if page < 0:
            return None
        size = min(_PAGE, self.count - page * _PAGE) * self._layout.size
        view = yield ReadBytes(self._open(), page * _PAGE * self._layout.size, size, size)
        return self._search(view, len(view) // self._layout.size, key)

    def lookup_value(self, value: int) -> FileWork[Entry | None]:
        """Return the first entry with a value of at least `value`, for values that ascend too.

        O(log n), and one page for each step between pages.
        """
        if not self.loaded:
            yield from self.load()
        unpack, size, low, high = self._layout.unpack_from, self._layout.size, 0, self.count
        first: Entry | None = None
        page: bytearray | memoryview | None = self._entries
        begin, end = 0, self.count if page is not None else 0  # entries in `page`
        while low < high:
            middle = (low + high) // 2
            if page is None or not begin <= middle < end:
                begin = middle - middle % _PAGE
                end = min(begin + _PAGE, self.count)
                length = (end - begin) * size
                page = yield ReadBytes(self._open(), begin * size, length, length)
            entry = unpack(page, (middle - begin) * size)
            if entry[1] < value:
                low = middle + 1
            else:
                high, first = middle, entry
        return first

    def _search(self, entries: bytearray | memoryview, count: int, key: int) -> Entry | None:
        unpack, size = self._layout.unpack_from, self._layout.size
        low, high = 0, count  # not `bisect`, which would call a key function for each step
        while low < high:
            middle = (low + high) // 2
            if unpack(entries, middle * size)[0] <= key:
                low = middle + 1
            else:
                high = middle
        if not low:
            return None
        first, second = unpack(entries, (low - 1) * size)
        return first, second

    def load(self) -> FileWork[None]:
        """Read the keys of a sealed index. Raises CorruptIndexError, FileNotFoundError."""
        self._keep((yield from self._read()))
        if self._entries is not None:
            self._files.close(self)  # all of it is in memory

    def _read(self) -> FileWork[bytes]:
        """Return the content of the file. CorruptIndexError, FileNotFoundError."""
        file = self._open()
        size = self._layout.size
        if file.size % size or file.size > LARGEST:
            want = f"a multiple of {size}, at most {LARGEST}"
            raise CorruptIndexError(f"{self._name}: {file.size} bytes, want {want}")
        view: bytes | memoryview = b""
        if file.size:
            view = yield ReadBytes(file, 0, file.size, file.size)
        return bytes(view)

    def _keep(self, content: bytes) -> None:
        """Take over the content of the file without the zeros at its end."""
        unpack, size = self._layout.unpack_from, self._layout.size
        length = len(content.rstrip(b"\0"))
        count = -(-length // size)
        tops = [unpack(content, i * size)[0] for i in range(0, count, _PAGE)]
        self.count = count
        first, second = unpack(content, (count - 1) * size) if count else (0, 0)
        self.last = (first, second) if count else None
        if any(a >= b for a, b in zip(tops, [*tops[1:], first + 1], strict=False)):
            raise CorruptIndexError(f"{self._name}: keys do not ascend")
        if count <= _PAGE:
            self._entries, self._tops = bytearray(content[: count * size]), None
        else:
            self._entries, self._tops = None, tops

    def grow(self) -> FileWork[None]:
        """Bring all entries into memory, so that they can be cut and continued.

        Raises CorruptIndexError, FileNotFoundError.
        """
        if self._entries is None:
            content = yield from self._read()
            self._keep(content)
            self._written = True
            self._entries, self._tops = bytearray(content[: self.count * self._layout.size]), None
            self._files.close(self)  # all entries are in memory now

    def cut(self, count: int) -> None:
        """Keep the first `count` entries of a growing index."""
        if self._entries is None:
            raise ValueError(f"{self._name} is sealed")
        size = self._layout.size
        del self._entries[count * size :]
        self._written = False
        self.count = min(self.count, count)
        self.last = None
        if self.count:
            key, value = self._layout.unpack_from(self._entries, (self.count - 1) * size)
            self.last = key, value

    def reset(self, content: Buffer = b"") -> None:
        """Replace all entries by those in `content`; the index grows in memory afterwards."""
        size = self._layout.size
        self._entries, self._tops = bytearray(content), None
        self._written = False
        self.count, self.last = len(content) // size, None
        if self.count:
            key, value = self._layout.unpack_from(content, len(content) - size)
            self.last = key, value

    def content(self) -> bytes:
        """Return the entries of a growing index, as they are written."""
        if self._entries is None:
            raise ValueError(f"{self._name} is not in memory")
        return bytes(self._entries)

    def position_of(self, key: int) -> int:
        """Return how many entries of a growing index have a smaller key."""
        if self._entries is None:
            raise ValueError(f"{self._name} is sealed")
        entries, unpack, size = self._entries, self._layout.unpack_from, self._layout.size
        return bisect_right(range(self.count), key - 1, key=lambda i: unpack(entries, i * size)[0])

    def write(self) -> FileWork[None]:
        """Write a growing index to its file, which the owner syncs, unless the file has it.

        Nothing may be added before the work ends; lookups go on.
        """
        if self._entries is None or self._written:
            return
        content = memoryview(self._entries)
        try:
            yield from self._replace(content)
        finally:
            content.release()
        self._written = True

    def seal(self) -> None:
        """Release the memory of the written entries: no entry follows."""
        if self._entries is not None:
            self._keep(bytes(self._entries))

    def close(self) -> None:
        """Close the file and forget the keys. A sealed index is read again on demand."""
        super().close()
        if self._entries is None:
            self._tops = None
