"""A universe: simulated machines in one run of Trio.

`run` decides all by the seed, in virtual time; a test may also use a universe on any clock.
"""

from collections.abc import Awaitable, Callable
from functools import partial
from math import inf
from typing import TypeVar

from trio_kafka.world.scheduling import simulate
from trio_kafka.world.simulated.disk import DirectoryNode
from trio_kafka.world.simulated.run import SimulatedRun
from trio_kafka.world.simulated.world import SimulatedWorld

T = TypeVar("T")


class Universe(SimulatedRun):
    """Machines by name, and what they share. For one run of Trio."""

    machines: dict[str, SimulatedWorld]

    def run(self, main: "Callable[[Universe], Awaitable[T]]", timeout_s: float = inf) -> T:
        """Run `main(self)` in virtual time, decided by the seed.

        Raises Deadlock if all tasks wait, or after `timeout_s` of virtual time.
        """
        return simulate(self.seed, partial(main, self), timeout_s)

    def machine(self, name: str) -> SimulatedWorld:
        """Start a new life of a machine, on what its disk has kept."""
        before = self.machines.get(name)
        if before is not None and before.alive:
            raise ValueError(f"machine {name} is alive: want a crash first")
        disk = before.disk if before else DirectoryNode()
        life = before.life + 1 if before else 0
        world = self.machines[name] = SimulatedWorld(universe=self, name=name, disk=disk, life=life)
        if before is not None:
            world.capacity, world.clock = before.capacity, before.clock
        return world
