"""Open files and the leases on them.

The descriptor is closed with the file or its last lease. A closed file has descriptor -1, so a late
call gets EBADF and never another file with the same number. Each call in a thread holds a lease for
the same reason.
"""

import errno
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Final, NoReturn

from attrs import field

from trio_kafka.attributes import define
from trio_kafka.world.protocols import CLOSED, LARGE_RANGE, PIECE, Buffer, RangeCutError
from trio_kafka.world.real.volume import Volume
from trio_kafka.world.recent_writes import RecentBytes

_IOV_MAX: Final = 1024
_NS_IN_MS: Final = 1_000_000
_NOWAIT: Final = os.RWF_NOWAIT
_ONE_BYTE: Final = (bytearray(1),)
_LOOKED_AT: Final = 512 << 10  # bytes ahead that need no other look: a socket takes fewer at once
_preadv: Final = os.preadv
_pwrite: Final = os.pwrite
_pwritev: Final = os.pwritev


@define(eq=False)
class RealLease:
    """See `protocols.Lease`."""

    _file: "RealFile" = field(repr=False)
    key: int
    end: int
    cut: bool = field(default=False, init=False)
    _warm_to: int = field(default=0, init=False)  # the byte before it was in memory

    async def read(self, start: int, limit: int) -> bytes:
        return await self._file.read_leased(self, start, limit)

    def try_read(self, start: int, buffer: bytearray | memoryview) -> int:
        return self._file.try_read_leased(self, start, buffer)

    def is_cold(self, start: int, limit: int) -> bool:
        size = min(limit, self.end - start)
        if size < LARGE_RANGE or self._warm_to - start >= _LOOKED_AT:
            return False
        if self._file.is_cold(self.key, start + size - 1):
            return True
        self._warm_to = start + size
        return False

    def content(self, start: int, limit: int) -> bytes:
        return os.pread(self.key, min(limit, self.end - start), start)

    def release(self) -> None:
        self._file.released(self)


