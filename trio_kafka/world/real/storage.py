"""Directories on disk."""

import errno
import fcntl
import os
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final

import trio

from trio_kafka.world.descriptors import is_exhausted
from trio_kafka.world.protocols import Buffer, Directory, Space, check_name
from trio_kafka.world.real.file import RealFile
from trio_kafka.world.real.filesystem_sync import sync_filesystem
from trio_kafka.world.real.volume import Volume

_FILE: Final = os.O_RDWR | os.O_CLOEXEC
_NEW: Final = _FILE | os.O_CREAT | os.O_EXCL
_DIRECTORY: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_MODE: Final = 0o644
_SHARED: Final = 0o777  # of a directory; the system takes away what the umask has
_PRIVATE: Final = 0o700
_TOGETHER: Final = 16  # files that `sync_together` holds open


class RealDirectory:
    """See `protocols.Directory`."""

    def __init__(self, volume: Volume, path: str, *, is_new: bool = False) -> None:
        """Open a directory. is_new: it was created just now."""
        if not is_new and not os.path.isdir(path):
            volume.opened(os.listdir, path)  # raises the system's error
        self.path = path
        self._volume = volume
        self._locked: list[int] = []  # descriptors of locked files

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

    def directory(
        self, name: str, *, create: bool = False, private: bool = False
    ) -> "RealDirectory":
        path, mode = self._at(name), _PRIVATE if private else _SHARED
        return RealDirectory(self._volume, path, is_new=create and _make(path, mode))

    def lock(self, name: str) -> Callable[[], None]:
        fd = self._volume.opened(os.open, self._at(name), _FILE | os.O_CREAT, _MODE)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BaseException:
            os.close(fd)
            raise
        held, descriptors = [fd], self._volume.descriptors
        self._locked.append(fd)
        descriptors.others += 1

        def unlock() -> None:
            while held:
                self._locked.remove(fd)
                os.close(held.pop())
                descriptors.others -= 1

        return unlock

    def resize(self, threads: int) -> None:
        self._volume.limiter.total_tokens = threads

    async def space(self) -> Space:
        status = await self._volume.run_abandoned(os.statvfs, self.path)
        return Space(status.f_blocks * status.f_frsize, status.f_bavail * status.f_frsize)

    async def names_slow(self) -> list[str]:
        return sorted(await self._volume.opened_slow(os.listdir, self.path))

    async def create_slow(
        self, name: str, content: Buffer = b"", *, replace: bool = False
    ) -> RealFile:
        flags = _FILE | os.O_CREAT | os.O_TRUNC if replace else _NEW
        # Shielded, or the descriptor would be lost.
        with trio.CancelScope(shield=True), self._held(name) as (path, held):
            fd = await self._volume.opened_slow(_create_whole, path, flags, content, held)
        return self._take(fd, len(content))

    async def unlink(self, name: str) -> None:
        with self._held(name) as (path, held):
            await self._volume.run(_remove, path, held)

    @contextmanager
    def _held(self, name: str) -> Iterator[tuple[str, int | None]]:
        """Hold this directory for a call in a thread; give the path of a file, and what it is
        relative to.

        Until the thread begins, this directory may be renamed, and another one have its name: a
        file of a new log would be removed. Without a free descriptor the whole path must do.
        """
        path = self._at(name)
        try:
            held = self._volume.opened(os.open, self.path, _DIRECTORY)
        except OSError as error:
            if not is_exhausted(error):
                raise
            yield path, None
            return
        try:
            yield name, held
        finally:
            os.close(held)

    async def sync(self) -> None:
        with trio.CancelScope(shield=True):
            await self._volume.opened_slow(sync_directory, self.path)

    async def sync_all(self, inside: Sequence[Directory]) -> bool:
        paths = [self.path, *(directory.path for directory in inside)]
        with trio.CancelScope(shield=True):
            done: bool = await self._volume.opened_slow(self._sync_all, paths)
        return done

    def _sync_all(self, paths: Sequence[str]) -> bool:
        if self._locked:  # opened before all writes
            return sync_filesystem(self._locked[0], paths)
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


def _make(path: str, mode: int) -> bool:
    """Make a directory; return False if the name exists."""
    try:
        os.mkdir(path, mode)
    except FileExistsError:
        return False
    return True


def _create_whole(path: str, flags: int, content: Buffer, held: int | None = None) -> int:
    """Create a file with content; return its descriptor. held: see `RealDirectory._held`."""
    fd = os.open(path, flags, _MODE, dir_fd=held)
    try:
        view, done = memoryview(content), 0
        while done < len(view):
            done += os.pwrite(fd, view[done:], done)
    except BaseException:
        os.close(fd)
        raise
    return fd


def _remove(path: str, held: int | None) -> None:
    """Remove a file, or an empty directory. held: see `RealDirectory._held`."""
    if stat.S_ISDIR(os.stat(path, dir_fd=held, follow_symlinks=False).st_mode):
        os.rmdir(path, dir_fd=held)
    else:
        os.unlink(path, dir_fd=held)


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
                original = first.setdefault(content, at)
                if original == at or not _link(original, at):
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


def _link(original: str, at: str) -> bool:
    """Link a file to another name; return False if that is not possible."""
    try:
        os.link(original, at)
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
