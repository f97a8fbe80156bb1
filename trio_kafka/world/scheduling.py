"""Reproducible runs: a seed decides the order of tasks, in virtual time.

Uses private names of Trio, as no other module does: `_core._run._ALLOW_DETERMINISTIC_SCHEDULING`
(each batch of runnable tasks is sorted by number, then shuffled by `_r`) and `_r`. pytest-trio sets
the switch, too, if hypothesis is installed, so both are restored.
"""

import gc
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from math import inf
from typing import Final, TypeVar

import trio
from trio._core import _run as _trio_run

from trio_kafka.world.clock import Deadlock, SkippingClock

T = TypeVar("T")
_STUCK: Final = "all tasks wait without a deadline"


@contextmanager
def seeded(seed: object) -> Iterator[None]:
    """Let `seed` decide the order of tasks in every `trio.run` of the block.

    Cyclic garbage collection is off meanwhile, as finalizers would run at any time.
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


def simulate(seed: object, main: Callable[[], Awaitable[T]], timeout_s: float = inf) -> T:
    """Run `main` in virtual time, with the order of tasks decided by `seed`.

    Raises Deadlock, with the tree of tasks and where they wait, instead of waiting for ever or
    beyond `timeout_s`.
    """
    clock = SkippingClock(virtual=True, limit=timeout_s)
    waiting: list[str] = []

    async def drive() -> T:
        with trio.CancelScope() as scope:

            def give_up() -> None:
                late = trio.current_time() >= timeout_s
                verdict = f"not done after {timeout_s:g} s of virtual time" if late else _STUCK
                waiting.append(f"{verdict}:")
                waiting.extend(_waiting_tasks(task, "  "))
                scope.cancel()

            task = trio.lowlevel.current_task()
            clock.stuck = give_up
            try:
                return await main()
            finally:
                clock.stuck = None  # the last passes of Trio may be idle, too
        raise Deadlock("\n".join(waiting))

    with seeded(seed):
        return trio.run(drive, clock=clock)


def _waiting_tasks(task: trio.lowlevel.Task, indent: str) -> list[str]:
    """Return name and place of `task`, and indented those of the tasks below.

    The place is the last frame outside of Trio.
    """
    place = ""
    for frame, line in task.iter_await_frames():
        if not frame.f_globals.get("__name__", "").startswith("trio."):
            place = f"{frame.f_code.co_filename}:{line}"
    below = [
        _waiting_tasks(child, f"{indent}  ")
        for nursery in task.child_nurseries
        for child in nursery.child_tasks
    ]
    text = f"{indent}{task.name} ({place})" if place else f"{indent}{task.name}"
    return [text, *(text for texts in sorted(below) for text in texts)]
