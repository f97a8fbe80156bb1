"""The turn: how long the tasks of a plane may run in one pass of the loop.

A plane has 2 ms a pass, and each task its part of it and at least one item: Trio runs the tasks of
a pass in random order, and with one shared budget the first would leave nothing to the others. The
parts are as many as there were in the pass before: who is alone has all of it, as a pass costs 30
µs whatever is done in it.
Only the two hooks around the wait for I/O are there: nothing is paid per step of a task. They also
tell a watchdog when a pass begins and ends, if it wants to know.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final, Protocol

import trio

from trio_kafka.introspect.tree import Figures
from trio_kafka.scheduling.deferred_batch import Rounds

RECENT_S: Final = 60.0
SLICE_S: Final = 0.00025  # of a part, where another plane is let in between


class Waiting(Protocol):
    """Who counts those that wait: the counts of a channel."""

    @property
    def idle(self) -> int: ...


class Turn(trio.abc.Instrument):
    """One budget for all tasks of a plane in each pass; also the plane's idea of the time, one
    reading a pass. share_s: of each task, if it is to be always the same. rounds: of its readers.

    began, waiting: when the pass began that runs or ran last, by `elapsed`; whether the loop waits
    for I/O. rouse: called once, when a pass begins. over: called once, when the pass ends that
    runs, with its length in seconds. Both are hooks of the loop's: they never raise.
    """

    def __init__(
        self,
        elapsed: Callable[[], float],
        limit_s: float = 0.002,
        share_s: float | None = None,
        *,
        rounds: Rounds | None = None,
    ) -> None:
        self.rounds = Rounds() if rounds is None else rounds
        self.elapsed = elapsed
        self.limit_s = limit_s
        self._fixed = share_s
        self.share_s = limit_s if share_s is None else share_s
        self._parts = 0  # how many tasks have begun one in this pass
        self.passes = 0
        self.busy_s = 0.0
        self.idle_s = 0.0  # in which the loop waited
        self.handlers_idle_s = 0.0  # the same for each handler that waited meanwhile, summed
        self.handlers: Waiting | None = None
        self.longest_s = 0.0
        self.wakes = 0
        self.wake_s = 0.0  # from the return of I/O to the turn of a task, of all together
        self.wake_longest_s = 0.0
        self.time = 0.0  # trio.current_time() when the pass began
        self.shared = 0.0  # `time` of the last pass in which more than one task had a part
        self.began = elapsed()
        self.waiting = True
        self.rouse: Callable[[], None] | None = None
        self.over: Callable[[float], None] | None = None
        self._ends = 0.0
        # Another plane's, which may come between the items of this one; whether anything had come.
        self.let_in: Callable[[], bool] | None = None
        self._part_ends = 0.0
        self._waits_since = self.began
        self._sample: tuple[float, Callable[[], None]] | None = None
        self._sample_at = float("inf")
        self._recent_s = self._before_s = 0.0  # the longest pass of this minute, of the one before
        self._minute_ends = self.began + RECENT_S

    @contextmanager
    def installed(self) -> Iterator[None]:
        """Follow the loop while the block runs."""
        self.began = self._waits_since = self.elapsed()
        trio.lowlevel.add_instrument(self)
        try:
            yield
        finally:
            trio.lowlevel.remove_instrument(self)
            self.waiting = True  # nobody tells any more

    def after_io_wait(self, timeout: float) -> None:
        del timeout
        self.began = self.elapsed()
        self.waiting = False
        waited_s = self.began - self._waits_since
        self.idle_s += waited_s
        if self.handlers is not None:
            self.handlers_idle_s += waited_s * self.handlers.idle
        self._ends = self.began + self.limit_s
        if self._fixed is None:
            self.share_s = self.limit_s / (self._parts or 1)
        if self._parts > 1:
            self.shared = self.time
        self._parts = 0
        self.time = trio.current_time()
        self.passes += 1
        if self.rouse is not None:
            rouse, self.rouse = self.rouse, None
            rouse()

    def before_io_wait(self, timeout: float) -> None:
        del timeout
        self._waits_since = now = self.elapsed()
        took = now - self.began
        self.waiting = True
        self.busy_s += took
        if took > self._recent_s:
            self._recent_s = took
            self.longest_s = max(self.longest_s, took)
        if self.began > self._minute_ends:
            self._next_minute(took)
        if self._sample is not None and now > self._sample_at:
            every_s, sample = self._sample
            self._sample_at = now + every_s
            sample()
        if self.over is not None:
            over, self.over = self.over, None
            over(took)

    def sample_every(self, seconds: float, call: Callable[[], None]) -> None:
        """Call at the end of a pass, at most so often; never while the loop sleeps."""
        self._sample = seconds, call
        self._sample_at = self.elapsed() + seconds

    def begin(self) -> float:
        """When the part of the task that asks ends; a reading of `elapsed`."""
        now = self.elapsed()
        self._parts += 1
        wake = now - self.began
        self.wakes += 1
        self.wake_s += wake
        if wake > self.wake_longest_s:  # noqa: PLR1730 - max() costs three times as much
            self.wake_longest_s = wake
        if self.let_in is None:
            return min(self._ends, now + self.share_s)
        self._part_ends = min(self._ends, now + self.share_s)
        return self.go_on()

    def go_on(self) -> float:
        """Let the other plane in; then when to do that again, at the latest the end of the part."""
        self.between()
        return min(self._part_ends, self.elapsed() + SLICE_S)

    def between(self) -> None:
        """Let the other plane in, if there is one, also between two pieces of an item."""
        if self.let_in is not None and self.let_in():
            self.shared = self.time

    def figures(self) -> Figures:
        """busy_s: of all passes. wake_ms: from the return of I/O to the turns of tasks, summed over
        `wakes`. lag_ms: how late what becomes ready is at most, of the last minute or two.
        """
        tasks = trio.lowlevel.current_statistics()
        return {
            "limit_ms": self.limit_s * 1e3,
            "share_ms": self.share_s * 1e3,
            "passes": self.passes,
            "busy_s": self.busy_s,
            "idle_s": self.idle_s,
            "longest_ms": self.longest_s * 1e3,
            "lag_ms": max(self._recent_s, self._before_s) * 1e3,
            "wakes": self.wakes,
            "wake_ms": self.wake_s * 1e3,
            "wake_longest_ms": self.wake_longest_s * 1e3,
            "tasks": tasks.tasks_living,
            "runnable": tasks.tasks_runnable,
        }

    def _next_minute(self, took: float) -> None:
        idle = self.began > self._minute_ends + RECENT_S  # no pass in the minute that ended last
        self._before_s = 0.0 if idle else self._recent_s
        self._recent_s = took
        self._minute_ends = self.began + RECENT_S
