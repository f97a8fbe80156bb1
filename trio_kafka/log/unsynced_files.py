"""Files and names of a log that are not durable yet.

They are kept until a sync has succeeded, so that two syncs at a time cannot each rely on the other.
"""

from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from attrs import field

from trio_kafka.attributes import define
from trio_kafka.log.files.checkpoints import replace_file
from trio_kafka.log.files.descriptor_retry import sync_names
from trio_kafka.log.files.operations import CreateFile, FileWork
from trio_kafka.log.files.partition_metadata import NAME as PARTITION_METADATA
from trio_kafka.log.segment import Segment
from trio_kafka.world.protocols import Directory, File

# Not the name that `replace_file` uses: a sync may run at the same time.
_TEMPORARY: Final = f"{PARTITION_METADATA}.first.tmp"


@define(eq=False)
class UnsyncedFiles:
    """Files of one log to be synced.

    parent: directory in which the name of the log's directory is not durable yet.
    """

    _directory: Directory
    parent: Directory | None
    _sealed: list[Segment] = field(factory=list, init=False)
    _files: list[File] = field(factory=list, init=False)
    _owed: bytes = field(default=b"", init=False)
    _unwritten: bytes = field(default=b"", init=False)
    _names: int = field(default=1, init=False)
    _synced: int = field(default=0, init=False)

    @property
    def new(self) -> bool:
        """True if the name of the log's directory is not durable yet."""
        return self.parent is not None

    def sealed(self, segment: Segment) -> None:
        """Add a segment that was sealed."""
        self._sealed.append(segment)
        self._names += 1

    def wrote(self, file: File) -> None:
        """Add a small file that was written. It is closed after its sync."""
        self._files.append(file)
        self._names += 1

    def owes(self, partition_metadata: bytes) -> None:
        """Let the next sync write `partition.metadata` with this content.

        Source: Kafka writes it in the background, too.
        """
        self._owed = self._unwritten = partition_metadata

    @property
    def is_nameless(self) -> bool:
        """True if `partition.metadata` is not written yet, durable or not."""
        return bool(self._unwritten)

    def write_name(self) -> FileWork[None]:
        """Write `partition.metadata`, to be made durable by the next sync.

        The first records come before that sync. Kafka, started here after a kill of this process,
        would set a directory without the file aside, with its records. Source: Kafka writes the
        file before the first append (UnifiedLog.maybeFlushMetadataFile).
        An error does not fail the append, whose records are in the file of the log already: the
        next sync writes the name again, and reports the error or waits for a descriptor.
        """
        content, self._unwritten = self._unwritten, b""
        with suppress(OSError):
            file: File = yield CreateFile(self._directory, _TEMPORARY, content, replace=True)
            file.close()
            self._directory.rename(_TEMPORARY, PARTITION_METADATA)

    @property
    def owed(self) -> bytes:
        """Content of `partition.metadata` that the next sync writes; empty: none."""
        return self._owed

    def forget(self, segment: Segment) -> None:
        """Remove a segment that was deleted or grows again."""
        if segment in self._sealed:
            self._sealed.remove(segment)

    async def sync(self, active: Segment) -> None:
        """Sync `partition.metadata`, old segments, the active one, then names. OSError."""
        if self._owed:
            await replace_file(self._directory, PARTITION_METADATA, self._owed)
            self._owed = self._unwritten = b""
        names = self._names
        sealed, files = list(self._sealed), list(self._files)
        for segment in sealed:
            await segment.sync()
        for file in files:
            await file.sync()
        await active.sync()  # the indexes too, if a clean stop has written them
        if names != self._synced:
            await sync_names(self._directory)
        if self.parent is not None:
            await sync_names(self.parent)
        self.parent = None
        self._synced = names
        self._sealed = [segment for segment in self._sealed if segment not in sealed]
        self._files = [file for file in self._files if file not in files]
        for file in files:
            file.close()

    @staticmethod
    async def sync_new(parent: Directory, logs: "Sequence[UnsyncedFiles]") -> None:
        """Sync the names of new logs in `parent`, with their `partition.metadata`. OSError."""
        counts = [(log, log._names) for log in logs]  # noqa: SLF001 - same class
        inside = [(log._directory, log._owed) for log in logs]  # noqa: SLF001
        await parent.sync_together(PARTITION_METADATA, inside)
        for log, names in counts:
            log._note_synced(names)  # noqa: SLF001

    def _note_synced(self, names: int) -> None:
        """Note that the first `names` names are durable."""
        self._owed = self._unwritten = b""
        self.parent = None
        self._synced = names

    def all_durable(self) -> None:
        """Note that all is durable: files, names, `partition.metadata`. Close the small files."""
        self._note_synced(self._names)
        self._sealed.clear()
        self.close()

    def close(self) -> None:
        """Close the small files."""
        for file in self._files:
            file.close()
        self._files.clear()
