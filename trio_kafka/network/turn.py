"""The turn: how long the tasks of a plane may run in one pass of the loop.

A plane has 2 ms a pass, and each task its part of it and at least one item: Trio runs the tasks of
a pass in random order, and with one shared budget the first would leave nothing to the others. The
parts are as many as there were in the pass before: who is alone has all of it, as a pass costs 30
µs whatever is done in it.
Only the two hooks around the wait for I/O are there: nothing is paid per step of a task.
"""

from collections.abc import Callable

import trio

from trio_kafka.introspect.tree import Figures


class Turn(trio.abc.Instrument):
    """One budget for all tasks of a plane in each pass; also the plane's idea of the time, one
    reading a pass. share_s: of each task, if it is to be always the same.
    """

    def __init__(
        self, elapsed: Callable[[], float], limit_s: float = 0.002, share_s: float | None = None
    ) -> None:
        self.elapsed = elapsed
        self.limit_s = limit_s
        self._fixed = share_s
        self.share_s = limit_s if share_s is None else share_s
        self._parts = 0  # how many tasks have begun one in this pass
        self.passes = 0
        self.longest_s = 0.0
        self.time = 0.0  # trio.current_time() when the pass began
        self.shared = 0.0  # `time` of the last pass in which more than one task had a part
        self._began = elapsed()
        self._ends = 0.0

    def after_io_wait(self, timeout: float) -> None:
        del timeout
        self._began = self.elapsed()
        self._ends = self._began + self.limit_s
        if self._fixed is None:
            self.share_s = self.limit_s / (self._parts or 1)
        if self._parts > 1:
            self.shared = self.time
        self._parts = 0
        self.time = trio.current_time()
        self.passes += 1

    def before_io_wait(self, timeout: float) -> None:
        del timeout
        took = self.elapsed() - self._began
        self.longest_s = max(self.longest_s, took)

    def begin(self) -> float:
        """When the part of the task that asks ends; a reading of `elapsed`."""
        self._parts += 1
        return min(self._ends, self.elapsed() + self.share_s)

    def figures(self) -> Figures:
        return {
            "limit_ms": self.limit_s * 1e3,
            "share_ms": self.share_s * 1e3,
            "passes": self.passes,
            "longest_ms": self.longest_s * 1e3,
        }
