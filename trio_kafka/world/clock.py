"""Clock for `trio.run` that can skip time, on a real machine or in virtual time.

Trio asks its clock how long to sleep exactly when no task can run; then this clock may skip. So
virtual time, `advance` and the detection of a deadlock need neither a task nor MockClock, whose
autojump is private. Stepping by `wait_all_tasks_blocked` would never end beside a busy task.
"""

import resource
from collections.abc import Callable, Collection, Hashable, Iterator
from contextlib import contextmanager
from math import ulp
from typing import Final, Protocol

import trio

from trio_kafka.world import machine_time
from trio_kafka.world.moved_writes import MovedWrites
from trio_kafka.world.woken_tasks import WokenTasks

EPOCH: Final = 1_700_000_000.0  # start of virtual wall time
_INF: Final = float("inf")


class Deadlock(Exception):  # noqa: N818 - a verdict about the code under test
    """All tasks wait without a deadline."""


def waits_of_thread() -> int:
    """Return how often the calling thread has waited in the kernel, preemption apart."""
    return resource.getrusage(resource.RUSAGE_THREAD).ru_nvcsw


class Follower(Protocol):
    """Owner of waits that need not end while `advance` moves the clock."""

    def look_ahead(self, goal: float) -> None:
        """Put off deadlines before `goal` at which nothing would happen.

        Called before each step, when no task can run: the state decides, and no change is missed.
        """

    def skipped(self, seconds: float) -> None:
        """Note that the clock has moved; no task has noticed."""

    def arrived(self) -> None:
        """Set the deadlines as they are without `look_ahead`: the clock moves no more."""


