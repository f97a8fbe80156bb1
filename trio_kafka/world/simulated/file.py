"""Open files of a simulated disk and the leases on them."""

import errno
import os
from collections.abc import Callable, Sequence

import trio
from attrs import field

from trio_kafka.attributes import define
from trio_kafka.world.protocols import CLOSED, LARGE_RANGE, PIECE, Buffer, RangeCutError
from trio_kafka.world.recent_writes import RecentBytes, Writes
from trio_kafka.world.simulated.disk import SECTOR, FileNode
from trio_kafka.world.simulated.run import DiskMachine


@define(eq=False)
class SimulatedLease:
    """See `protocols.Lease`. There is no descriptor: `key` is -1, or CLOSED."""

    _file: "SimulatedFile"
    _node: FileNode
    end: int
    key: int = field(default=-1, init=False)
    cut: bool = field(default=False, init=False)

    def content(self, start: int, limit: int) -> bytes:
        """Return up to `limit` bytes of the range."""
        self._check()
        return bytes(self._node.data[start : min(self.end, start + limit)])

    def try_read(self, start: int, buffer: bytearray | memoryview) -> int:
        self._check()
        return self._file.try_read_leased(start, memoryview(buffer)[: max(0, self.end - start)])

    def is_cold(self, start: int, limit: int) -> bool:
        size = min(limit, self.end - start)
        return size >= LARGE_RANGE and self._file.is_cold(start + size - 1)

    async def read(self, start: int, limit: int) -> bytes:
        self._check()
        await self._file.read_in_thread(start, limit)
        if self.cut:
            raise RangeCutError(f"the file was cut below {self.end}")
        content = bytes(self._node.data[start : min(self.end, start + limit)])
        self._file.warm_up(start, len(content))
        return content

    def release(self) -> None:
        self._file.released(self)

    def _check(self) -> None:
        if self.key == CLOSED:
            raise OSError(errno.EBADF, "the lease was released")


