"""Clock for `trio.run` that can skip time, on a real machine or in virtual time.

Trio asks its clock how long to sleep exactly when no task can run; then this clock may skip. So
virtual time, `advance` and the detection of a deadlock need neither a task nor MockClock, whose
autojump is private. Stepping by `wait_all_tasks_blocked` would never end beside a busy task.
"""

import resource
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from math import ulp
from typing import Final, Protocol

import trio

from trio_kafka.world import machine_time
from trio_kafka.world.moved_writes import MovedWrites

EPOCH: Final = 1_700_000_000.0  # start of virtual wall time
SERVED: Final = 5  # passes of the loop
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


class _Woken(trio.abc.Instrument):
    """Tasks that the last step of `advance` woke, and those that they woke, until they wait again.

    any: whether a task has run since it was last reset.
    busy: called while clients keep the loop busy and none of these tasks runs: Trio does not ask
        its clock while a task can run. SERVED passes of the loop serve sockets before.
    """

    def __init__(self, busy: Callable[[], None]) -> None:
        self.any = False
        self._busy = busy
        self._tasks: set[trio.lowlevel.Task] = set()
        self._is_step = False  # a task runs
        self._is_woken = False  # it is one of these
        self._is_after_skip = False
        self._passes = 0

    def skipped(self) -> None:
        """Note that time was skipped: what is scheduled next was woken by it, or by a socket."""
        self._is_after_skip = True
        self._passes = 0

    def clear(self) -> None:
        """Forget all tasks."""
        self._tasks.clear()
        self.any = self._is_after_skip = False
        self._passes = 0

    def task_scheduled(self, task: trio.lowlevel.Task) -> None:
        if self._is_woken if self._is_step else self._is_after_skip:
            self._tasks.add(task)

    def before_task_step(self, task: trio.lowlevel.Task) -> None:
        self.any = self._is_step = True
        self._is_after_skip = False
        self._is_woken = task in self._tasks
        self._tasks.discard(task)

    def after_task_step(self, task: trio.lowlevel.Task) -> None:  # noqa: ARG002 - Trio's
        self._is_step = False

    def before_io_wait(self, timeout: float) -> None:
        if timeout > 0 or self._tasks:
            self._passes = 0
            return
        self._passes += 1
        if self._passes > SERVED:
            self._passes = 0
            self._busy()


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
    """

    def __init__(self, *, virtual: bool = False, limit: float = _INF) -> None:
        self.skipped = self.moved = 0.0
        self.in_flight = 0
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
        self._woken = _Woken(self._step_while_busy)

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
            return deadline - now
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

    async def advance(self, seconds: float) -> int:
        """Skip `seconds`, one deadline at a time; woken tasks wait again before the next one.

        Deadlines that followers put off are passed over.

        Sockets are served between the steps, and clients may keep the loop busy all the time. No
        step is taken while a thread works. Returns the number of steps.
        Raises ValueError for a time below 0, RuntimeError if another call is in progress.
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
        return self._steps

    @contextmanager
    def working(self) -> Iterator[None]:
        """Skip no time while the block, a thread or a process, runs."""
        self.in_flight += 1
        try:
            yield
        finally:
            self.in_flight -= 1
