"""Simulated worlds for tests.

Two ways. `run_simulated(main, seed)` runs `main(universe)` in a run of its own, in virtual time and
in an order that the seed decides: for scenarios that are tried at many seeds; its tests are plain
functions. `simulated_world()` gives a machine inside any Trio test, on that test's clock
(`autojump_clock`).
"""

from collections.abc import Awaitable, Callable
from typing import TypeVar

import trio

from trio_kafka.world.simulated import SimulatedWorld, Universe
from trio_kafka.world.simulated.run import Verdict
from trio_kafka.world.world import Crashed

T = TypeVar("T")


def run_simulated(
    main: Callable[[Universe], Awaitable[T]], seed: object = 0, *, moody: bool = False
) -> T:
    """The result of `main(universe)`; Deadlock where it would wait for ever."""
    return Universe(seed, moody=moody).run(main)


def simulated_world(
    name: str = "broker", *, seed: object = 0, moody: bool = False
) -> SimulatedWorld:
    """A machine in a universe of its own; `world.universe` has faults, links and other machines."""
    return Universe(seed, moody=moody).machine(name)


def fault_on(call: str, verdict: Verdict, target: str = "") -> Callable[[str, str, str], Verdict]:
    """A rule for `universe.fault`: `verdict` for that call on what has `target` in its name."""

    def rule(machine: str, name: str, place: str) -> Verdict:  # noqa: ARG001 - a rule's signature
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
    """Run `life(world)` and crash the machine after `after_s`, or at its end if that is earlier.

    Returns when all its tasks are gone; `world.universe.machine(world.name)` is the next life.
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
