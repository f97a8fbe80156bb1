"""A world in one thread and virtual time, every choice from one seed."""

from trio_kafka.world.simulated.universe import Universe
from trio_kafka.world.simulated.world import SimulatedWorld

__all__ = ["SimulatedWorld", "Universe"]
