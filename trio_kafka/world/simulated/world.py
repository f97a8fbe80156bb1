"""World of a simulated machine."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import TypeVar, TypeVarTuple

import trio
from attrs import field

from trio_kafka.attributes import define
from trio_kafka.world.clock import EPOCH
from trio_kafka.world.protocols import check_name
from trio_kafka.world.recent_writes import Writes
from trio_kafka.world.simulated.child import SimulatedChild, start_child
from trio_kafka.world.simulated.disk import DirectoryNode, Link
from trio_kafka.world.simulated.network import SimulatedNetwork
from trio_kafka.world.simulated.run import Machine
from trio_kafka.world.simulated.storage import SimulatedDirectory, check_worker, find_directory
from trio_kafka.world.world import Job, WatchdogThread

T = TypeVar("T")
Ts = TypeVarTuple("Ts")


class SimulatedClock:
    """Clock of a machine. Elapsed time is that of the run; wall time may drift and step."""

    def __init__(self) -> None:
        self.elapsed = trio.current_time
        self.waits = None  # time passes only in waits
        self._ahead = 0.0
        self._rate = 0.0
        self._since = 0.0

    def wall(self) -> float:
        now = trio.current_time()
        return EPOCH + now + self._ahead + self._rate * (now - self._since)

    def wall_of(self, timestamp_ms: int, place: Hashable, offset: int) -> int:
        """Return the moment itself: the clocks of all machines pass with virtual time."""
        del place, offset
        return timestamp_ms

    def drift(self, rate: float) -> None:
        """Let wall time gain `rate` seconds in a second from now on; negative: lose them."""
        now = trio.current_time()
        self._ahead += self._rate * (now - self._since)
        self._rate, self._since = rate, now

    def step(self, seconds: float) -> None:
        """Move wall time, as a correction by NTP does. seconds: may be negative."""
        self._ahead += seconds


@define(eq=False, slots=False)
class SimulatedWorld(Machine):
    """One life of a machine. See `world.World`. After `crash` each call raises Crashed."""

    simulated: bool = field(default=True, init=False)
    clock: SimulatedClock = field(factory=SimulatedClock, init=False)

    def __attrs_post_init__(self) -> None:
        self.network = SimulatedNetwork(self)
        self.random = self.universe.chance(f"{self.name}/{self.life}")
        self.random_bytes = self.random.randbytes

    def wall(self) -> float:
        """See `DiskMachine`."""
        return self.clock.wall()

    def absolute_path(self, path: str) -> str:
        return "/" + "/".join(part for part in path.split("/") if part)

    def directory(
        self,
        path: str,
        *,
        create: bool = False,
        threads: int = 4,  # noqa: ARG002 - part of the interface; there are no threads
    ) -> SimulatedDirectory:
        self.call("directory", path)
        return self._directory(path, create=create)

    def _directory(
        self, path: str, *, create: bool = False, blocking: bool = False
    ) -> SimulatedDirectory:
        node = self.disk
        for name in [part for part in path.split("/") if part]:
            if create and check_name(name) not in node.names:
                node.change(Link(name, DirectoryNode()))
                node.sync(node.changes)
            node = find_directory(node, name)
        return SimulatedDirectory(
            world=self, node=node, path=path.rstrip("/"), writes=Writes(), blocking=blocking
        )

    async def run_in_thread(self, call: Callable[[*Ts], T], *args: *Ts) -> T:
        with trio.CancelScope(shield=True):
            await self.pause(1e-5, 1e-3)
        return call(*args)

    async def run_beside(self, call: Callable[[*Ts], T], *args: *Ts) -> T:
        await self.pause(1e-5, 1e-3)
        return call(*args)

    async def run_watchdog_thread(
        self,
        watch: Callable[[WatchdogThread], None],  # noqa: ARG002 - part of the interface; no thread runs
        *,
        task_status: trio.TaskStatus[None],
    ) -> None:
        task_status.started()
        await trio.sleep_forever()

    has_processes = False

    async def run_in_process(
        self,
        job: Job[*Ts, T],
        path: str,
        *args: *Ts,
    ) -> T:
        steps = job(self._directory(path, blocking=True), *args)
        started = trio.current_time()
        while True:  # at each step the machine may crash, and the process may end
            await self.pause(1e-4, 1e-3)
            check_worker(self, path)
            try:
                due_s = next(steps)
            except StopIteration as stop:
                result: T = stop.value
                return result
            if due_s is not None:
                await trio.sleep_until(started + due_s)

    def kept_workers(self) -> AbstractAsyncContextManager[None]:
        """Do nothing: there are no processes."""
        return nullcontext()

    async def start_child(
        self, command: Sequence[str], *, environment: Mapping[str, str], directory: str
    ) -> SimulatedChild:
        self.call("start_child", command[0])
        await self.pause(1e-4, 1e-3)
        return start_child(self, command, environment, directory=directory)
