"""Everything that one simulated run shares: time, links, disks, faults and the trace.

Streams of chance are apart, one for each purpose, so that one more draw here shifts nothing there.
One Universe is for one run of Trio; in virtual time and in one order by `run`, or on any clock of a
test.
"""

import heapq
import zlib
from collections.abc import Awaitable, Callable
from functools import partial
from itertools import count
from random import Random
from typing import TypeVar

import trio

from trio_kafka.world.clock import SkippingClock
from trio_kafka.world.scheduling import simulate
from trio_kafka.world.simulated.disk import DirectoryNode
from trio_kafka.world.simulated.world import SimulatedWorld

T = TypeVar("T")
Verdict = float | OSError | None


def no_fault(machine: str, call: str, target: str) -> Verdict:  # noqa: ARG001 - a rule's signature
    """The rule that lets every call pass."""
    return None


class Universe:
    """One run.

    fault: asked before each call at the seam with machine, call and target (a path or an address):
        an OSError is raised by the call (a ConnectionError also resets the connection), a number
        is seconds that the call takes (World's own clock only), None lets it pass.
    cuts: pairs of machines whose link is cut; what is sent meanwhile arrives once it is healed.
    latency: seconds one way; room: bytes under way and unread in one direction of a connection.
    moody: also what is legal and rare: lost packets, cold and short reads, short sends, spurious
        wakes.
    nowait: False: a file system that cannot say that a read would wait (as tmpfs).
    """

    def __init__(
        self,
        seed: object = 0,
        *,
        latency: float = 0.0005,
        room: int = 1 << 16,
        moody: bool = False,
        nowait: bool = True,
    ) -> None:
        self.seed = seed
        self.latency = latency
        self.room = room
        self.moody = moody
        self.nowait = nowait
        self.network_chance = self.chance("network")
        self.disk_chance = self.chance("disk")
        self.time_chance = self.chance("time")
        self.fault: Callable[[str, str, str], Verdict] = no_fault
        self.cuts: set[frozenset[str]] = set()
        self.machines: dict[str, SimulatedWorld] = {}
        self.trace: list[str] = []
        self.digest = 0
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._order = count()
        self._more = trio.lowlevel.ParkingLot()
        self._delivering = False

    def chance(self, purpose: str) -> Random:
        """A new stream of chance: the seed's and the purpose's."""
        return Random(f"{purpose}/{self.seed}")

    def run(self, main: "Callable[[Universe], Awaitable[T]]") -> T:
        """Run `main(self)` in virtual time; all follows from the seed. Deadlock where all waits."""
        return simulate(self.seed, partial(main, self))

    def machine(self, name: str) -> SimulatedWorld:
        """A new life of that machine, on what its disk has kept."""
        before = self.machines.get(name)
        if before is not None and before.alive:
            raise ValueError(f"machine {name} is alive: want a crash first")
        disk = before.disk if before else DirectoryNode()
        self.machines[name] = SimulatedWorld(self, name, disk, before.life + 1 if before else 0)
        return self.machines[name]

    def cut(self, one: str, other: str) -> None:
        """Cut the link between two machines."""
        self.cuts.add(frozenset((one, other)))

    def heal(self, one: str, other: str) -> None:
        """Undo `cut`; what waits arrives within 0.2 s."""
        self.cuts.discard(frozenset((one, other)))

    def linked(self, one: str, other: str) -> bool:
        return frozenset((one, other)) not in self.cuts

    def at(self, when: float, act: Callable[[], None]) -> None:
        """Let `act` happen at that time of Trio's clock; of two at one time the older is first."""
        heapq.heappush(self._events, (when, next(self._order), act))
        if not self._delivering:
            # A system task needs no nursery and ends with the run: a world works in any test.
            self._delivering = True
            trio.lowlevel.spawn_system_task(self._deliver, name="universe")
        self._more.unpark_all()

    async def _deliver(self) -> None:
        while True:
            while self._events and self._events[0][0] <= trio.current_time():
                heapq.heappop(self._events)[2]()
            with trio.move_on_at(self._events[0][0] if self._events else float("inf")):
                await self._more.park()

    def skip(self, seconds: float) -> None:
        """A synchronous call takes time."""
        clock = trio.lowlevel.current_clock()
        if not isinstance(clock, SkippingClock):
            raise TypeError(f"slow calls need a SkippingClock, not {type(clock).__name__}")
        clock.skip(seconds)

    def note(self, machine: str, call: str, target: str, data: object = None) -> None:
        """One line of the trace: never a hash, an id or the repr of an object."""
        body = data if isinstance(data, bytes | bytearray | memoryview) else repr(data).encode()
        task = trio.lowlevel.current_task().name
        line = f"{trio.current_time():.6f} {machine} {task} {call} {target} {zlib.crc32(body):08x}"
        self.digest = zlib.crc32(line.encode(), self.digest)
        self.trace.append(line)