class SkippingClock(trio.abc.Clock):
    """Machine time plus skipped time; virtual: skipped time only, which stands while tasks run.

    limit: time beyond which a virtual clock does not skip.

    skipped: seconds of all skips, by which `current_time` is ahead. moved: those by which `wall` is
        ahead of the machine's clock, see `reset_wall`.

    wall: seconds since 1970; follows the machine's clock, which may step back.
    elapsed: for stamps and loop budgets; not moved by `advance`. Virtual: the virtual time.
    waits: see `protocols.Clock`; None in virtual time.
    stuck: called when no task can run and there is no deadline up to `limit`; None: Trio waits for
        I/O.
    writes: what `moved` was when records were written, for `wall_of`.
    followers: owners of waits, see `Follower`. `advance` asks them; `skip` tells them.
    in_flight: calls in threads and processes. While there are any, no time is skipped.
    patience_s: real time that `advance` waits at one deadline for threads and jobs.
    """

    def __init__(self, *, virtual: bool = False, limit: float = _INF) -> None:
        self.skipped = self.moved = 0.0
        self.in_flight = 0
        self.patience_s = 60.0
        self.writes = MovedWrites()
        self.followers: list[Follower] = []
        self.stuck: Callable[[], None] | None = None
        self.wall: Callable[[], float]
        self.elapsed: Callable[[], float]
        self.waits: Callable[[], int] | None
        self._read = None if virtual else machine_time.elapsed
        self.wall = self._virtual_wall if virtual else self._machine_wall
        self.elapsed = self.current_time if virtual else machine_time.elapsed
        self.waits = None if virtual else waits_of_thread
        self._goal = limit if virtual else -_INF  # jump from deadline to deadline up to here
        self._steps = 0
        self._advancing: trio.lowlevel.Task | None = None
        self._woken = WokenTasks(self._step_while_busy, self._check_patience)
        self._patient_until = _INF
        self._late: str | None = None  # what has kept `advance` waiting for too long

    def _virtual_wall(self) -> float:
        return EPOCH + self.moved

    def _machine_wall(self) -> float:
        return machine_time.wall() + self.moved

    def wall_of(self, timestamp_ms: int, place: Hashable, offset: int) -> int:
        """See `protocols.Clock`. A moment ahead of the machine's clock is one of this clock."""
        if self._read is None or timestamp_ms > 1000 * machine_time.wall():
            return timestamp_ms
        return timestamp_ms + round(1000 * self.writes.moved_when(place, offset, self.moved))

    def start_clock(self) -> None:
        """Do nothing: part of Trio's interface."""

    def current_time(self) -> float:
        return self.skipped + self._read() if self._read else self.skipped

    def deadline_to_sleep_time(self, deadline: float) -> float:
        """Return how long Trio may wait for I/O, or skip; called when no task can run."""
        now = self.current_time()
        if deadline <= now or self.in_flight:
            return (
                min(deadline - now, self._check_patience()) if self._advancing else deadline - now
            )
        if self._woken.any:  # during `advance`: sockets may have something to read
            self._woken.any = False
            return 0.0
        if self._advancing:
            if now < self._goal:
                self._step(now)
            else:  # all tasks wait again
                self._arrive(self._advancing)
            return 0.0
        target = min(deadline, self._goal)
        if now < target < _INF and not (self.stuck and deadline == _INF):
            self.skip(target - now)
            self._steps += deadline <= self._goal
            return 0.0
        if self.stuck:
            self.stuck()
            return 0.0
        return deadline - now

    def _arrive(self, advancing: trio.lowlevel.Task) -> None:
        """End `advance`."""
        self._goal = -_INF
        self._advancing = None
        trio.lowlevel.reschedule(advancing)

    def _check_patience(self) -> float:
        """Return for how long `advance` still waits at this deadline; end it after that."""
        left_s = self._patient_until - machine_time.elapsed()
        if left_s > 0 or self._advancing is None:
            return left_s
        self._late = ", ".join(sorted(task.name for task in self._woken.tasks)) or "a thread"
        self._arrive(self._advancing)
        return 0.0

    def _step_while_busy(self) -> None:
        """Skip to the next deadline although tasks can run, unless a thread works."""
        advancing = self._advancing
        if advancing is None or self.in_flight:
            return
        now = self.current_time()
        if now >= self._goal:
            self._arrive(advancing)
        else:
            self._step(now)

    def _step(self, now: float) -> None:
        """Skip to the next deadline that a task needs, or to the goal."""
        for follower in self.followers:
            follower.look_ahead(self._goal)
        wait_s = trio.lowlevel.current_statistics().seconds_to_next_deadline
        left_s = self._goal - now
        if wait_s <= 0:
            return  # real time has passed meanwhile
        self.skip(min(wait_s, left_s))
        self._steps += wait_s <= left_s

    def skip(self, seconds: float) -> None:
        """Move the clock at once, as a slow synchronous call does in virtual time."""
        if seconds < 0:
            raise ValueError(f"cannot skip {seconds} s: want 0 or more")
        before, skipped = self.current_time(), self.skipped
        self.skipped += seconds
        while seconds and self.current_time() <= before:  # rounded away
            self.skipped += ulp(before)
        self.moved += self.skipped - skipped
        self._woken.skipped()
        if self._read:
            self._patient_until = self._read() + self.patience_s
        for follower in self.followers:
            follower.skipped(self.skipped - skipped)

    def reset_wall(self) -> None:
        """Let the wall clock show the machine's time again; the monotonic clock never steps back.

        Raises RuntimeError while the clock is being moved.
        """
        if self._advancing:
            raise RuntimeError("the clock is being moved: wait for the other call to end")
        self.moved = 0.0
        self.writes.clear()

    async def advance(self, seconds: float, jobs: Collection[trio.lowlevel.Task] = ()) -> int:
        """Skip `seconds`, one deadline at a time; woken tasks wait again before the next one.

        Deadlines that followers put off are passed over.

        Sockets are served between the steps, and clients may keep the loop busy all the time. No
        step is taken while a thread works. Returns the number of steps.
        jobs: tasks that also wait again before the next step if something else woke them, or if
            they run already.
        Raises ValueError for a time below 0, RuntimeError if another call is in progress,
        TimeoutError if a thread, a job or a woken task does not wait again within `patience_s`.
        """
        if seconds < 0:
            raise ValueError(f"cannot move the clock by {seconds} s: want 0 or more")
        if self._read is None:
            before = self._steps
            await trio.sleep(seconds)
            return self._steps - before
        if self._advancing:
            raise RuntimeError("the clock is being moved: wait for the other call to end")
        self._goal, self._steps = self.current_time() + seconds, 0
        self._patient_until = self._read() + self.patience_s
        self._late, self._woken.jobs = None, jobs
        self._advancing = trio.lowlevel.current_task()

        def abort(_: object) -> trio.lowlevel.Abort:
            self._goal, self._advancing = -_INF, None
            return trio.lowlevel.Abort.SUCCEEDED

        trio.lowlevel.add_instrument(self._woken)
        try:
            await trio.lowlevel.wait_task_rescheduled(abort)
        finally:
            for follower in self.followers:
                follower.arrived()
            trio.lowlevel.remove_instrument(self._woken)
            self._woken.clear()
        if self._late is not None:
            raise TimeoutError(
                f"the clock was moved up to a deadline whose work did not end within"
                f" {self.patience_s:g} s: {self._late}"
            )
        return self._steps

    @contextmanager
    def working(self) -> Iterator[None]:
        """Skip no time while the block, a thread or a process, runs."""
        was_woken = self._woken.is_woken
        self.in_flight += 1
        try:
            yield
        finally:
            self.in_flight -= 1
            self._woken.is_woken |= was_woken  # it was the thread that woke the task now
