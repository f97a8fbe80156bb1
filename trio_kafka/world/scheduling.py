"""Runs that repeat: the order of tasks decided by a seed, in virtual time.

With private names of Trio: `_core._run._ALLOW_DETERMINISTIC_SCHEDULING` (each
batch of runnable tasks is sorted by task number, then shuffled by `_r`) and `_r`. pytest-trio sets
the switch too where hypothesis is installed, so both are put back as they were.
"""

import gc
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

import trio
from trio._core import _run as _trio_run

from trio_kafka.world.clock import Deadlock, SkippingClock

T = TypeVar("T")


@contextmanager
def seeded(seed: object) -> Iterator[None]:
    """Let `seed` decide the order of tasks in every `trio.run` inside; afterwards all is as before.

    Cyclic collection is off meanwhile: finalizers would run wherever the collector likes.
    """
    switch = _trio_run._ALLOW_DETERMINISTIC_SCHEDULING  # noqa: SLF001 - see the module's docstring
    chance = _trio_run._r  # noqa: SLF001 - see the module's docstring
    state, collecting = chance.getstate(), gc.isenabled()
    _set_switch(value=True)
    chance.seed(f"scheduling/{seed}")  # a str is hashed by SHA-512, whatever PYTHONHASHSEED says
    gc.disable()
    try:
        yield
    finally:
        _set_switch(value=switch)
        chance.setstate(state)
        if collecting:
            gc.enable()


def _set_switch(*, value: bool) -> None:
    vars(_trio_run)["_ALLOW_DETERMINISTIC_SCHEDULING"] = value


def simulate(seed: object, main: Callable[[], Awaitable[T]]) -> T:
    """Run `main` in virtual time, every order decided by `seed`.

    Raises Deadlock, naming what waits and where, instead of waiting for ever.
    """
    clock = SkippingClock(virtual=True)
    waiting: list[str] = []

    async def drive() -> T:
        with trio.CancelScope() as scope:

            def give_up() -> None:
                waiting.extend(_waiting_tasks(task))
                scope.cancel()

            task = trio.lowlevel.current_task()
            clock.stuck = give_up
            try:
                return await main()
            finally:
                clock.stuck = None  # Trio's own last passes may be idle too
        raise Deadlock("; ".join(waiting))

    with seeded(seed):
        return trio.run(drive, clock=clock)


def _waiting_tasks(task: trio.lowlevel.Task) -> list[str]:
    """Name and place of `task` and all below it; the place is the last frame outside of Trio."""
    place = ""
    for frame, line in task.iter_await_frames():
        if not frame.f_globals.get("__name__", "").startswith("trio."):
            place = f"{frame.f_code.co_filename}:{line}"
    below = [
        _waiting_tasks(child) for nursery in task.child_nurseries for child in nursery.child_tasks
    ]
    text = f"{task.name} ({place})" if place else task.name
    return [text, *(text for texts in sorted(below) for text in texts)]
