"""One simulated run: time, links, faults and the trace, shared by all machines.

Each purpose has its own stream of random numbers, so one more draw for one purpose shifts no other.
"""

import heapq
import zlib
from collections.abc import Callable
from itertools import count
from random import Random
from typing import Any, Protocol

import trio

from trio_kafka.world.clock import SkippingClock
from trio_kafka.world.descriptors import Descriptors
from trio_kafka.world.simulated.faults import CallFaults, Verdict


class SimulatedRun:
    """State of one run of Trio.

    fault: asked before each call at the seam with machine, call and target (a path or an address):
        an OSError is raised by the call (a ConnectionError also resets the connection), a number
        is seconds that the call takes (World's own clock only), None lets it pass. The default asks
        `faults`, the rules.
    cuts: pairs of machines, source and target, between which nothing arrives until it is healed.
    latency: seconds one way. room: bytes in flight and unread in one direction of a connection.
    moody: also simulate what is legal and rare: lost packets, cold and short reads, short sends,
        spurious wakes.
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
        self.faults = CallFaults(self.chance("faults"))
        self.fault: Callable[[str, str, str], Verdict] = self.faults
        self.cuts: set[tuple[str, str]] = set()
        self.machines: dict[str, Any] = {}
        self.trace: list[str] = []
        self.digest = 0
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._order = count()
        self._more = trio.lowlevel.ParkingLot()
        self._delivering = False

    def chance(self, purpose: str) -> Random:
        """Return a new stream of random numbers for a purpose, decided by the seed."""
        return Random(f"{purpose}/{self.seed}")

    def cut(self, one: str, other: str, *, one_way: bool = False) -> None:
        """Cut the link between two machines. one_way: only what `one` sends."""
        self.cuts.add((one, other))
        if not one_way:
            self.cuts.add((other, one))

    def heal(self, one: str, other: str) -> None:
        """Undo `cut`; what was sent meanwhile arrives within 0.2 s."""
        self.cuts -= {(one, other), (other, one)}

    def linked(self, source: str, target: str) -> bool:
        """Return whether packets of `source` reach `target`."""
        return (source, target) not in self.cuts

    def half_open(self, one: str, other: str) -> int:
        """Make the connections between two machines half-open, and return their number.

        As after a firewall has forgotten them: what either end sends is lost, and no end is told.
        An end that sends learns of it after 15 min, as on Linux. New connections work.
        """
        found = 0
        for socket in list(self.machines[one].sockets if one in self.machines else ()):
            if socket.other.world.name == other and not socket.lost:
                socket.lose()
                found += 1
        self.note(one, "half_open", other, found)
        return found

    def at(self, when: float, act: Callable[[], None]) -> None:
        """Call `act` at a time of Trio's clock; calls for one time are made in order."""
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
        """Move the clock: a synchronous call takes time."""
        clock = trio.lowlevel.current_clock()
        if not isinstance(clock, SkippingClock):
            raise TypeError(f"slow calls need a SkippingClock, not {type(clock).__name__}")
        clock.skip(seconds)

    def note(self, machine: str, call: str, target: str, data: object = None) -> None:
        """Add a line to the trace: never a hash, an id or the repr of an object."""
        body = data if isinstance(data, bytes | bytearray | memoryview) else repr(data).encode()
        task = trio.lowlevel.current_task().name
        line = f"{trio.current_time():.6f} {machine} {task} {call} {target} {zlib.crc32(body):08x}"
        self.digest = zlib.crc32(line.encode(), self.digest)
        self.trace.append(line)


class DiskRun(Protocol):
    """What a disk needs to know of a run. See `SimulatedRun`."""

    moody: bool
    nowait: bool
    disk_chance: Random


class DiskMachine(Protocol):
    """A machine, as its files see it. locks: by path. alive: no file is closed after a crash."""

    @property
    def universe(self) -> DiskRun: ...
    @property
    def descriptors(self) -> Descriptors: ...

    alive: bool
    locks: dict[str, object]

    def call(self, call: str, target: str, data: object = None) -> None:
        """Pass a call at the seam: check that the machine is alive, trace, apply faults."""

    async def call_in_thread(self, call: str, target: str, data: object = None) -> None:
        """Pass a call of a thread: a slow one delays no other task."""

    async def pause(self, least: float, most: float) -> None:
        """Wait for a random time; the machine may crash meanwhile."""

    def check(self) -> None:
        """Raise Crashed unless the machine is in this life."""

    def free_space(self) -> int:
        """Return how many bytes files may still grow by."""


class Machine(DiskMachine, Protocol):
    """A simulated machine, as its files, sockets and processes see it. See `SimulatedWorld`.

    listeners: by host and port. sockets, children: those that are open or running.
    started: children so far.
    """

    @property
    def universe(self) -> SimulatedRun: ...

    name: str
    dark: bool
    listeners: dict[tuple[str, int], Any]
    sockets: dict[Any, None]
    children: dict[Any, None]
    programs: dict[str, Any]
    started: int

    def take_key(self) -> int:
        """Return the lowest free number, as for descriptors of a system."""

    def free_key(self, key: int) -> None: ...
