"""Loop budget: how long the tasks of a plane may run in one pass of the event loop.

A plane has 2 ms a pass. Each task gets an equal share and serves at least one item: Trio runs the
tasks of a pass in random order, so the first could otherwise use up a common budget. The number of
shares is that of the pass before; a single task has the whole budget, as a pass alone costs 30 µs.

The budget is an instrument of Trio with the two hooks around the wait for I/O, so a task step costs
nothing more. The same hooks measure the loop, and tell a watchdog when a pass begins and ends.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Final, Protocol, TypeVar

import trio

from trio_kafka.scheduling.chunked_work import Steps, step
from trio_kafka.scheduling.deferred_batch import DeferredBatch
from trio_kafka.scheduling.yield_point import YieldPoint

T = TypeVar("T")
RECENT_S: Final = 60.0
SLICE_S: Final = 0.00025  # of a share, between two calls of a bound yield point


class IdleCount(Protocol):
    """Source of the number of idle handlers: the counts of a channel."""

    @property
    def idle(self) -> int: ...


class LoopBudget(trio.abc.Instrument):
    """Shared budget of a plane's tasks, and what the loop spent.

    share_s: fixed share of each task; None: `limit_s` divided by the number of tasks.
    began: start of the pass that runs or ran last, by `elapsed`.
    time: `trio.current_time()` of that start, the plane's clock where one reading a pass is enough.
    waiting: whether the loop waits for I/O.
    on_begin: called once, when a pass begins. on_end: called once, when the running pass ends, with
        its length in seconds. Both run in a hook of Trio and must not raise.
    """

    def __init__(
        self,
        elapsed: Callable[[], float],
        limit_s: float = 0.002,
        share_s: float | None = None,
        *,
        deferred: DeferredBatch | None = None,
        yield_point: YieldPoint | None = None,
    ) -> None:
        self.deferred = DeferredBatch() if deferred is None else deferred
        self.yield_point = YieldPoint() if yield_point is None else yield_point
        self.elapsed = elapsed
        self.limit_s = limit_s
        self._fixed = share_s
        self.share_s = limit_s if share_s is None else share_s
        self._shares = 0  # given out in this pass
        self.passes = 0
        self.busy_s = 0.0
        self.idle_s = 0.0  # spent waiting for I/O
        self.handlers_idle_s = 0.0  # the same, times the number of idle handlers
        self.handlers: IdleCount | None = None
        self.longest_s = 0.0
        self.wakes = 0
        self.wake_s = 0.0  # from the return of I/O to the start of a share, summed over `wakes`
        self.wake_longest_s = 0.0
        self.time = 0.0
        self.began = elapsed()
        self.waiting = True
        self.on_begin: Callable[[], None] | None = None
        self.on_end: Callable[[float], None] | None = None
        self._ends = 0.0
        self._share_ends = 0.0
        self._waits_since = self.began
        self._sample: tuple[float, Callable[[], None]] | None = None
        self._sample_at = float("inf")
        self._recent_s = self._before_s = 0.0  # longest pass of this minute, of the one before
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
            self.waiting = True  # no hook says so any more

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
            self.share_s = self.limit_s / (self._shares or 1)
        self._shares = 0
        self.time = trio.current_time()
        self.passes += 1
        if self.on_begin is not None:
            on_begin, self.on_begin = self.on_begin, None
            on_begin()

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
        if self.on_end is not None:
            on_end, self.on_end = self.on_end, None
            on_end(took)

    def sample_every(self, seconds: float, call: Callable[[], None]) -> None:
        """Call at the end of a pass, at most every `seconds`; never while the loop sleeps."""
        self._sample = seconds, call
        self._sample_at = self.elapsed() + seconds

    def begin_share(self) -> float:
        """Return when the share of the calling task ends; a reading of `elapsed`.

        With a bound yield point, the end of the first slice of it: then call `next_slice`.
        """
        now = self.elapsed()
        self._shares += 1
        wake = now - self.began
        self.wakes += 1
        self.wake_s += wake
        if wake > self.wake_longest_s:  # noqa: PLR1730 - max() costs three times as much
            self.wake_longest_s = wake
        self._share_ends = min(self._ends, now + self.share_s)
        return self.next_slice() if self.yield_point.bound else self._share_ends

    def next_slice(self) -> float:
        """Serve the yield point, then return when to do so again, at most the share's end."""
        self.yield_point()
        return min(self._share_ends, self.elapsed() + SLICE_S)

    def figures(self) -> Mapping[str, float | int]:
        """Figures of the loop for the tree.

        busy_s: of all passes. wake_ms: from the return of I/O to the start of a share, summed over
        `wakes`. lag_ms: the longest pass of the last minute or two, so the longest delay of a task.
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


async def in_steps(steps: Steps[T]) -> T:
    """Run steps to their end, with a checkpoint after each; return their result."""
    while (done := step(steps)) is None:
        await trio.lowlevel.checkpoint()
    return done.value
