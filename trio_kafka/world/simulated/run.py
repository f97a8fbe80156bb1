"""One simulated run: time, links, faults and the trace, shared by all machines.

Each purpose has its own stream of random numbers, so one more draw for one purpose shifts no other.
"""

import heapq
import zlib
from collections.abc import Callable, Iterator, Mapping
from itertools import count
from random import Random
from typing import Any, Final, Protocol

import trio
from attrs import field

from trio_kafka.attributes import define
from trio_kafka.world.clock import SkippingClock
from trio_kafka.world.descriptors import Descriptors
from trio_kafka.world.simulated.disk import DirectoryNode
from trio_kafka.world.simulated.faults import CallFaults, PowerLoss, Verdict
from trio_kafka.world.world import Crashed

_PLENTY: Final = 1 << 40


@define(eq=False, slots=False)
class SimulatedRun:
    """State of one run of Trio.

    fault: asked before each call to the world with machine, call and target (a path or an address):
        an OSError is raised by the call (a ConnectionError also resets the connection), a number
        is seconds that the call takes (World's own clock only), None lets it pass. The default asks
        `faults`, the rules.
    names: names that stand for several machines, as in DNS.
    cuts: pairs of machines, source and target, between which nothing arrives until it is healed.
    latency: seconds one way. room: bytes in flight and unread in one direction of a connection.
    moody: also simulate what is legal and rare: lost packets, cold and short reads, short sends,
        spurious wakes.
    nowait: False: a file system that cannot say that a read would wait (as tmpfs).
    """

    seed: object = 0
    latency: float = field(default=0.0005, kw_only=True)
    room: int = field(default=1 << 16, kw_only=True)
    moody: bool = field(default=False, kw_only=True)
    nowait: bool = field(default=True, kw_only=True)
    faults: CallFaults = field(init=False)
    fault: Callable[[str, str, str], Verdict] = field(init=False)
    cuts: set[tuple[str, str]] = field(factory=set, init=False)
    machines: "Mapping[str, Machine]" = field(factory=dict, init=False)
    names: dict[str, tuple[str, ...]] = field(factory=dict, init=False)
    trace: list[str] = field(factory=list, init=False)
    digest: int = field(default=0, init=False)
    _events: list[tuple[float, int, Callable[[], None]]] = field(factory=list, init=False)
    _order: Iterator[int] = field(factory=count, init=False)
    _more: trio.lowlevel.ParkingLot = field(factory=trio.lowlevel.ParkingLot, init=False)
    _delivering: bool = field(default=False, init=False)

    def __attrs_post_init__(self) -> None:
        self.network_chance = self.chance("network")
        self.disk_chance = self.chance("disk")
        self.time_chance = self.chance("time")
        self.fault = self.faults = CallFaults(self.chance("faults"))

    def chance(self, purpose: str) -> Random:
        """Return a new stream of random numbers for a purpose, decided by the seed."""
        return Random(f"{purpose}/{self.seed}")

    def cut(self, first: str, second: str, *, one_way: bool = False) -> None:
        """Cut the link between two machines. one_way: only what `first` sends."""
        self.cuts.add((first, second))
        if not one_way:
            self.cuts.add((second, first))

    def heal(self, first: str, second: str) -> None:
        """Undo `cut`; what was sent meanwhile arrives within 0.2 s."""
        self.cuts -= {(first, second), (second, first)}

    def linked(self, source: str, target: str) -> bool:
        """Return whether packets of `source` reach `target`."""
        return (source, target) not in self.cuts

    def half_open(self, first: str, second: str) -> int:
        """Make the connections between two machines half-open, and return their number.

        As after a firewall has forgotten them: what either end sends is lost, without a reset.
        An end that sends learns of it after 15 min, as on Linux. New connections work.
        """
        count = 0
        for socket in list(self.machines[first].sockets if first in self.machines else ()):
            if socket.other.world.name == second and not socket.lost:
                socket.lose()
                count += 1
        self.note(first, "half_open", second, data=count)
        return count

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

    def note(self, machine: str, call: str, target: str, *, data: object = None) -> None:
        """Add a line to the trace: never a hash, an id or the repr of an object."""
        body = data if isinstance(data, bytes | bytearray | memoryview) else repr(data).encode()
        task = trio.lowlevel.current_task().name
        line = f"{trio.current_time():.6f} {machine} {task} {call} {target} {zlib.crc32(body):08x}"
        self.digest = zlib.crc32(line.encode(), self.digest)
        self.trace.append(line)


