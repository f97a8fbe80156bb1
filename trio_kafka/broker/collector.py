"""Cyclic garbage: what lives long is not looked at again and again.

A broker of 1,000 partitions has 100,000 objects that stay: one look at all of them takes 110 ms,
and large requests bring it about several times a second. So whatever survives a long look is
frozen. Frozen objects are freed as ever when nobody refers to them; only cycles of them are not, so
now and then all are thawed, and the next look takes them too. Measured in
docs/design/start-and-stop.md.
"""

import gc
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Final

LONG_S: Final = 0.005
FREEZES: Final = 64  # until all are thawed
_OLDEST: Final = 2


class Collector:
    """Give `observe` to `gc.callbacks`. `elapsed`: seconds."""

    def __init__(self, elapsed: Callable[[], float]) -> None:
        self.freezes = 0
        self._elapsed = elapsed
        self._began = 0.0

    def observe(self, phase: str, info: Mapping[str, int]) -> None:
        """Called by the collector before and after each of its looks."""
        if info["generation"] != _OLDEST:
            return
        if phase == "start":
            self._began = self._elapsed()
        elif self._elapsed() - self._began >= LONG_S:
            self.freeze()

    def freeze(self) -> None:
        """What lives now stays; after many times all is looked at again."""
        if self.freezes == FREEZES:
            self.freezes = 0
            gc.unfreeze()
        else:
            self.freezes += 1
            gc.freeze()


@contextmanager
def long_lived_frozen(elapsed: Callable[[], float]) -> Iterator[Collector]:
    """For the life of a broker that has just started; afterwards the collector is as before."""
    collector = Collector(elapsed)
    gc.collect()
    collector.freeze()
    gc.callbacks.append(collector.observe)
    try:
        yield collector
    finally:
        gc.callbacks.remove(collector.observe)
        gc.unfreeze()
