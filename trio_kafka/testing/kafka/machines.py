"""Machines for a broker of the kit: what stays when a broker stops, is killed and starts again."""

from random import Random
from typing import Protocol

from trio_kafka.attributes import define
from trio_kafka.world.clock import SkippingClock
from trio_kafka.world.in_memory import InMemoryWorld, MemoryDisk
from trio_kafka.world.real import RealWorld
from trio_kafka.world.simulated import SimulatedWorld, Universe
from trio_kafka.world.world import World


class Machine(Protocol):
    """A machine on which one broker runs at a time. data: the default of `log.dirs`."""

    data: str

    def boot(self) -> World:
        """Return the world of the next life, on what the disk has kept."""

    def crash(self, *, power: bool) -> None:
        """End this life, so that no clean-up of the broker acts on its files.

        power: also lose what was not synced. Raises ValueError if the machine cannot do that.
        """


@define(eq=False, kw_only=True)
class MemoryMachine:
    """Real sockets, files in memory."""

    clock: SkippingClock
    data: str = "/data"
    disk: MemoryDisk | None = None
    seed: int = 0

    def boot(self) -> InMemoryWorld:
        self.disk = MemoryDisk() if self.disk is None else self.disk.next_life()
        return InMemoryWorld(self.clock, disk=self.disk)

    def crash(self, *, power: bool) -> None:
        assert self.disk is not None
        if power:
            self.disk.lose_power(Random(self.seed))
        else:
            self.disk.crash()


@define(eq=False)
class DiskMachine:
    """Real sockets, files in a directory."""

    clock: SkippingClock
    data: str

    def boot(self) -> RealWorld:
        return RealWorld(self.clock, workers=False)

    def crash(self, *, power: bool) -> None:
        """Do nothing: a cancelled broker leaves its files as after a kill."""
        if power:
            raise ValueError(f"{self.data} is on a real disk: only files in memory lose power")


@define(eq=False, kw_only=True)
class SimulatedMachine:
    """A machine of a simulated universe: sockets and files in memory, on any Trio clock."""

    universe: Universe
    name: str = "kafka"
    data: str = "/data"
    world: SimulatedWorld | None = None

    def boot(self) -> SimulatedWorld:
        if self.world is not None and self.world.alive:
            self.world.crash(power=False)  # after an orderly stop: nothing is left to lose
        self.world = self.universe.machine(self.name)
        return self.world

    def crash(self, *, power: bool) -> None:
        assert self.world is not None
        self.world.crash(power=power)
