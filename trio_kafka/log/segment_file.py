"""The file of batches of a segment: opened, given up, synced, cut, measured.

A growing segment has its file open, and gives it up when it is idle and descriptors are scarce. The
file of a sealed segment belongs to `open_files` once it is durable.
"""

import errno
from typing import Final

from attrs import field

from trio_kafka.attributes import define
from trio_kafka.introspect.log import get_logger
from trio_kafka.log.files.names import LOG, SEGMENT_FILES, offset_file
from trio_kafka.log.files.open_files import OpenFiles
from trio_kafka.log.files.operations import AppendBytes, GiveWay
from trio_kafka.world.protocols import PIECE, Buffer, Directory, File

_logger: Final = get_logger(__name__)


@define(eq=False)
class SegmentFile:
    """File of the segment that begins with `base_offset`. sealed: it grows no more.

    file: open already; None: it is opened when it is needed. files: open files of all logs.
    """

    directory: Directory
    base_offset: int
    # Growing or not durable yet; otherwise it is in `files`.
    _file: File | None = field(default=None, kw_only=True)
    sealed: bool = field(default=False, kw_only=True)
    files: OpenFiles = field(factory=OpenFiles, kw_only=True)
    _name: str = field(init=False)
    _size: int = field(init=False)
    # Durable length of a growing segment that was not cut since; -1: not known.
    _durable: int = field(default=-1, init=False)
    _cuts: int = field(default=0, init=False)
    _ended: bool = field(default=False, init=False)
    _seen: int = field(default=-1, init=False)
    _reported: tuple[str, ...] = field(default=(), init=False)

    def __attrs_post_init__(self) -> None:
        self._name = offset_file(self.base_offset, LOG)
        file = self._file
        self._size = file.size if file else 0
        if file is not None and self.sealed:
            self._file = None
            self.files.keep(self, file)
        elif file is not None:
            self._durable = -1 if file.size else 0
            self.files.grows(self)

    @property
    def file(self) -> File:
        """The open file, opened if necessary. OSError, KafkaError as `OpenFiles.open`.

        Read this property again after each wait: the file may have been closed for others.
        """
        if self._file is not None:
            return self._file
        if self._ended:
            raise OSError(errno.EBADF, f"{self._name}: its log was closed")
        if self.sealed:
            return self.files.get(self, self.directory, self._name)
        return self._open_again()

    def _open_again(self) -> File:
        """Open the file of a growing segment that gave it up. OSError if its length has changed."""
        file = self.files.open(self.directory, self._name)
        try:
            if file.size > self._size:  # space that was reserved
                file.truncate(self._size)
            if file.size < self._size:
                message = f"{self._name}: {file.size} bytes, want {self._size}"
                raise OSError(errno.EIO, f"another program has cut the file, {message}")
        except BaseException:
            file.close()
            raise
        self._file = file
        self.files.grows(self)
        return file

    def end(self) -> None:
        """Open no file again: a task may still have this segment when its log is closed."""
        self._ended = True

    def used(self) -> bool:
        """Report growth, see `open_files.Growing`."""
        seen, self._seen = self._seen, self.size
        return seen != self._seen

    def give_up(self) -> bool:
        """Close an idle file, see `open_files.Growing`."""
        file = self._file
        if file is None or self.sealed or file.leased or self._durable != file.size:
            return False
        self._size = file.size
        self._file = None
        file.close()
        return True

    async def sync_file(self) -> None:
        """Make the batches durable, and note how many are. OSError."""
        file, cuts = self.file, self._cuts
        size = file.size
        try:
            await file.sync()
        except OSError:
            self._doubt()
            raise
        if cuts == self._cuts and file is self._file:
            self._durable = size

    def _doubt(self) -> None:
        """Forget how much of the file is durable, until the next sync."""
        self._durable = -1
        self._cuts += 1

    def truncate(self, size: int) -> None:
        """Cut the file. OSError."""
        self._doubt()
        self.file.truncate(size)

    def write(self, records: Buffer, give_way: GiveWay | None) -> int:
        """Write batches in the loop; return the position of the first. `wrote` comes next. OSError.

        give_way: called between pieces of large records; None: one piece.
        """
        file = self._file or self.file
        if give_way is None or len(records) <= PIECE:
            return file.append((records,))
        self._doubt()  # files are closed for others meanwhile: not this one
        return file.append_in_pieces(records, give_way)

    def writing(self, records: Buffer) -> AppendBytes:
        """Return the operation that writes batches as `write` does, in a thread."""
        return AppendBytes(self._file or self.file, records)

    def hold(self) -> None:
        """Keep the file open until it is durable, as it will be written. Leases stay valid."""
        self._doubt()
        if self._file is None:
            self._file = self.files.take(self) or self.files.open(self.directory, self._name)
            self.files.grows(self)

    def rename_file(self, suffix: str) -> None:
        """Add `suffix` to the name of the file, in place of an earlier suffix. OSError."""
        name = offset_file(self.base_offset, LOG) + suffix
        self.directory.rename(self._name, name)
        self._name = name

    def trust(self) -> None:
        """Take the whole file for durable, as the process before has synced it."""
        self._durable = self.size

    @property
    def size(self) -> int:
        """Bytes of all batches."""
        return self._file.size if self._file is not None else self._size

    def measure(self) -> int:
        """Ask the system for the size, so that no answer promises bytes that are gone. OSError.

        A file that another program has cut is logged as an error; a missing one has no bytes. The
        active segment is not measured: its size is what this process has appended.
        """
        before = self.size
        if not self.sealed:
            return before
        try:
            size = self.file.measure()
        except FileNotFoundError:
            size = 0
        if size < before:
            reason = f"{size} bytes, want {before}"
            self.report("segment file truncated by another program", reason)
        self._size = size
        return size

    def report(self, event: str, reason: str) -> None:
        """Log damage of this segment, each event once."""
        if event not in self._reported:
            self._reported += (event,)
            path = f"{self.directory.path}/{self._name}"
            _logger.error(event, path=path, reason=reason)

    def trim(self) -> None:
        """Give back reserved space. OSError."""
        if self._file is not None:
            self._file.trim()

    @property
    def may_be_dirty(self) -> bool:
        """True if a sync may have something to do."""
        return self._file is not None or self.sealed or self._durable != self._size

    def settle_file(self) -> None:
        """Hand a durable file of a sealed segment to `open_files`."""
        if self._file is not None:
            self._size = self._file.size
            self.files.grows_no_more(self)
            self.files.keep(self, self._file)
            self._file = None

    def close_file(self) -> None:
        """Close the file. Its descriptor is closed after the last lease. Idempotent."""
        if self._file is not None:
            self._size = self._file.size
            self._file.close()
            self._file = None
        self._doubt()
        self.files.grows_no_more(self)
        self.files.close(self)


async def unlink_segment(directory: Directory, base_offset: int) -> None:
    """Remove the files of a segment, those that exist. OSError."""
    for suffix in SEGMENT_FILES:
        name = offset_file(base_offset, suffix)
        if directory.exists(name):
            await directory.unlink(name)
