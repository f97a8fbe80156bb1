"""Is a directory slow? An append that took long says so, for a while.

Appends block the loop; on a disk that stalls they belong into a thread. One Pace for each
directory. What a thread takes is longer by its wait for a token and for the interpreter (5 ms where
the loop is busy), so that it takes more of it to say "slow" again.
"""

from collections.abc import Callable
from typing import Final

LONG_APPEND_S: Final = 0.005
LONG_IN_THREAD_S: Final = 0.025
SLOW_FOR_S: Final = 1.0


class Pace:
    """What the appends to one directory cost. elapsed: World's clock that is never skipped.

    calm: not slow, and no append waits for a thread: nobody need look further. queues: how many
    partitions have appends that wait.
    """

    __slots__ = ("calm", "elapsed", "long_appends", "longest_s", "queues", "slow_until")

    def __init__(self, elapsed: Callable[[], float]) -> None:
        self.elapsed = elapsed
        self.calm = True
        self.queues = 0
        self.long_appends = 0
        self.longest_s = 0.0
        self.slow_until = float("-inf")

    @property
    def slow(self) -> bool:
        """A long append was less than a second ago."""
        return self.elapsed() < self.slow_until

    def took_long(self, began: float, ended: float) -> None:
        """An append took longer than LONG_APPEND_S, or LONG_IN_THREAD_S."""
        self.calm = False
        self.long_appends += 1
        self.longest_s = max(self.longest_s, ended - began)
        self.slow_until = ended + SLOW_FOR_S

    def calm_down(self) -> None:
        """Be calm again, if all is over."""
        self.calm = not (self.queues or self.slow)
