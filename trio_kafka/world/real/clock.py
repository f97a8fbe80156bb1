"""The machine's clock, which a broker runs on.

Readings are the system's functions without a wrapper, as every batch and stamp needs one. Tests
use `world.clock.SkippingClock`, which can be moved.
"""

import time
from collections.abc import Callable, Hashable
from contextlib import AbstractContextManager, nullcontext

import trio

from trio_kafka.world.clock import waits_of_thread


class MachineClock(trio.abc.Clock):
    """Clock for `trio.run` and for a `RealWorld`. See `protocols.Clock`."""

    def __init__(self) -> None:
        self.wall: Callable[[], float] = time.time
        self.elapsed: Callable[[], float] = time.perf_counter
        self.waits: Callable[[], int] | None = waits_of_thread

    def start_clock(self) -> None:
        """Do nothing: part of Trio's interface."""

    def current_time(self) -> float:
        return time.perf_counter()

    def deadline_to_sleep_time(self, deadline: float) -> float:
        return deadline - time.perf_counter()

    def wall_of(self, timestamp_ms: int, place: Hashable, offset: int) -> int:
        """Return the moment itself: this clock is never moved."""
        del place, offset
        return timestamp_ms

    def working(self) -> AbstractContextManager[None]:
        """Do nothing: this clock skips no time."""
        return nullcontext()
