"""Recently written bytes of a file, as an estimate of the page cache.

For file systems without `preadv(RWF_NOWAIT)`: the last WINDOW bytes that this process wrote to all
files of one `Writes` count as cached. Accurate to GRAIN bytes, on the safe side.
"""

from collections import deque
from typing import Final

from attrs import field

from trio_kafka.attributes import define

WINDOW: Final = 64 << 20
GRAIN: Final = 1 << 20


@define
class Writes:
    """Number of bytes written so far, shared by some files."""

    total: int = 0


@define
class RecentBytes:
    """Recently written bytes of one file, which grows at its end or is cut there."""

    writes: Writes
    # Pairs of the total before a write and its position, both ascending.
    _marks: deque[tuple[int, int]] = field(factory=deque)

    def wrote(self, position: int, size: int) -> None:
        """Note that `size` bytes were appended at `position`."""
        if not self._marks or self.writes.total - self._marks[-1][0] >= GRAIN:
            self._marks.append((self.writes.total, position))
        self.writes.total += size

    def cut(self, size: int) -> None:
        """Note that the file was cut to `size`."""
        while self._marks and self._marks[-1][1] >= size:
            self._marks.pop()

    def holds(self, position: int) -> bool:
        """Return whether all bytes from `position` on were written recently."""
        while self._marks and self.writes.total - self._marks[0][0] > WINDOW:
            self._marks.popleft()
        return bool(self._marks) and position >= self._marks[0][1]
