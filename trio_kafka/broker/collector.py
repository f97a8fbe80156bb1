"""Cyclic garbage: what lives long is not looked at again and again.

A broker of 1,000 partitions has 100,000 objects that stay: one look at all of them takes 110 ms,
and large requests bring it about several times a second. So whatever survives a look that finds no
garbage is frozen: an object is looked at once. Frozen objects are freed as ever when nobody refers
to them; only cycles of them are not, such as a generation of a plugin (400 objects) or the tasks of
a listener that goes. So when what is frozen grows and grows, all is thawed, and the next look takes
them too. Growth that comes once is what a broker has to keep, a load of committed offsets or new
topics: garbage that stays comes time and again. There is at most `SPARE_SHARE` of what lives,
`SPARE` objects, and what comes in a few times `THAW_S`. Measured in docs/design/start-and-stop.md.
"""

import gc
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from trio_kafka.introspect.tree import Figures

THAW_S: Final = 60.0  # between two counts of what is frozen, at least
THAW_OBJECT_S: Final = 0.0001  # and for each object: a hundred times what the look takes
SPARE: Final = 10_000
SPARE_SHARE: Final = 0.25
TIMES: Final = 5  # that it has grown by a fifth of that
LOOKS: Final = (2000, 0, 0)  # as in `gc.set_threshold`: one look at each generation in turn
FEW: Final = LOOKS[0] // 100  # objects that are garbage where nobody makes cycles
_OLDEST: Final = 2


class Collector:
    """Give `observe` to `gc.callbacks`. `elapsed`: seconds."""

    def __init__(self, elapsed: Callable[[], float]) -> None:
        self.freezes = self.thaws = 0
        self._elapsed = elapsed
        self._least = 0  # frozen objects after the last look at everything; 0: it is to come
        self._counted = 0.0  # when they were
        self._highest = 0  # how many there were when they had grown
        self._times = 0  # that they had

    def observe(self, phase: str, info: Mapping[str, int]) -> None:
        """Called by the collector before and after each of its looks."""
        if phase == "start":
            return
        # Thawed objects wait for the look at everything, the oldest among them.
        is_old = info["collected"] <= FEW if self._least else info["generation"] == _OLDEST
        if is_old:
            self.freeze()

    def freeze(self) -> None:
        """What lives now stays; or all is to be looked at again."""
        if self._least and self._grows_and_grows():
            self.thaws += 1
            self._least = 0
            gc.unfreeze()
            return
        self.freezes += 1
        gc.freeze()
        if not self._least:
            self._least = self._highest = gc.get_freeze_count()
            self._times, self._counted = 0, self._elapsed()

    def _grows_and_grows(self) -> bool:
        """To count is a walk over all, of 1 ms for 100,000."""
        now = self._elapsed()
        if now - self._counted < max(THAW_S, self._least * THAW_OBJECT_S):
            return False
        self._counted = now
        count = gc.get_freeze_count()
        if count - self._highest > (self._least * SPARE_SHARE + SPARE) / TIMES:
            self._highest = count
            self._times += 1
        return self._times >= TIMES

    def figures(self) -> Figures:
        """For the tree. collected: objects that were garbage, and would have stayed if frozen."""
        generations = gc.get_stats()
        return {
            "looks": sum(one["collections"] for one in generations),
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
