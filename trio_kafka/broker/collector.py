"""Cyclic garbage: what lives long is not looked at again and again.

A broker of 1,000 partitions has 100,000 objects that stay: one look at all of them takes 110 ms,
and large requests bring it about several times a second. So whatever survives a long look is
frozen, and looks come more often than Python's default has it: 10,000 new partitions are 600,000
new objects, of which each look sees few. Frozen objects are freed as ever when nobody refers to
them; only cycles of them are not, so now and then all are thawed, and the next look takes them too.
Measured in docs/design/start-and-stop.md.
"""

import gc
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from trio_kafka.introspect.tree import Figures

LONG_S: Final = 0.002
FREEZES: Final = 640  # until all are thawed
LOOKS: Final = (700, 10, 1)  # as in `gc.set_threshold`: the oldest at some 16,000 new objects
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

    def figures(self) -> Figures:
        """For the tree. collected: objects that were garbage, and would have stayed if frozen."""
        generations = gc.get_stats()
        return {
            "looks": generations[_OLDEST]["collections"],
            "collected": sum(one["collected"] for one in generations),
            "freezes": self.freezes,
        }


@contextmanager
def long_lived_frozen(elapsed: Callable[[], float]) -> Iterator[Collector]:
    """For the life of a broker that has just started; afterwards the collector is as before."""
    collector = Collector(elapsed)
    gc.collect()
    collector.freeze()
    gc.collect()  # of nothing: a quarter of what was seen last has to be new before the next look
    gc.callbacks.append(collector.observe)
    before = gc.get_threshold()
    gc.set_threshold(*LOOKS)
    try:
        yield collector
    finally:
        gc.set_threshold(*before)
        gc.callbacks.remove(collector.observe)
        gc.unfreeze()
