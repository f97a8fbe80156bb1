"""A simulated world: one thread, virtual time, every choice decided by one seed."""

from trio_kafka.world.simulated.universe import Universe
from trio_kafka.world.simulated.world import SimulatedWorld

__all__ = ["SimulatedWorld", "Universe"]
