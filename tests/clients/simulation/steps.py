"""Cancellation of a call at each of its awaits, one after the other."""

from collections.abc import Awaitable, Callable, Iterator

import trio
from attrs import define, field

MOST = 200  # a call with more awaits would hang


@define(eq=False)
class CancelAtStep(trio.abc.Instrument):
    """Cancels a scope when a task has come to its n-th await. steps: awaits so far."""

    task: trio.lowlevel.Task
    scope: trio.CancelScope
    at: int
    steps: int = field(default=0, init=False)

    def after_task_step(self, task: trio.lowlevel.Task) -> None:
        if task is self.task:
            self.steps += 1
            if self.steps == self.at:
                self.scope.cancel()


async def cancelled_at(step: int, call: Callable[[], Awaitable[object]]) -> bool:
    """Await a call, and cancel it at an await; return False if it has fewer awaits.

    The call may have ended as if nothing had happened: it decides which cancellation it notices.
    """
    scope = trio.CancelScope()
    counter = CancelAtStep(trio.lowlevel.current_task(), scope, step)
    trio.lowlevel.add_instrument(counter)
    try:
        with scope:
            await call()
    finally:
        trio.lowlevel.remove_instrument(counter)
    return counter.steps >= step


def each_step() -> Iterator[int]:
    """Yield the numbers of awaits, from the first on."""
    yield from range(1, MOST)
    raise AssertionError(f"more than {MOST} awaits")