class DiskRun(Protocol):
    """A run as its disks see it. See `SimulatedRun`."""

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
    capacity: int | None
    locks: dict[str, object]

    def call(self, call: str, target: str, data: object = None) -> None:
        """Pass a call to the world: check that the machine is alive, trace, apply faults."""

    async def call_in_thread(self, call: str, target: str, data: object = None) -> None:
        """Pass a call of a thread: a slow one delays no other task."""

    async def pause(self, least: float, most: float) -> None:
        """Wait for a random time; the machine may crash meanwhile."""

    def wall(self) -> float:
        """Return seconds since 1970."""

    def check(self) -> None:
        """Raise Crashed unless the machine is in this life."""

    def free_space(self) -> int:
        """Return the number of bytes that can still be written to the disk."""


class OpenSocket(Protocol):
    """One end of a simulated connection, as its machine sees it."""

    @property
    def lost(self) -> bool: ...
    @property
    def other(self) -> "OpenSocket": ...
    @property
    def world(self) -> "Machine": ...
    def lose(self) -> None: ...
    def die(self, *, silent: bool) -> None: ...


class RunningChild(Protocol):
    """A simulated process, as its machine sees it."""

    def die(self, status: int) -> None: ...


@define(eq=False, slots=False, kw_only=True)
class Machine:
    """One life of a simulated machine, as its files, sockets and processes see it.

    alive: in this life. dark: switched off, so packets get no answer.
    capacity: bytes of the disk; None: unbounded.
    listeners: by host and port. locks: by path. sockets, children: those that are open or running.
    programs: functions that `start_child` runs, by the first word of a command.
    started: children so far.
    """

    universe: SimulatedRun
    name: str
    disk: DirectoryNode
    life: int
    alive: bool = field(default=True, init=False)
    dark: bool = field(default=False, init=False)
    capacity: int | None = field(default=None, init=False)
    descriptors: Descriptors = field(factory=lambda: Descriptors(simulated=True), init=False)
    listeners: dict[tuple[str, int], Any] = field(factory=dict, init=False)
    locks: dict[str, object] = field(factory=dict, init=False)
    sockets: "dict[OpenSocket, None]" = field(factory=dict, init=False)
    children: "dict[RunningChild, None]" = field(factory=dict, init=False)
    programs: dict[str, Any] = field(factory=dict, init=False)
    started: int = field(default=0, init=False)
    _free_keys: list[int] = field(factory=list, init=False)
    _next_key: int = field(default=3, init=False)

    def call(self, call: str, target: str, data: object = None) -> None:
        """Pass a call to the world: check that the machine is alive, trace, apply faults."""
        if seconds := self._judge(call, target, data):
            self.universe.skip(seconds)

    async def call_in_thread(self, call: str, target: str, data: object = None) -> None:
        """Pass a call of a thread: a slow one delays no other task."""
        await trio.sleep(self._judge(call, target, data))
        self.check()

    def _judge(self, call: str, target: str, data: object) -> float:
        self.check()
        self.universe.note(self.name, call, target, data=data)
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
        self.descriptors.ended = True
        self.dark = power
        self.listeners.clear()
        for socket in list(self.sockets):
            socket.die(silent=power)
        for child in self.children:
            child.die(-9)
        if power:
            self.disk.lose_power(self.universe.disk_chance, kept)

    def free_space(self) -> int:
        """Return the number of bytes that can still be written to the disk."""
        return _PLENTY if self.capacity is None else max(self.capacity - self.disk.size, 0)

    def take_key(self) -> int:
        """Return the lowest free number, as for descriptors: keys are reused soon."""
        if self._free_keys:
            return heapq.heappop(self._free_keys)
        self._next_key += 1
        return self._next_key

    def free_key(self, key: int) -> None:
        heapq.heappush(self._free_keys, key)
