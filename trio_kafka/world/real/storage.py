"""Directories of the machine."""

import fcntl
import os
from collections.abc import Callable, Sequence
from typing import Final

import trio

from trio_kafka.world.names import check_name
from trio_kafka.world.protocols import Buffer, Directory, File, Lease
from trio_kafka.world.real.file import RealFile
from trio_kafka.world.real.volume import Volume

_FILE: Final = os.O_RDWR | os.O_CLOEXEC
_MODE: Final = 0o644


class RealDirectory:
    """See `protocols.Directory`."""

    def __init__(self, volume: Volume, path: str, *, made: bool = False) -> None:
        """made: just now, so it is a directory."""
        if not made and not os.path.isdir(path):
            os.listdir(path)  # says why, by the system's error
        self.path = path
        self._volume = volume

    def _at(self, name: str) -> str:
        return f"{self.path}/{check_name(name)}"

    def names(self) -> list[str]:
        return sorted(os.listdir(self.path))

    def exists(self, name: str) -> bool:
        return os.path.lexists(self._at(name))

    def create(self, name: str) -> RealFile:
        return self._open(name, _FILE | os.O_CREAT | os.O_EXCL)

    def open(self, name: str) -> RealFile:
        return self._open(name, _FILE)

    def _open(self, name: str, flags: int) -> RealFile:
        fd = os.open(self._at(name), flags, _MODE)
        try:
            return RealFile(self._volume, fd)
        except BaseException:
            os.close(fd)
            raise

    def rename(self, old: str, new: str) -> None:
        os.rename(self._at(old), self._at(new))

    def directory(self, name: str, *, create: bool = False) -> "RealDirectory":
        path = self._at(name)
        return RealDirectory(self._volume, path, made=create and _make(path))

    def lock(self, name: str) -> Callable[[], None]:
        fd = os.open(self._at(name), _FILE | os.O_CREAT, _MODE)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BaseException:
            os.close(fd)
            raise
        held = [fd]

        def unlock() -> None:
            while held:
                os.close(held.pop())

        return unlock

    def resize(self, threads: int) -> None:
        self._volume.limiter.total_tokens = threads

    def free_space(self) -> int:
        found = os.statvfs(self.path)
        return found.f_bavail * found.f_frsize

    async def names_slow(self) -> list[str]:
        return sorted(await self._volume.run(os.listdir, self.path))

    async def create_slow(
        self, name: str, content: Buffer = b"", *, replace: bool = False
    ) -> RealFile:
        flags = _FILE | os.O_CREAT | (os.O_TRUNC if replace else os.O_EXCL)
        with trio.CancelScope(shield=True):  # nobody else would close the descriptor
            fd = await self._volume.run(_create_whole, self._at(name), flags, content)
        try:
            return RealFile(self._volume, fd)
        except BaseException:
            os.close(fd)
            raise

    async def unlink(self, name: str) -> None:
        await self._volume.run(_remove, self._at(name))

    async def sync(self) -> None:
        await self._volume.run_shielded(sync_directory, self.path)

    async def sync_together(self, files: Sequence[File], inside: Sequence[Directory]) -> None:
        paths = [*(directory.path for directory in inside), self.path]
        leases: list[Lease] = []
        try:
            leases.extend(file.lease(0) for file in files)
            descriptors = [lease.key for lease in leases]
            await self._volume.run_shielded(_sync_together, descriptors, paths)
        finally:
            for lease in leases:
                lease.release()


def _make(path: str) -> bool:
    """Make a directory where nothing is. False: something is."""
    try:
        os.mkdir(path)
    except FileExistsError:
        return False
    return True


def _create_whole(path: str, flags: int, content: Buffer) -> int:
    """The descriptor of a file that holds `content`."""
    fd = os.open(path, flags, _MODE)
    try:
        view, done = memoryview(content), 0
        while done < len(view):
            done += os.pwrite(fd, view[done:], done)
    except BaseException:
        os.close(fd)
        raise
    return fd


def _remove(path: str) -> None:
    if os.path.isdir(path) and not os.path.islink(path):
        os.rmdir(path)
    else:
        os.unlink(path)


def sync_directory(path: str) -> None:
    """Make the names in `path` durable."""
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def _sync_together(descriptors: Sequence[int], paths: Sequence[str]) -> None:
    for descriptor in descriptors:
        os.fdatasync(descriptor)
    for path in paths:
        sync_directory(path)


def make_directories(path: str) -> None:
    """Make what is missing of `path`, each name durable before the next one is made."""
    if os.path.exists(path):
        return
    parent = os.path.dirname(os.path.abspath(path))
    make_directories(parent)
    os.mkdir(path)
    sync_directory(parent)
