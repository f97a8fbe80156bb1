"""Tasks that a moved clock has woken, as `SkippingClock.advance` waits for their work to end.

Trio does not ask its clock for the time of its next deadline while a task can run. So beside
clients that keep the loop busy, an instrument must see that what became due has been done.
"""

from collections.abc import Callable, Collection
from typing import Final

import trio

SERVED: Final = 5  # passes of the loop


class WokenTasks(trio.abc.Instrument):
    """Tasks that the last step of `advance` woke, and those that they woke, until they wait again.

    any: whether a task has run since it was last reset.
    tasks: those that can run. jobs: tasks that always count as woken.
    is_woken: whether the task that runs is one of these; kept for it while a thread works for it.
    busy: called while clients keep the loop busy and none of these tasks runs. SERVED passes of the
        loop serve sockets before.
    at_work: called in each pass of the loop in which one of these tasks can run.
    """

    def __init__(self, busy: Callable[[], None], at_work: Callable[[], object]) -> None:
        self.any = self.is_woken = False
        self.tasks: set[trio.lowlevel.Task] = set()
        self.jobs: Collection[trio.lowlevel.Task] = ()
        self._busy = busy
        self._at_work = at_work
        self._is_step = False  # a task runs
        self._is_after_skip = False
        self._passes = 0

    def skipped(self) -> None:
        """Note that time was skipped: what is scheduled next was woken by it, or by a socket."""
        self._is_after_skip = True
        self._passes = 0

    def clear(self) -> None:
        """Forget all tasks."""
        self.tasks.clear()
        self.jobs = ()
        self.any = self.is_woken = self._is_after_skip = False
        self._passes = 0

    def task_scheduled(self, task: trio.lowlevel.Task) -> None:
        if self.is_woken if self._is_step else self._is_after_skip:
            self.tasks.add(task)

    def before_task_step(self, task: trio.lowlevel.Task) -> None:
        self.any = self._is_step = True
        self._is_after_skip = False
        self.is_woken = task in self.tasks or task in self.jobs
        self.tasks.discard(task)

    def after_task_step(self, task: trio.lowlevel.Task) -> None:  # noqa: ARG002 - Trio's
        self._is_step = False

    def before_io_wait(self, timeout: float) -> None:
        if self.tasks:
            self._at_work()
        if timeout > 0 or self.tasks:
            self._passes = 0
            return
        self._passes += 1
        if self._passes > SERVED:
            self._passes = 0
            self._busy()
