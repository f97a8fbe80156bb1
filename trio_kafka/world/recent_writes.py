"""Which bytes of a file were written recently: a stand-in for asking the page cache.

For file systems that refuse `preadv(RWF_NOWAIT)`: what lies in the last WINDOW bytes written by
this process to all files that share one `Writes` is taken to be in memory. Accurate to GRAIN bytes,
on the careful side.
"""

from collections import deque
from typing import Final

from attrs import field

from trio_kafka.attributes import define

WINDOW: Final = 64 << 20
GRAIN: Final = 1 << 20


@define
class Writes:
    """Bytes written so far to all files that share it."""

    total: int = 0


@define
class RecentBytes:
    """The recent part of one file, which only grows at its end or is cut there."""

    writes: Writes
    _marks: deque[tuple[int, int]] = field(
        factory=deque
    )  # (total before, position), both ascending

    def wrote(self, position: int, size: int) -> None:
        """`size` bytes were appended at `position`."""
        if not self._marks or self.writes.total - self._marks[-1][0] >= GRAIN:
            self._marks.append((self.writes.total, position))
        self.writes.total += size

    def cut(self, size: int) -> None:
        """The file was cut to `size`."""
        while self._marks and self._marks[-1][1] >= size:
            self._marks.pop()

    def holds(self, position: int) -> bool:
        """The byte at `position`, and each one behind it, was written recently."""
        while self._marks and self.writes.total - self._marks[0][0] > WINDOW:
            self._marks.popleft()
        return bool(self._marks) and position >= self._marks[0][1]
