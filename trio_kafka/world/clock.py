"""Time that can be moved: the clock for `trio.run`, on a real machine or in virtual time.

Trio asks its clock how long to sleep exactly when no task can run; that is where this one jumps. So
virtual time, `advance` and the verdict that everything is stuck need neither a task nor MockClock,
whose autojump is private; and stepping by `wait_all_tasks_blocked` never ends beside one busy task.
"""

import resource
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import ulp
from typing import Final

import trio

EPOCH: Final = 1_700_000_000.0  # where virtual wall time begins
_INF: Final = float("inf")


class Deadlock(Exception):  # noqa: N818 - a verdict about the code under test
    """Everything waits, and nothing has a deadline."""


def waits_of_thread() -> int:
    """How often the calling thread has waited in the kernel; to lose the processor is no wait."""
    return resource.getrusage(resource.RUSAGE_THREAD).ru_nvcsw


class _Steps(trio.abc.Instrument):
    """Whether any task has run since it was last asked."""

    def __init__(self) -> None:
        self.any = False

    def before_task_step(self, task: trio.lowlevel.Task) -> None:  # noqa: ARG002 - Trio's
        self.any = True


class SkippingClock(trio.abc.Clock):
    """The machine's clock plus what was skipped; virtual: only that, still while a task can run.

    wall: seconds since 1970. Follows the machine's, which may step back: what was skipped is shared
        between the two hands, not a reading.
    elapsed: for stamps and turn budgets. Never skipped by `advance`; virtual: the virtual time.
    waits: see `protocols.Clock`; None in virtual time.
    stuck: called when no task can run and there is no deadline; None: Trio waits for I/O.
    in_flight: calls in threads and processes. Trio counts their tasks as parked, so no jump then.
    """

    def __init__(self, *, virtual: bool = False) -> None:
        self.skipped = 0.0
        self.in_flight = 0
        self.stuck: Callable[[], None] | None = None
        self.wall: Callable[[], float]
        self.elapsed: Callable[[], float]
        self.waits: Callable[[], int] | None
        self._read = None if virtual else time.perf_counter
        self.wall = self._virtual_wall if virtual else self._machine_wall
        self.elapsed = self.current_time if virtual else time.perf_counter
        self.waits = None if virtual else waits_of_thread
        self._goal = _INF if virtual else -_INF  # jump from deadline to deadline up to here
        self._steps = 0
        self._advancing: trio.lowlevel.Task | None = None
        self._ran = _Steps()

    def _virtual_wall(self) -> float:
        return EPOCH + self.skipped

    def _machine_wall(self) -> float:
        return time.time() + self.skipped

    def start_clock(self) -> None:
        """Nothing to start: part of Trio's interface."""

    def current_time(self) -> float:
        return self.skipped + self._read() if self._read else self.skipped

    def deadline_to_sleep_time(self, deadline: float) -> float:
        """Seconds to wait for I/O; called by Trio when no task can run. Jumps where it may."""
        now = self.current_time()
        if deadline <= now or self.in_flight:
            return deadline - now
        if self._ran.any:  # during `advance`: what they have sent may be waiting for its reader
            self._ran.any = False
            return 0.0
        target = min(deadline, self._goal)
        if now < target < _INF:
            self.skip(target - now)
            self._steps += deadline <= self._goal
            return 0.0
        if self._advancing:  # at the goal, and all that it woke has parked again
            self._goal = -_INF
            trio.lowlevel.reschedule(self._advancing)
            self._advancing = None
            return 0.0
        if self.stuck:
            self.stuck()
            return 0.0
        return deadline - now

    def skip(self, seconds: float) -> None:
        """At once: what a slow synchronous call does in virtual time."""
        if seconds < 0:
            raise ValueError(f"time does not go back: {seconds} s")
        before = self.current_time()
        self.skipped += seconds
        while seconds and self.current_time() <= before:  # rounded away
            self.skipped += ulp(before)

    async def advance(self, seconds: float) -> int:
        """Let `seconds` pass, one deadline at a time, until no task can run and no thread works.

        Sockets are served between the steps. Returns the number of steps; one call at a time.
        """
        if self._read is None:
            before = self._steps
            await trio.sleep(seconds)
            return self._steps - before
        if self._advancing:
            raise RuntimeError("the clock is being advanced already")
        self._goal, self._steps = self.current_time() + seconds, 0
        self._advancing = trio.lowlevel.current_task()

        def abort(_: object) -> trio.lowlevel.Abort:
            self._goal, self._advancing = -_INF, None
            return trio.lowlevel.Abort.SUCCEEDED

        trio.lowlevel.add_instrument(self._ran)
        try:
            await trio.lowlevel.wait_task_rescheduled(abort)
        finally:
            trio.lowlevel.remove_instrument(self._ran)
            self._ran.any = False
        return self._steps

    @contextmanager
    def working(self) -> Iterator[None]:
        """A thread or a process works: time is not to jump over it."""
        self.in_flight += 1
        try:
            yield
        finally:
            self.in_flight -= 1
