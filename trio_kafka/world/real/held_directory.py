"""A directory by its descriptor: the same one for as long as it is held, whatever its name is.

For jobs of worker processes, which cannot be told that a directory was renamed. A new directory of
the same name is another one.
"""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, NamedTuple

from trio_kafka.world.protocols import check_name
from trio_kafka.world.real.file import RealFile
from trio_kafka.world.real.volume import Volume

_FILE: Final = os.O_RDWR | os.O_CLOEXEC
_NEW: Final = _FILE | os.O_CREAT | os.O_EXCL
_DIRECTORY: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_MODE: Final = 0o644


class Identity(NamedTuple):
    """Device and inode of a directory, by which another process knows it again."""

    device: int
    inode: int


def identity_of(path: str) -> Identity:
    """Return the identity of the directory that has this path now. OSError."""
    status = os.stat(path)
    return Identity(status.st_dev, status.st_ino)


class HeldDirectory:
    """Part of `protocols.Directory` that a job uses. path: its name when it was opened."""

    def __init__(self, volume: Volume, path: str, fd: int) -> None:
        self.path = path
        self._volume = volume
        self._fd = fd

    def names(self) -> list[str]:
        return sorted(os.listdir(self._fd))

    def exists(self, name: str) -> bool:
        try:
            os.stat(check_name(name), dir_fd=self._fd, follow_symlinks=False)
        except FileNotFoundError:
            return False
        return True

    def create(self, name: str) -> RealFile:
        return self._open(name, _NEW)

    def open(self, name: str) -> RealFile:
        return self._open(name, _FILE)

    def _open(self, name: str, flags: int) -> RealFile:
        fd = os.open(check_name(name), flags, _MODE, dir_fd=self._fd)
        try:
            return RealFile(self._volume, fd)
        except BaseException:
            os.close(fd)
            raise


@contextmanager
def held_directory(volume: Volume, path: str, identity: Identity) -> Iterator[HeldDirectory]:
    """Hold a directory during the block.

    Raises FileNotFoundError if another directory has its path by now; OSError.
    """
    fd = os.open(path, _DIRECTORY)
    try:
        status = os.fstat(fd)
        if (status.st_dev, status.st_ino) != identity:
            raise FileNotFoundError(errno.ENOENT, "the directory was renamed or removed", path)
        yield HeldDirectory(volume, path, fd)
    finally:
        os.close(fd)
