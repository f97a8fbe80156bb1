"""A small file of a segment: written as a whole, its owner's until it is durable, and opened again
by whoever reads it.

A base class, and no part of its owners: there are three of them for each segment.
"""

from trio_kafka.log.files.open_files import OpenFiles
from trio_kafka.log.files.operations import FileWork
from trio_kafka.world.protocols import Buffer, Directory, File


class WrittenFile:
    """`sync` what was written, then `settle`; `close` gives back the descriptor in any case."""

    __slots__ = ("_directory", "_file", "_files", "_name")

    def __init__(self, directory: Directory, name: str, files: OpenFiles | None) -> None:
        self._files = files or OpenFiles()
        self._directory = directory
        self._name = name
        self._file: File | None = None  # written and not durable yet; else it is in `_files`

    async def sync(self) -> None:
        """Make durable what was written."""
        if self._file is not None:
            await self._file.sync()

    def settle(self) -> None:
        """What was written is durable: give back the descriptor."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def close(self) -> None:
        """Give back the descriptor, also of a file that is being read."""
        self.settle()
        self._files.close(self)

    @property
    def _is_there(self) -> bool:
        return self._file is not None or self._directory.exists(self._name)

    def _open(self) -> File:
        """To read it. OSError, KafkaError as `OpenFiles.open`."""
        return self._file or self._files.get(self, self._directory, self._name)

    def _replace(self, content: Buffer) -> FileWork[None]:
        """Replace the content. OSError, KafkaError as `OpenFiles.open`."""
        WrittenFile.close(self)  # the descriptor only, whatever the close of a subclass does
        self._file = yield from self._files.create(
            self._directory, self._name, content, replace=True
        )
