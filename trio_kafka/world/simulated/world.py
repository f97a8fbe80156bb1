"""World of a simulated machine."""

import heapq
from collections.abc import Callable, Generator, Mapping, Sequence
from typing import Any, Final, TypeVar

import trio

from trio_kafka.world.clock import EPOCH
from trio_kafka.world.descriptors import Descriptors
from trio_kafka.world.memory import discard, new_buffer
from trio_kafka.world.protocols import check_name
from trio_kafka.world.recent_writes import Writes
from trio_kafka.world.simulated.child import Program, SimulatedChild, start_child
from trio_kafka.world.simulated.disk import DirectoryNode, Link
from trio_kafka.world.simulated.faults import PowerLoss
from trio_kafka.world.simulated.network import MemoryListener, SimulatedNetwork
from trio_kafka.world.simulated.run import SimulatedRun
from trio_kafka.world.simulated.socket import MemorySocket
from trio_kafka.world.simulated.storage import SimulatedDirectory, find_directory
from trio_kafka.world.world import Crashed, WatchdogThread

T = TypeVar("T")
_PLENTY: Final = 1 << 40


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

    def drift(self, rate: float) -> None:
        """Let wall time gain `rate` seconds in a second from now on; negative: lose them."""
        now = trio.current_time()
        self._ahead += self._rate * (now - self._since)
        self._rate, self._since = rate, now

    def step(self, seconds: float) -> None:
        """Move wall time, as a correction by NTP does. seconds: may be negative."""
        self._ahead += seconds


class SimulatedWorld:
    """One life of a machine. See `world.World`. After `crash` each call raises Crashed.

    dark: switched off, so packets get no answer. capacity: bytes of the disk; None: unbounded.
    programs: functions that `start_child` runs, by the first word of a command.
    """

    simulated = True

    def __init__(
        self,
        universe: SimulatedRun,
        name: str,
        disk: DirectoryNode,
        life: int,
        clock: SimulatedClock,
    ) -> None:
        self.universe = universe
        self.name = name
        self.disk = disk
        self.life = life
        self.alive = True
        self.dark = False
        self.capacity: int | None = None
        self.clock = clock
        self.descriptors = Descriptors()
        self.network = SimulatedNetwork(self)
        self.random = universe.chance(f"{name}/{life}")
        self.random_bytes = self.random.randbytes
        self.sockets: dict[MemorySocket, None] = {}
        self.programs: dict[str, Program] = {}
        self.children: dict[SimulatedChild, None] = {}
        self.started = 0
        self.locks: dict[str, object] = {}
        self.listeners: dict[tuple[str, int], MemoryListener] = {}
        self._free_keys: list[int] = []
        self._next_key = 3

    def call(self, call: str, target: str, data: object = None) -> None:
        """Pass a call at the seam: check that the machine is alive, trace, apply faults."""
        if seconds := self._judge(call, target, data):
            self.universe.skip(seconds)

    async def call_in_thread(self, call: str, target: str, data: object = None) -> None:
        """Pass a call of a thread: a slow one delays no other task."""
        await trio.sleep(self._judge(call, target, data))
        self.check()

    def _judge(self, call: str, target: str, data: object) -> float:
        self.check()
        self.universe.note(self.name, call, target, data)
        verdict = self.universe.fault(self.name, call, target)
        if isinstance(verdict, PowerLoss):
            self.crash(kept=verdict.kept)
            raise Crashed
        if isinstance(verdict, OSError):
            raise verdict
        return verdict or 0.0

    async def pause(self, least: float, most: float) -> None:
        """Wait for a random time; the machine may crash meanwhile."""
        await trio.sleep(self.universe.time_chance.uniform(least, most))
        self.check()

    def check(self) -> None:
        """Raise Crashed unless the machine is in this life."""
        if not self.alive:
            raise Crashed

    def free_space(self) -> int:
        """Return how many bytes files may still grow by."""
        return _PLENTY if self.capacity is None else max(self.capacity - self.disk.size, 0)

    def take_key(self) -> int:
        """Return the lowest free number, as for descriptors: keys are reused soon."""
        if self._free_keys:
            return heapq.heappop(self._free_keys)
        self._next_key += 1
        return self._next_key

    def free_key(self, key: int) -> None:
        heapq.heappush(self._free_keys, key)

    def crash(self, *, power: bool = True, kept: float = 0.5) -> None:
        """End this life. Call it before cancelling tasks, so that no `finally` acts on the world.

        power: power loss: unsynced writes tear, and peers hear nothing until the next life answers
            with resets. False: kill -9: the page cache stays, and the kernel resets the peers.
        kept: see `disk`.
        """
        if not self.alive:
            return
        self.universe.note(self.name, "crash", "power" if power else "kill")
        self.alive = False
        self.dark = power
        self.listeners.clear()
        for socket in list(self.sockets):
            socket.die(silent=power)
        for child in self.children:
            child.process.die(-9)
        if power:
            self.disk.lose_power(self.universe.disk_chance, kept)

    def buffer(self, size: int) -> memoryview:
        return new_buffer(size)

    def discard(self, buffer: memoryview) -> None:
        discard(buffer)

    def directory(
        self,
        path: str,
        *,
        create: bool = False,
        threads: int = 4,  # noqa: ARG002 - part of the interface; there are no threads
    ) -> SimulatedDirectory:
        self.call("directory", path)
        node = self.disk
        for name in [part for part in path.split("/") if part]:
            if create and check_name(name) not in node.names:
                node.change(Link(name, DirectoryNode()))
                node.sync(node.changes)
            node = find_directory(node, name)
        return SimulatedDirectory(self, node, path.rstrip("/"), Writes())

    async def run_in_thread(self, call: Callable[..., T], *args: Any) -> T:
        with trio.CancelScope(shield=True):
            await self.pause(1e-5, 1e-3)
        return call(*args)

    async def run_beside(self, call: Callable[..., T], *args: Any) -> T:
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

    async def run_in_process(
        self, job: Callable[..., Generator[None, None, T]], path: str, *args: Any
    ) -> T:
        steps = job(self.directory(path), *args)
        while True:  # at each step the machine may crash
            await self.pause(1e-4, 1e-3)
            try:
                next(steps)
            except StopIteration as stop:
                result: T = stop.value
                return result

    async def start_child(
        self, command: Sequence[str], *, environment: Mapping[str, str], directory: str
    ) -> SimulatedChild:
        self.call("start_child", command[0])
        await self.pause(1e-4, 1e-3)
        return start_child(self, command, environment, directory)
