"""Base class of index files: small files beside a segment, each written as a whole.

The file belongs to its owner until it is durable. Afterwards `open_files` opens it on demand.
Inheritance saves memory, as each segment has three of them.
"""

from trio_kafka.log.files.open_files import OpenFiles
from trio_kafka.log.files.operations import FileWork
from trio_kafka.world.protocols import Buffer, Directory, File


class WrittenFile:
    """Small file beside a segment.

    Its owner calls `sync` after a write, then `settle`; `close` closes the file in any case.
    """

    __slots__ = ("_directory", "_file", "_files", "_name")

    def __init__(self, directory: Directory, name: str, files: OpenFiles | None) -> None:
        self._files = files or OpenFiles()
        self._directory = directory
        self._name = name
        self._file: File | None = None  # written and not durable yet; else it is in `_files`

    async def sync(self) -> None:
        """Make the written content durable."""
        if self._file is not None:
            await self._file.sync()

    def settle(self) -> None:
        """Close the file, which is durable."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def use_name(self, name: str) -> None:
        """Use the file of this name instead. Nothing is renamed."""
        self._name = name

    def rename(self, name: str) -> None:
        """Rename the file, if it exists. OSError."""
        if self._directory.exists(self._name):
            self._directory.rename(self._name, name)
        self._name = name

    def close(self) -> None:
        """Close the file, even while it is read."""
        self.settle()
        self._files.close(self)

    @property
    def _is_there(self) -> bool:
        return self._file is not None or self._directory.exists(self._name)

    def _open(self) -> File:
        """Return the file for a read. OSError, KafkaError as `OpenFiles.open`."""
        return self._file or self._files.get(self, self._directory, self._name)

    def _replace(self, content: Buffer) -> FileWork[None]:
        """Replace the content. OSError, KafkaError as `OpenFiles.open`."""
        WrittenFile.close(self)  # this class's close only
        self._file = yield from self._files.create(
            self._directory, self._name, content, replace=True
        )
