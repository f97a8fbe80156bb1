"""CPU of seeded runs on the simulated world.

    python -m tests.benchmarks.bench_simulate [seeds]

Prints the least and the mean CPU time of two scenarios, in ms of one seed: `crash` produces, loses
power, recovers and consumes; `orders` is the scenario of tests/sim, with faults of all kinds.
"""

import sys
import time
from collections.abc import Awaitable, Callable

from tests.sim.orders import SETTINGS, orders
from trio_kafka.testing.simulate import Simulation, run_seed

MUST_MS = 300.0  # of `crash`


async def crash(sim: Simulation) -> None:
    """Produce, lose power, recover, consume as a member of a group, check."""
    await sim.kafka.create_topic("orders", 2)
    async with sim.producer() as producer:
        for number in range(10):
            await producer.send("orders", b"%d" % number, partition=number % 2)
    await sim.lives.kill(power=True, kept=0.5)
    await sim.kafka.start()
    async with sim.consumer("orders", group="g") as consumer:
        read = 0
        while read < 10:
            read += len(await consumer.poll())
            await consumer.commit()
    await sim.check()


def measure(scenario: Callable[[Simulation], Awaitable[object]], seeds: int) -> list[float]:
    """Return the CPU time of each seed in ms, after one that does not count."""
    run_seed(scenario, 0, settings=SETTINGS)
    took = []
    for seed in range(seeds):
        begin = time.process_time()
        run_seed(scenario, seed, settings=SETTINGS)
        took.append((time.process_time() - begin) * 1000)
    return took


def main(seeds: int) -> None:
    for scenario in (crash, orders):
        took = measure(scenario, seeds)
        print(f"{scenario.__name__}: least {min(took):.0f} ms, mean {sum(took) / seeds:.0f} ms")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20)
