"""Is a directory slow? An append that took long says so, for a while.

Appends block the loop; on a disk that stalls they belong into a thread. One Pace for each
directory.
"""

from collections.abc import Callable
from typing import Final

LONG_APPEND_S: Final = 0.005
SLOW_FOR_S: Final = 1.0


class Pace:
    """What the appends to one directory cost. elapsed: World's clock that is never skipped."""

    __slots__ = ("elapsed", "long_appends", "longest_s", "slow_until")

    def __init__(self, elapsed: Callable[[], float]) -> None:
        self.elapsed = elapsed
        self.long_appends = 0
        self.longest_s = 0.0
        self.slow_until = float("-inf")

    @property
    def slow(self) -> bool:
        """A long append was less than a second ago."""
        return self.elapsed() < self.slow_until

    def took_long(self, began: float, ended: float) -> None:
        """An append took longer than LONG_APPEND_S."""
        self.long_appends += 1
        self.longest_s = max(self.longest_s, ended - began)
        self.slow_until = ended + SLOW_FOR_S
