"""Leader epochs of a log with their start offsets: the cache behind `leader-epoch-checkpoint`.

Entries (epoch, start offset) ascend in both. Pure: the log writes the rows before its recovery
point passes them.
Source: KIP-101, KIP-279.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from typing import Final

NO_EPOCH: Final = -1
NO_OFFSET: Final = -1


class LeaderEpochs:
    """Leader epochs of one partition. dirty: changed since `rows` was last taken for the file."""

    __slots__ = ("_epochs", "_starts", "dirty", "latest")

    def __init__(self, rows: Iterable[tuple[int, int]] = ()) -> None:
        self._epochs: list[int] = []
        self._starts: list[int] = []
        self.latest = NO_EPOCH
        for epoch, start in rows:
            self.assign(epoch, start)
        self.dirty = False

    @property
    def rows(self) -> list[tuple[int, int]]:
        """Pairs (epoch, start offset), ascending."""
        return list(zip(self._epochs, self._starts, strict=True))

    def assign(self, epoch: int, start: int) -> None:
        """Begin `epoch` at offset `start`, unless it began before.

        Entries that contradict it are removed.
        """
        if epoch < 0 or (epoch == self.latest and start >= self._starts[-1]):
            return
        keep = min(bisect_left(self._epochs, epoch), bisect_left(self._starts, start))
        del self._epochs[keep:], self._starts[keep:]
        self._epochs.append(epoch)
        self._starts.append(start)
        self._changed()

    def end_offset(self, epoch: int, log_end: int) -> tuple[int, int]:
        """Return (largest epoch <= `epoch`, the offset where it ended); (-1, -1) if unknown.

        For an epoch before the first known one: itself and the start of the first known one.
        """
        if epoch == NO_EPOCH or not self._epochs or epoch > self.latest:
            return NO_EPOCH, NO_OFFSET
        if epoch == self.latest:
            return epoch, log_end
        higher = bisect_right(self._epochs, epoch)
        floor = self._epochs[higher - 1] if higher else epoch
        return floor, self._starts[higher]

    def epoch_at(self, offset: int) -> int:
        """Return the epoch of the batch at `offset`; -1 before the first entry."""
        count = bisect_right(self._starts, offset)
        return self._epochs[count - 1] if count else NO_EPOCH

    def truncate_from_end(self, offset: int) -> None:
        """Forget epochs that begin at `offset` or later."""
        keep = bisect_left(self._starts, offset)
        if keep < len(self._starts):
            del self._epochs[keep:], self._starts[keep:]
            self._changed()

    def truncate_from_start(self, offset: int) -> None:
        """Forget epochs that ended at `offset` or before.

        The epoch that contains `offset` begins there now.
        """
        index = bisect_right(self._starts, offset) - 1
        if index >= 0 and self._starts[index] < offset:
            del self._epochs[:index], self._starts[:index]
            self._starts[0] = offset
            self._changed()
        elif index > 0:
            del self._epochs[:index], self._starts[:index]
            self._changed()

    def _changed(self) -> None:
        self.dirty = True
        self.latest = self._epochs[-1] if self._epochs else NO_EPOCH
