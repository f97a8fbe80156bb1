"""The log file of a pipeline: at most two files of a bounded size, NAME.log and NAME.log.1."""

from trio_kafka.introspect.log import Logger
from trio_kafka.world.protocols import Directory, File


class LogFile:
    """Log file that rotates once it is full. most_bytes: limit of each of the two files.

    A disk error ends logging with a warning; the pipeline continues.
    """

    def __init__(
        self, directory: Directory | None, name: str, *, most_bytes: int, logger: Logger
    ) -> None:
        """Make a log file; without a directory, writes are ignored."""
        self._directory = directory
        self._name = f"{name}.log"
        self._most = most_bytes
        self._logger = logger
        self._file: File | None = None

    async def write(self, data: bytes) -> None:
        """Append; cancellation waits for the end of the write."""
        if self._directory is None:
            return
        try:
            for start in range(0, len(data), self._most):
                await self._append(self._directory, data[start : start + self._most])
        except OSError as error:
            self._logger.warning("pipeline log failed", file=self._name, reason=str(error))
            self.close()
            self._directory = None

    async def _append(self, directory: Directory, data: bytes) -> None:
        file = self._file = self._file or self._open(directory)
        if file.size and file.size + len(data) > self._most:
            file.close()
            self._file = None
            directory.rename(self._name, f"{self._name}.1")
            file = self._file = directory.create(self._name)
        await file.append_slow([data])

    def _open(self, directory: Directory) -> File:
        if directory.exists(self._name):
            return directory.open(self._name)
        return directory.create(self._name)

    def close(self) -> None:
        """Close the file. Idempotent; a later write opens it again."""
        if self._file is not None:
            self._file.close()
            self._file = None
