"""The machine's clock, which nobody moves: what a broker runs on.

Every batch, turn and stamp reads it, so the readings are the machine's own functions, with nothing
in between. A clock that tests can move is `world.clock.SkippingClock`.
"""

import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

import trio

from trio_kafka.world.clock import waits_of_thread


class MachineClock(trio.abc.Clock):
    """For `trio.run`, and for a `RealWorld`. See `protocols.Clock`."""

    def __init__(self) -> None:
        self.wall: Callable[[], float] = time.time
        self.elapsed: Callable[[], float] = time.perf_counter
        self.waits: Callable[[], int] | None = waits_of_thread

    def start_clock(self) -> None:
        """Nothing to start: part of Trio's interface."""

    def current_time(self) -> float:
        return time.perf_counter()

    def deadline_to_sleep_time(self, deadline: float) -> float:
        return deadline - time.perf_counter()

    def working(self) -> AbstractContextManager[None]:
        """A thread or a process works: this clock jumps over nothing."""
        return nullcontext()
