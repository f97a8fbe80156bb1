"""Is a directory slow? An append that took long, because it waited, says so for a while.

Appends block the loop; on a disk that stalls they belong into a thread. One Pace for each
directory. On a busy machine an append also takes long because others have the processor, which no
thread would change: so the first long append of a while makes the directory suspect only, and
whether the next ones wait is counted. What a thread takes is longer by its wait for a token and for
the interpreter (5 ms where the loop is busy), so that it takes more of it to say "slow" again.
"""

from collections.abc import Callable
from typing import Final

import trio

from trio_kafka.scheduling.yield_point import YieldPoint

LONG_APPEND_S: Final = 0.005
LONG_IN_THREAD_S: Final = 0.025
SLOW_FOR_S: Final = 1.0
SUSPECT_FOR_S: Final = 2.0
CLOSE_S: Final = 0.0001


class Pace:
    """What the appends to one directory cost.

    elapsed: World's clock that is never skipped. waits: its count of what a thread waited for;
        None: whatever takes long has waited.
    suspect: call `watch` before the next append.
    calm: not slow, and no append waits for a thread: nobody need look further. queues: how many
    partitions have appends that wait. yield_point: called between the pieces of a large append.
    appending: held by whoever appends in a thread: one at a time, as a second one would copy on the
    core that the loop needs, and wait for the same disk.
    """

    __slots__ = (
        "_suspect_until",
        "_waited",
        "_waits",
        "_watched",
        "appending",
        "calm",
        "elapsed",
        "long_appends",
        "longest_s",
        "queues",
        "slow_until",
        "suspect",
        "yield_point",
    )

    def __init__(
        self,
        elapsed: Callable[[], float],
        waits: Callable[[], int] | None = None,
        yield_point: YieldPoint | None = None,
    ) -> None:
        self.elapsed = elapsed
        self.suspect = False
        self._waits = waits
        self._waited: int | None = None  # how often, before the append that is watched
        self._watched = float("-inf")
        self._suspect_until = float("-inf")
        self.yield_point = YieldPoint() if yield_point is None else yield_point
        self.appending = trio.Lock()
        self.calm = True
        self.queues = 0
        self.long_appends = 0
        self.longest_s = 0.0
        self.slow_until = float("-inf")

    @property
    def slow(self) -> bool:
        """A long append was less than a second ago."""
        return self.elapsed() < self.slow_until

    def watch(self) -> None:
        """An append of this thread begins, to a directory that is suspect. Between appends that
        come so close the loop has not waited for anything: the count is taken once for them.
        """
        now = self.elapsed()
        if self._waits is None or now >= self._suspect_until:
            self.suspect = False
            self._waited = None
        elif self._waited is None or now - self._watched > CLOSE_S:
            self._waited = self._waits()
        self._watched = now

    def held_up(self, began: float, ended: float) -> None:
        """An append held this thread for longer than LONG_APPEND_S: by the disk, or by others."""
        waits = self._waits
        if waits is None or (self._waited is not None and waits() != self._waited):
            self.took_long(began, ended)
        else:
            self.suspect = True
            self._suspect_until = ended + SUSPECT_FOR_S

    def took_long(self, began: float, ended: float) -> None:
        """An append waited for longer than LONG_APPEND_S, or LONG_IN_THREAD_S."""
        self.calm = False
        self.long_appends += 1
        self.longest_s = max(self.longest_s, ended - began)
        self.slow_until = ended + SLOW_FOR_S

    def calm_down(self) -> None:
        """Be calm again, if all is over."""
        self.calm = not (self.queues or self.slow)
