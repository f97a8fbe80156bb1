"""Deterministic runs of tests on the simulated world.

@simulate(seeds=200)
async def test_nothing_acknowledged_is_lost(sim):
    ...
"""

from trio_kafka.testing.simulate.decorator import run_seed, simulate
from trio_kafka.testing.simulate.simulation import Simulation

__all__ = ["Simulation", "run_seed", "simulate"]