class RealFile:
    """See `protocols.File`. fd: closed by this file. size: None: ask the system."""

    __slots__ = (
        "_broken",
        "_descriptors",
        "_fd",
        "_leases",
        "_recent",
        "_reserved",
        "_volume",
        "append",
        "size",
        "try_read",
    )

    def __init__(self, volume: Volume, fd: int, size: int | None = None) -> None:
        self._volume = volume
        self._fd = fd
        self._leases: dict[RealLease, None] = {}
        self._broken: OSError | None = None
        self._recent: RecentBytes | None = None
        self._reserved = False
        self.size = os.fstat(fd).st_size if size is None else size
        self.append: Callable[[Sequence[Buffer]], int] = self._append
        self.try_read: Callable[[int, bytearray | memoryview], int] = self._try_read
        if volume.blocking:
            self.try_read = self._read_now
        elif not volume.can_refuse(fd):
            recent = self._recent = RecentBytes(volume.writes)
            self.try_read = partial(self._try_recent, recent)
            self.append = partial(self._append_noted, recent)
        self._descriptors = volume.descriptors
        self._descriptors.files += 1

    def _append(self, buffers: Sequence[Buffer]) -> int:
        position = self.size
        try:
            if len(buffers) == 1:  # nearly always
                want = len(buffers[0])
                written = _pwrite(self._fd, buffers[0], position)
            else:
                want = sum(map(len, buffers))
                fit = len(buffers) <= _IOV_MAX
                written = _pwritev(self._fd, buffers, position) if fit else 0
            if written != want:
                # The disk is nearly full, or there are too many buffers: copy, then write or fail.
                self._write_rest(memoryview(b"".join(buffers)), position, written)
        except OSError as error:
            self._take_back(position, error)
            raise
        self.size = position + want
        return position

    def _write_rest(self, data: memoryview, position: int, written: int) -> None:
        while written < len(data):
            written += os.pwrite(self._fd, data[written:], position + written)

    def _take_back(self, size: int, error: BaseException) -> None:
        try:
            os.ftruncate(self._fd, size)
        except OSError as failed:
            self._break(error if isinstance(error, OSError) else failed)

    def _append_noted(self, recent: RecentBytes, buffers: Sequence[Buffer]) -> int:
        position = self._append(buffers)
        recent.wrote(position, self.size - position)
        return position

    def _try_read(self, position: int, buffer: bytearray | memoryview) -> int:
        return _preadv(self._fd, (buffer,), position, _NOWAIT)

    def _try_recent(
        self, recent: RecentBytes, position: int, buffer: bytearray | memoryview
    ) -> int:
        if position < self.size and not recent.holds(position):
            raise BlockingIOError(errno.EAGAIN, "not among the last bytes written")
        return _preadv(self._fd, (buffer,), position)

    def _read_now(self, position: int, buffer: bytearray | memoryview) -> int:
        return _preadv(self._fd, (buffer,), position)

    def reserve(self, size: int) -> None:
        self._check()
        if size > self.size:
            os.ftruncate(self._fd, size)
            if not self._reserved:
                self._reserved = True
                self.try_read = partial(self._try_within, self.try_read)

    def _try_within(
        self,
        try_read: Callable[[int, bytearray | memoryview], int],
        position: int,
        buffer: bytearray | memoryview,
    ) -> int:
        return try_read(position, self._within(position, buffer))

    def _within(self, position: int, buffer: bytearray | memoryview) -> memoryview:
        """Return the part of a buffer below the size, after which there are zeros."""
        return memoryview(buffer)[: max(self.size - position, 0)]

    def trim(self) -> None:
        if self._reserved:
            self._check()
            os.ftruncate(self._fd, self.size)

    def truncate(self, size: int) -> None:
        self._check()
        if size > self.size:
            raise ValueError(f"cannot cut {self.size} bytes to {size}")
        for lease in self._leases:
            lease.cut |= lease.end > size
        os.ftruncate(self._fd, size)
        self.size = size
        if self._recent:
            self._recent.cut(size)

    def measure(self) -> int:
        self._check()
        self.size = min(self.size, os.fstat(self._fd).st_size)
        return self.size

    def modified_ms(self) -> int:
        self._check()
        return os.fstat(self._fd).st_mtime_ns // _NS_IN_MS

    def set_modified_ms(self, time_ms: int) -> None:
        self._check()
        os.utime(self._fd, ns=(time_ms * _NS_IN_MS, time_ms * _NS_IN_MS))

    def lease(self, end: int) -> RealLease:
        if self._broken or self._fd == -1:
            self._check()
        return self._lease(self._fd, end)

    def _lease(self, fd: int, end: int) -> RealLease:
        lease = RealLease(self, fd, end)
        self._leases[lease] = None
        self._descriptors.leases += 1
        return lease

    @property
    def leased(self) -> bool:
        return bool(self._leases)

    def released(self, lease: RealLease) -> None:
        """Note the end of a lease. Idempotent."""
        if lease in self._leases:
            del self._leases[lease]
            self._descriptors.leases -= 1
            if self._fd == -1 and not self._leases:
                self._close(lease.key)
            lease.key = CLOSED

    def close(self) -> None:
        fd, self._fd = self._fd, -1
        if self._broken is None:
            self.append = self.try_read = _refuse_closed  # bound methods would be a cycle
        if fd != -1 and self._reserved:
            with suppress(OSError):  # recovery cuts the zeros
                os.ftruncate(fd, self.size)
        if fd != -1 and not self._leases:
            self._close(fd)

    def _close(self, fd: int) -> None:
        self._descriptors.files -= 1
        os.close(fd)

    async def read(self, position: int, buffer: bytearray | memoryview) -> int:
        lease = self.lease(self.size)
        if self._reserved:
            buffer = self._within(position, buffer)
        try:
            return await self._volume.run(_read_whole, lease.key, position, memoryview(buffer))
        finally:
            lease.release()

    async def read_leased(self, lease: RealLease, start: int, limit: int) -> bytes:
        """See `Lease.read`."""
        if lease.key == CLOSED:
            _refuse_closed()
        buffer = bytearray(max(0, min(limit, lease.end - start)))
        held = self._lease(lease.key, lease.end)  # the caller may release its own meanwhile
        try:
            length = await self._volume.run(_read_whole, held.key, start, memoryview(buffer))
        finally:
            held.release()
        if lease.cut or held.cut:
            raise RangeCutError(f"the file was cut below {lease.end}")
        return bytes(buffer[:length])

    def is_cold(self, fd: int, position: int) -> bool:
        """See `Lease.is_cold`. fd: of this file, which may be closed meanwhile."""
        if self._recent is not None or self._volume.blocking:
            return False
        try:
            _preadv(fd, _ONE_BYTE, position, _NOWAIT)
        except BlockingIOError:
            return True
        return False

    def try_read_leased(self, lease: RealLease, start: int, buffer: bytearray | memoryview) -> int:
        """See `Lease.try_read`. A file that is closed or broken meanwhile is read in a thread."""
        if lease.key == CLOSED:
            _refuse_closed()
        if self._fd == -1 or self._broken:
            raise BlockingIOError(errno.EAGAIN, "closed or broken")
        try:
            return self.try_read(start, memoryview(buffer)[: max(0, lease.end - start)])
        except OSError as error:
            if error.errno == errno.EOPNOTSUPP:  # no byte is known to be in memory
                raise BlockingIOError(errno.EAGAIN, "cold") from None
            raise

    def append_in_pieces(self, data: Buffer, between: Callable[[], None]) -> int:
        """See `File.append_in_pieces`."""
        self._check()
        whole, position = memoryview(data), self.size
        try:
            for begin in range(0, len(whole), PIECE):
                if begin:
                    between()
                self._write_rest(whole[begin : begin + PIECE], position + begin, 0)
        except BaseException as error:  # `between` may raise anything
            self._take_back(position, error)
            raise
        return self._grown(position, len(whole))

    async def append_slow(self, buffers: Sequence[Buffer]) -> int:
        """See `File.append_slow`. The size grows in the loop."""
        lease, position = self.lease(0), self.size
        try:
            size = await self._volume.run_shielded(_write_whole, lease.key, buffers, position)
        except OSError as error:
            self._take_back(position, error)
            raise
        finally:
            lease.release()
        return self._grown(position, size)

    def _grown(self, position: int, size: int) -> int:
        self.size = position + size
        if self._recent:
            self._recent.wrote(position, size)
        return position

    async def sync(self) -> None:
        lease = self.lease(0)
        try:
            await self._volume.run_shielded(os.fdatasync, lease.key)
        except OSError as error:
            self._break(error)  # it is unknown what the kernel has written
            raise
        finally:
            lease.release()

    def _check(self) -> None:
        if self._broken:
            _refuse(self._broken)
        if self._fd == -1:
            _refuse_closed()

    def _break(self, error: OSError) -> None:
        self._broken = error
        self.append = self.try_read = partial(_refuse, error)


def _refuse_closed(*_: object) -> NoReturn:
    raise OSError(errno.EBADF, os.strerror(errno.EBADF))


def _refuse(error: OSError, *_: object) -> NoReturn:
    raise OSError(error.errno, f"broken before: {error.strerror}") from error


def _write_whole(fd: int, buffers: Sequence[Buffer], position: int) -> int:
    """Write all buffers; return the number of bytes."""
    end = position
    for buffer in buffers:
        view, done = memoryview(buffer), 0
        while done < len(view):
            done += os.pwrite(fd, view[done:], end + done)
        end += done
    return end - position


def _read_whole(fd: int, position: int, buffer: memoryview) -> int:
    """Read until the end, as one call reads at most 2 GiB, and less after a signal."""
    done = 0
    while count := _preadv(fd, (buffer[done:],), position + done) if done < len(buffer) else 0:
        done += count
    return done
