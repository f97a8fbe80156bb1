"""Growth that lasts: a load announces that its objects stay.

The broker's garbage collector would otherwise take them for garbage that grows, and scan everything
at once: 50 ms for 100,000 transactional ids. One for the process, as the collector is.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from trio_kafka.attributes import define


@define
class LastingGrowth:
    """Loads under way, and how many have ended since the process began."""

    under_way: int = 0
    ended: int = 0

    @contextmanager
    def announced(self) -> Iterator[None]:
        """Announce that objects which the block creates stay."""
        self.under_way += 1
        try:
            yield
        finally:
            self.under_way -= 1
            self.ended += 1


LASTING_GROWTH: Final = LastingGrowth()
