"""Directories on disk."""

import errno
import fcntl
import os
import stat
from collections.abc import Callable, Sequence
from typing import Final

import trio

from trio_kafka.world.protocols import Buffer, Directory, Space, check_name
from trio_kafka.world.real.file import RealFile
from trio_kafka.world.real.filesystem_sync import sync_filesystem
from trio_kafka.world.real.volume import Volume

_FILE: Final = os.O_RDWR | os.O_CLOEXEC
_NEW: Final = _FILE | os.O_CREAT | os.O_EXCL
_MODE: Final = 0o644
_TOGETHER: Final = 16  # files that `sync_together` holds open


class RealDirectory:
    """See `protocols.Directory`."""

    def __init__(self, volume: Volume, path: str, *, made: bool = False) -> None:
        """Open a directory. made: it was made just now."""
        if not made and not os.path.isdir(path):
            volume.opened(os.listdir, path)  # raises the system's error
        self.path = path
        self._volume = volume
        self._held: list[int] = []  # locked files

    def _at(self, name: str) -> str:
        return f"{self.path}/{check_name(name)}"

    def names(self) -> list[str]:
        return sorted(self._volume.opened(os.listdir, self.path))

    def exists(self, name: str) -> bool:
        return os.path.lexists(self._at(name))

    def create(self, name: str) -> RealFile:
        return self._take(self._volume.opened(os.open, self._at(name), _NEW, _MODE), 0)

    def open(self, name: str) -> RealFile:
        path = self._at(name)
        try:
            fd = self._volume.opened(os.open, path, _FILE)
        except FileNotFoundError:
            if os.path.islink(path):  # a name is there, so the file is not merely missing
                raise OSError(errno.ELOOP, "a symbolic link to a missing file", path) from None
            raise
        return self._take(fd, path=path)

    def _take(self, fd: int, size: int | None = None, path: str | None = None) -> RealFile:
        """Take over a descriptor. path: of a file that may be a device or a pipe."""
        try:
            if path is not None:
                status = os.fstat(fd)
                if not stat.S_ISREG(status.st_mode):
                    raise OSError(errno.EINVAL, "not a regular file", path)
                size = status.st_size
            return RealFile(self._volume, fd, size)
        except BaseException:
            os.close(fd)
            raise

    def rename(self, old: str, new: str) -> None:
        os.rename(self._at(old), self._at(new))

    def move(self, inside: Directory, new: str) -> None:
        path = self._at(new)
        os.rename(inside.path, path)
        inside.path = path

    def directory(self, name: str, *, create: bool = False) -> "RealDirectory":
        path = self._at(name)
        return RealDirectory(self._volume, path, made=create and _make(path))

    def lock(self, name: str) -> Callable[[], None]:
        fd = self._volume.opened(os.open, self._at(name), _FILE | os.O_CREAT, _MODE)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BaseException:
            os.close(fd)
            raise
        held, descriptors = [fd], self._volume.descriptors
        self._held.append(fd)
        descriptors.others += 1

        def unlock() -> None:
            while held:
                self._held.remove(fd)
                os.close(held.pop())
                descriptors.others -= 1

        return unlock

    def resize(self, threads: int) -> None:
        self._volume.limiter.total_tokens = threads

    async def space(self) -> Space:
        found = await self._volume.run_abandoned(os.statvfs, self.path)
        return Space(found.f_blocks * found.f_frsize, found.f_bavail * found.f_frsize)

    async def names_slow(self) -> list[str]:
        return sorted(await self._volume.opened_slow(os.listdir, self.path))

    async def create_slow(
        self, name: str, content: Buffer = b"", *, replace: bool = False
    ) -> RealFile:
        flags = _FILE | os.O_CREAT | os.O_TRUNC if replace else _NEW
        with trio.CancelScope(shield=True):  # or the descriptor would be lost
            fd = await self._volume.opened_slow(_create_whole, self._at(name), flags, content)
        return self._take(fd, len(content))

    async def unlink(self, name: str) -> None:
        await self._volume.run(_remove, self._at(name))

    async def sync(self) -> None:
        with trio.CancelScope(shield=True):
            await self._volume.opened_slow(sync_directory, self.path)

    async def sync_all(self, inside: Sequence[Directory]) -> bool:
        paths = [self.path, *(directory.path for directory in inside)]
        with trio.CancelScope(shield=True):
            done: bool = await self._volume.opened_slow(self._sync_all, paths)
        return done

    def _sync_all(self, paths: Sequence[str]) -> bool:
        if self._held:  # opened before all writes
            return sync_filesystem(self._held[0], paths)
        fd = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            return sync_filesystem(fd, paths)
        finally:
            os.close(fd)

    async def sync_together(self, name: str, inside: Sequence[tuple[Directory, bytes]]) -> None:
        check_name(name)
        paths = [(directory.path, content) for directory, content in inside]
        with trio.CancelScope(shield=True):
            await self._volume.opened_slow(_sync_together, self.path, name, paths)


def _make(path: str) -> bool:
    """Make a directory; return False if the name exists."""
    try:
        os.mkdir(path)
    except FileExistsError:
        return False
    return True


def _create_whole(path: str, flags: int, content: Buffer) -> int:
    """Create a file with content; return its descriptor."""
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


def _sync_together(path: str, name: str, inside: Sequence[tuple[str, bytes]]) -> None:
    first: dict[bytes, str] = {}
    descriptors: list[int] = []
    try:
        for directory, content in inside:
            if content:
                at = f"{directory}/{name}"
                there = first.setdefault(content, at)
                if there == at or not _link(there, at):
                    descriptors.append(_create_anew(at, content))
                    if len(descriptors) == _TOGETHER:
                        _sync_files(descriptors)
        _sync_files(descriptors)
    finally:
        for descriptor in descriptors:
            os.close(descriptor)
    for directory, _ in inside:
        sync_directory(directory)
    sync_directory(path)


def _sync_files(descriptors: list[int]) -> None:
    """Sync these files and close them."""
    for descriptor in descriptors:
        # Begins to write without waiting, so blocks are allocated for all files before the first
        # sync, and one journal has them all. Otherwise each sync writes its own journal.
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    for descriptor in descriptors:
        os.fdatasync(descriptor)
    while descriptors:
        os.close(descriptors.pop())


def _link(there: str, at: str) -> bool:
    """Link a file to another name; return False if that is not possible."""
    try:
        os.link(there, at)
    except OSError:
        return False
    return True


def _create_anew(path: str, content: bytes) -> int:
    """Create a file in place of another one; return its descriptor."""
    try:
        return _create_whole(path, _NEW, content)
    except FileExistsError:
        os.unlink(path)
        return _create_whole(path, _NEW, content)


def make_directories(path: str) -> None:
    """Make the missing directories of `path`, each durable before the next one."""
    if os.path.exists(path):
        return
    parent = os.path.dirname(os.path.abspath(path))
    make_directories(parent)
    os.mkdir(path)
    sync_directory(parent)
