"""Garbage collector of a running broker: long-lived objects are frozen, and scanned only once.

A broker of 1,000 partitions has 100,000 objects that stay. A scan of all of them takes 110 ms, and
large requests would trigger several a second. So what survives a scan is frozen. Reference counts
still free a frozen object; a cycle that becomes garbage after it was frozen stays, such as one
generation of a plugin (400 objects). Once the frozen objects have doubled, all are thawed, and the
next scan takes them too. Growth by a load that was announced lasts, and is no reason for that.
Figures: docs/design/start-and-stop.md.
"""

import gc
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from trio_kafka.introspect.tree import Figures
from trio_kafka.scheduling.lasting_objects import LASTING_GROWTH, LastingGrowth

SCANS: Final = (2000, 0, 0)  # for `gc.set_threshold`: a scan of each generation in turn
COUNT_S: Final = 60.0  # between two counts of frozen objects; a count takes 1 ms for 100,000
GROWTH: Final = 2.0  # frozen objects are thawed when there are so many times those that lived
SPARE: Final = 10_000  # and so many more
_OLDEST: Final = 2


class Collector:
    """Freezer of the objects that survive a scan; it thaws them when they are too many."""

    def __init__(
        self, elapsed: Callable[[], float], growth: LastingGrowth = LASTING_GROWTH
    ) -> None:
        """Create the freezer. elapsed: returns seconds of a monotonic clock. growth: by loads."""
        self.freezes = self.thaws = 0
        self._elapsed = elapsed
        self._growth = growth
        self._loads = growth.ended  # at the last count
        self._counted_s = elapsed()
        self._alive: int | None = None  # objects that survived the last full scan; None: it is due

    def observe(self, phase: str, info: Mapping[str, int]) -> None:
        """Observe a scan, before and after it: a callback for `gc.callbacks`."""
        # Thawed objects are in the oldest generation until they are scanned.
        if phase == "stop" and (self._alive is not None or info["generation"] == _OLDEST):
            self.freeze()

    def freeze(self) -> None:
        """Freeze all live objects; thaw them from time to time if they are too many."""
        self.freezes += 1
        gc.freeze()
        now = self._elapsed()
        if self._alive is None:
            self._alive, self._counted_s = gc.get_freeze_count(), now
        elif now - self._counted_s >= COUNT_S and not self._growth.under_way:
            self._counted_s = now
            self._thaw_if_grown(self._alive, gc.get_freeze_count())

    def _thaw_if_grown(self, alive: int, frozen: int) -> None:
        if self._growth.ended != self._loads:
            self._alive, self._loads = frozen, self._growth.ended
        elif frozen > alive * GROWTH + SPARE:
            self.thaws += 1
            self._alive = None
            gc.unfreeze()

    def figures(self) -> Figures:
        """Figures for the tree. collected: objects that were garbage."""
        generations = gc.get_stats()
        return {
            "looks": sum(generation["collections"] for generation in generations),
            "collected": sum(generation["collected"] for generation in generations),
            "freezes": self.freezes,
            "thaws": self.thaws,
        }


@contextmanager
def long_lived_frozen(elapsed: Callable[[], float]) -> Iterator[Collector]:
    """Freeze long-lived objects during the block; afterwards the collector is as before.

    Nothing is scanned before the first freeze: that would hold up the first clients for 36 ms and
    more, and find 800 objects of garbage.
    """
    collector = Collector(elapsed)
    collector.freeze()
    gc.collect()  # of nothing: a quarter of what was scanned last must be new before the next scan
    gc.callbacks.append(collector.observe)
    before = gc.get_threshold()
    gc.set_threshold(*SCANS)
    try:
        yield collector
    finally:
        gc.set_threshold(*before)
        gc.callbacks.remove(collector.observe)
        gc.unfreeze()
