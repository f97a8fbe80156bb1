"""World of a real machine whose files are in memory: real sockets, threads and processes.

The disk is that of the simulated world, without its waits. It outlives the world: a second world
on the same disk is a restart. Files take twice their size, as unsynced bytes are kept for
`lose_power`; there are no descriptors, and responses are copied instead of sent by the kernel.
"""

import os
import time
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, nullcontext
from random import Random
from typing import Final, TypeVar, TypeVarTuple

import trio

from trio_kafka.world.clock import SkippingClock
from trio_kafka.world.descriptors import Descriptors
from trio_kafka.world.protocols import Directory
from trio_kafka.world.real.clock import MachineClock
from trio_kafka.world.real.world import RealWorld
from trio_kafka.world.recent_writes import Writes
from trio_kafka.world.simulated.disk import DirectoryNode, Link
from trio_kafka.world.simulated.faults import CallFaults, PowerLoss, Verdict
from trio_kafka.world.simulated.storage import SimulatedDirectory, check_worker, find_directory
from trio_kafka.world.world import Crashed, Job

T = TypeVar("T")
Ts = TypeVarTuple("Ts")
_PLENTY: Final = 1 << 40


class _Calm:
    """Run in which a disk does nothing rare."""

    moody = False
    nowait = True
    disk_chance = Random(0)


class MemoryDisk:
    """Files in memory, in one life of a machine.

    alive: False after a crash. capacity: bytes; None: unbounded.
    fault: asked before each call, as that of a simulated run: with the name "memory", the call and
        the path. An OSError is raised by the call, a number is seconds that it takes.
    wall: returns seconds since 1970, of the world that uses the disk.
    """

    def __init__(self, root: DirectoryNode | None = None) -> None:
        self.root = DirectoryNode() if root is None else root
        self.universe = _Calm()
        self.descriptors = Descriptors(simulated=True)
        self.locks: dict[str, object] = {}
        self.capacity: int | None = None
        self.faults = CallFaults(Random(0))
        self.fault: Callable[[str, str, str], Verdict] = self.faults
        self.alive = True
        self.wall: Callable[[], float] = time.time

    def next_life(self) -> "MemoryDisk":
        """Return the same files without locks, for a restart; calls on this disk raise Crashed."""
        self.alive = False
        disk = MemoryDisk(self.root)
        disk.capacity, disk.faults, disk.fault = self.capacity, self.faults, self.fault
        return disk

    def crash(self) -> None:
        """End this life: each call raises Crashed, so that no clean-up acts on the files."""
        self.alive, self.descriptors.ended = False, True

    def lose_power(self, chance: Random, kept: float = 0.5) -> None:
        """Lose bytes and names that were not synced. kept: see `simulated.disk`."""
        self.alive, self.descriptors.ended = False, True
        self.root.lose_power(chance, kept)

    def directory(self, path: str, *, create: bool, blocking: bool = False) -> Directory:
        """Open a directory; see `World.directory`. blocking: reads wait instead of raising."""
        self.check()
        node = self.root
        for name in [part for part in path.split("/") if part]:
            if create and name not in node.names:
                node.change(Link(name, DirectoryNode()))
                node.sync(node.changes)
            node = find_directory(node, name)
        return SimulatedDirectory(
            world=self, node=node, path=path.rstrip("/"), writes=Writes(), blocking=blocking
        )

    # --- the machine of the files

    def check(self) -> None:
        if not self.alive:
            raise Crashed

    def call(self, call: str, target: str, data: object = None) -> None:
        if seconds := self._judge(call, target, data):
            time.sleep(seconds)  # a disk that blocks the loop does just that

    async def call_in_thread(self, call: str, target: str, data: object = None) -> None:
        await trio.sleep(self._judge(call, target, data))
        self.check()

    def _judge(self, call: str, target: str, data: object) -> float:
        del data
        self.check()
        verdict = self.fault("memory", call, target)
        if isinstance(verdict, PowerLoss):
            self.lose_power(Random(0), verdict.kept)
            raise Crashed
        if isinstance(verdict, OSError):
            raise verdict
        return verdict or 0.0

    async def pause(self, least: float, most: float) -> None:
        del least, most  # memory needs no time
        await trio.lowlevel.checkpoint()
        self.check()

    def free_space(self) -> int:
        return _PLENTY if self.capacity is None else max(self.capacity - self.root.size, 0)


class InMemoryWorld(RealWorld):
    """See `world.World`. disk: None: an empty one."""

    def __init__(
        self,
        clock: MachineClock | SkippingClock | None = None,
        *,
        disk: MemoryDisk | None = None,
        descriptors: int | None = None,
    ) -> None:
        super().__init__(clock, descriptors=descriptors)
        self.disk = disk or MemoryDisk()
        self.disk.wall = self.clock.wall

    def directory(self, path: str, *, create: bool = False, threads: int = 4) -> Directory:
        del threads  # nothing waits
        return self._directory(path, create=create)

    def _directory(self, path: str, *, create: bool = False, blocking: bool = False) -> Directory:
        return self.disk.directory(os.path.abspath(path), create=create, blocking=blocking)

    @property
    def has_processes(self) -> bool:
        return False

    async def run_in_process(
        self,
        job: Job[*Ts, T],
        path: str,
        *args: *Ts,
    ) -> T:
        """Run the job in this process: another one does not have the files."""
        steps = job(self._directory(path, blocking=True), *args)
        started = trio.current_time()
        while True:
            await trio.lowlevel.checkpoint()
            check_worker(self.disk, path)
            try:
                due_s = next(steps)
            except StopIteration as stop:
                result: T = stop.value
                return result
            if due_s is not None:
                await trio.sleep_until(started + due_s)

    def kept_workers(self) -> AbstractAsyncContextManager[None]:
        """Do nothing: jobs run in this process."""
        return nullcontext()
