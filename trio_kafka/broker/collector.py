"""Cyclic garbage: what lives long is not looked at again and again.

A broker of 1,000 partitions has 100,000 objects that stay: one look at all of them takes 110 ms,
and large requests bring it about several times a second. So whatever survives a long look is
frozen, and looks come more often than Python's default has it: 10,000 new partitions are 600,000
new objects, of which each look sees few. Frozen objects are freed as ever when nobody refers to
them; only cycles of them are not, such as a generation of a plugin (400 objects) or the tasks of a
listener that goes. So when what is frozen has grown, all is thawed, and the next look takes them
too: what is garbage and stays is at most `SPARE_SHARE` of what lives, `SPARE` objects, and what
comes in `THAW_S`. Measured in docs/design/start-and-stop.md.
"""

import gc
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from trio_kafka.introspect.tree import Figures

LONG_S: Final = 0.002
THAW_S: Final = 60.0  # between two looks at everything, at least
THAW_OBJECT_S: Final = 0.0001  # and for each object: a hundred times what the look takes
SPARE: Final = 10_000
SPARE_SHARE: Final = 0.25
# As in `gc.set_threshold`: one look at each generation in turn, the oldest at 15,000 new objects.
LOOKS: Final = (5000, 0, 0)
_OLDEST: Final = 2


class Collector:
    """Give `observe` to `gc.callbacks`. `elapsed`: seconds."""

    def __init__(self, elapsed: Callable[[], float]) -> None:
        self.freezes = self.thaws = 0
        self._elapsed = elapsed
        self._began = 0.0
        self._least = 0  # frozen objects after the last look at everything; 0: it is to come
        self._counted = 0.0  # when they were

    def observe(self, phase: str, info: Mapping[str, int]) -> None:
        """Called by the collector before and after each of its looks."""
        if info["generation"] != _OLDEST:
            return
        if phase == "start":
            self._began = self._elapsed()
        elif self._elapsed() - self._began >= LONG_S:
            self.freeze()

    def freeze(self) -> None:
        """What lives now stays; or all is to be looked at again."""
        if self._least and self._has_grown():
            self.thaws += 1
            self._least = 0
            gc.unfreeze()
            return
        self.freezes += 1
        gc.freeze()
        if not self._least:
            self._least, self._counted = gc.get_freeze_count(), self._elapsed()

    def _has_grown(self) -> bool:
        """Whether a look at everything is due. To count is a walk over all, of 1 ms for 100,000."""
        now = self._elapsed()
        if now - self._counted < max(THAW_S, self._least * THAW_OBJECT_S):
            return False
        self._counted = now
        return gc.get_freeze_count() > self._least * (1 + SPARE_SHARE) + SPARE

    def figures(self) -> Figures:
        """For the tree. collected: objects that were garbage, and would have stayed if frozen."""
        generations = gc.get_stats()
        return {
            "looks": generations[_OLDEST]["collections"],
            "collected": sum(one["collected"] for one in generations),
            "freezes": self.freezes,
            "thaws": self.thaws,
        }


@contextmanager
def long_lived_frozen(elapsed: Callable[[], float]) -> Iterator[Collector]:
    """For the life of a broker that has just started; afterwards the collector is as before.

    Nothing is looked at before it is frozen: that would hold up the first clients, for 36 ms and
    more, and find 800 objects of garbage.
    """
    collector = Collector(elapsed)
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