@define(eq=False, kw_only=True)
class SimulatedFile:
    """See `protocols.File`."""

    _world: DiskMachine
    _node: FileNode
    _path: str
    _writes: Writes
    _blocking: bool = field(default=False, kw_only=True)
    _leases: dict[SimulatedLease, None] = field(factory=dict, init=False)
    _broken: OSError | None = field(default=None, init=False)
    _closed: bool = field(default=False, init=False)
    _recent: RecentBytes | None = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._recent = None if self._world.universe.nowait else RecentBytes(self._writes)
        self._world.descriptors.files += 1

    @property
    def node(self) -> FileNode:
        """Node on the disk, for directories that link it."""
        return self._node

    @property
    def size(self) -> int:
        return self._node.size

    def _check(self) -> None:
        if self._broken:
            raise OSError(self._broken.errno, f"broken before: {self._broken.strerror}")
        if self._closed:
            raise OSError(errno.EBADF, "closed")

    def _call(self, call: str, data: object = None) -> None:
        self._world.check()
        self._check()
        self._world.call(call, self._path, data)

    def fill(self, data: bytes) -> None:
        """Replace the content, without waiting or faults."""
        self._check()
        if self.size:
            self._node.truncate(0)
        if data:
            self._append(data)

    def append(self, buffers: Sequence[Buffer]) -> int:
        data = b"".join(buffers)
        self._call("append", data)
        return self._append(data)

    def _append(self, data: bytes) -> int:
        if len(data) > self._world.free_space():
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), self._path)
        position = self.size
        self._node.append(data)
        self._node.modified_s = self._world.wall()
        if self._recent:
            self._recent.wrote(position, len(data))
        return position

    def try_read(self, position: int, buffer: bytearray | memoryview) -> int:
        self._call("try_read", (position, len(buffer)))
        warm = self._warm(position, min(len(buffer), max(self.size - position, 0)))
        return self._copy(position, memoryview(buffer)[:warm])

    def _warm(self, position: int, size: int) -> int:
        """Return how many of `size` bytes can be read without waiting."""
        universe, cold = self._world.universe, self._node.cold
        if not size or self._blocking:
            return size
        if self._recent:
            warm = size if self._recent.holds(position) else 0
        else:
            warm = size if cold is None else min(size, max(cold - position, 0))
            if universe.moody and (mood := universe.disk_chance.random()) < 0.1:
                warm = universe.disk_chance.randrange(0, warm + 1, SECTOR) if mood < 0.05 else 0
        if not warm:
            raise BlockingIOError(errno.EAGAIN, "not in the page cache")
        return warm

    def _copy(self, position: int, buffer: memoryview) -> int:
        content = self._node.data[position : position + len(buffer)]
        buffer[: len(content)] = content
        return len(content)

    def try_read_leased(self, position: int, buffer: memoryview) -> int:
        """See `Lease.try_read`."""
        if self._closed or self._broken:
            raise BlockingIOError(errno.EAGAIN, "closed or broken")
        return self.try_read(position, buffer)

    def is_cold(self, position: int) -> bool:
        """See `Lease.is_cold`. Reads no chance: the run is that of one without these looks."""
        cold = self._node.cold
        return self._recent is None and cold is not None and position >= cold

    def warm_up(self, position: int, size: int) -> None:
        """Note bytes that were read from the disk, as a prefix that is in the page cache."""
        if self._node.cold is not None and position <= self._node.cold:
            self._node.cold = max(self._node.cold, position + size)

    def chill(self, position: int = 0) -> None:
        """Remove bytes from `position` on from the page cache, for tests."""
        self._node.cold = position

    def reserve(self, size: int) -> None:
        self._call("reserve", size)
        self._node.reserved = max(size, self.size)

    def trim(self) -> None:
        if self._node.reserved:
            self._call("trim")
            self._node.reserved = 0

    def truncate(self, size: int) -> None:
        self._call("truncate", size)
        if size > self.size:
            raise ValueError(f"cannot cut {self.size} bytes to {size}")
        for lease in self._leases:
            lease.cut |= lease.end > size
        self._node.truncate(size)
        self._node.modified_s = self._world.wall()
        if self._recent:
            self._recent.cut(size)

    def measure(self) -> int:
        self._call("measure")
        return self.size

    def modified_ms(self) -> int:
        self._call("modified")
        return int(self._node.modified_s * 1000)

    def set_modified_ms(self, time_ms: int) -> None:
        self._call("set_modified", time_ms)
        self._node.modified_s = time_ms / 1000

    def lease(self, end: int) -> SimulatedLease:
        self._world.check()
        self._check()
        lease = SimulatedLease(self, self._node, end)
        self._leases[lease] = None
        self._world.descriptors.leases += 1
        return lease

    @property
    def leased(self) -> bool:
        return bool(self._leases)

    def released(self, lease: SimulatedLease) -> None:
        """Note the end of a lease. Idempotent."""
        if lease in self._leases:
            del self._leases[lease]
            self._world.descriptors.leases -= 1
            lease.key = CLOSED

    def close(self) -> None:
        if self._world.alive and not self._closed:
            self._node.reserved = 0
        if not self._closed:
            self._world.descriptors.files -= 1
        self._closed = True

    async def read_in_thread(self, start: int, limit: int) -> None:
        """Wait for as long as a thread may take to read from a lease, which the file may not
        outlive.
        """
        await self._world.call_in_thread("read", self._path, (start, limit))
        await self._world.pause(1e-4, 5e-3)

    async def read(self, position: int, buffer: bytearray | memoryview) -> int:
        self._call("read", (position, len(buffer)))
        lease = self.lease(self.size)
        try:
            await self._world.pause(1e-4, 5e-3)
        finally:
            lease.release()
        length = self._copy(position, memoryview(buffer))
        self.warm_up(position, length)
        return length

    def append_in_pieces(self, data: Buffer, between: Callable[[], None]) -> int:
        content = bytes(data)
        self._call("append", content)
        for _ in range(PIECE, len(content), PIECE):
            between()
        self._check()
        return self._append(content)

    async def append_slow(self, buffers: Sequence[Buffer]) -> int:
        self._check()
        data = b"".join(buffers)
        lease = self.lease(0)
        try:
            with trio.CancelScope(shield=True):
                await self._world.pause(1e-4, 5e-3)
                self._check()
                await self._world.call_in_thread("append", self._path, data)
        finally:
            lease.release()
        return self._append(data)

    async def sync(self) -> None:
        changes = self._node.changes
        self._world.check()
        self._check()
        lease = self.lease(0)
        try:
            with trio.CancelScope(shield=True):
                await self._sync_in_thread()
        finally:
            lease.release()
        self._node.sync(changes)

    async def _sync_in_thread(self) -> None:
        try:
            await self._world.call_in_thread("sync", self._path)
        except OSError as error:
            self._broken = error
            raise
        await self._world.pause(1e-3, 3e-2)
