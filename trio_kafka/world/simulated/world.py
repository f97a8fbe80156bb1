"""World of a simulated machine."""

from collections.abc import Callable, Generator, Mapping, Sequence
from typing import Any, TypeVar

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
from trio_kafka.world.simulated.storage import SimulatedDirectory, find_directory
from trio_kafka.world.world import WatchdogThread

T = TypeVar("T")


class SimulatedClock:
    """Wall time and elapsed time are those of the run."""

    def __init__(self) -> None:
        self.elapsed = trio.current_time
        self.waits = None  # time passes only in waits

    def wall(self) -> float:
        return EPOCH + trio.current_time()


@define(eq=False, slots=False)
class SimulatedWorld(Machine):
    """One life of a machine. See `world.World`. After `crash` each call raises Crashed."""

    simulated: bool = field(default=True, init=False)
    clock: SimulatedClock = field(factory=SimulatedClock, init=False)

    def __attrs_post_init__(self) -> None:
        self.network = SimulatedNetwork(self)
        self.random = self.universe.chance(f"{self.name}/{self.life}")
        self.random_bytes = self.random.randbytes

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
