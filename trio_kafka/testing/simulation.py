"""Simulated worlds for tests.

`run_simulated(main, seed)` runs `main(universe)` in its own Trio run, in virtual time and in a task
order that the seed decides. Use it in plain test functions, for scenarios with many seeds.
`simulated_world()` makes a machine inside any Trio test, on that test's clock (`autojump_clock`).
"""

from collections.abc import Awaitable, Callable
from typing import TypeVar

import trio

from trio_kafka.world.simulated import SimulatedWorld, Universe
from trio_kafka.world.simulated.faults import Verdict
from trio_kafka.world.world import Crashed

T = TypeVar("T")


def run_simulated(
    main: Callable[[Universe], Awaitable[T]], seed: object = 0, *, moody: bool = False
) -> T:
    """Run `main(universe)` and return its result; raises Deadlock if it would wait forever."""
    return Universe(seed, moody=moody).run(main)


def simulated_world(
    name: str = "broker", *, seed: object = 0, moody: bool = False
) -> SimulatedWorld:
    """Make a machine in its own universe; `world.universe` has faults, links and other machines."""
    return Universe(seed, moody=moody).machine(name)


def fault_on(call: str, verdict: Verdict, target: str = "") -> Callable[[str, str, str], Verdict]:
    """Return a rule for `universe.fault`: a verdict for a call on names that contain `target`."""

    def rule(machine: str, name: str, place: str) -> Verdict:  # noqa: ARG001 - signature of a rule
        return verdict if name == call and target in place else None

    return rule


async def run_until_crash(
    world: SimulatedWorld,
    life: Callable[[SimulatedWorld], Awaitable[object]],
    after_s: float,
    *,
    power: bool = True,
    kept: float = 0.5,
) -> None:
    """Run `life(world)` and crash the machine after `after_s`, or at its end if earlier.

    Returns when all tasks have ended; `world.universe.machine(world.name)` restarts the machine.
    """
    try:
        async with trio.open_nursery() as nursery:

            async def live() -> None:
                await life(world)
                done.set()

            done = trio.Event()
            nursery.start_soon(live, name=world.name)
            with trio.move_on_after(after_s):
                await done.wait()
            world.crash(power=power, kept=kept)
            nursery.cancel_scope.cancel()
    except* Crashed:
        pass
