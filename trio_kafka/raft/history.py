"""Start offset of each epoch in the log, by which a leader and a follower find their divergence.

Source: KIP-101, KIP-595.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable

from attrs import Factory

from trio_kafka.attributes import define
from trio_kafka.errors import InvariantError


@define
class History:
    """Epochs with their start offsets, both ascending, and the end of the log."""

    end: int = 0
    _epochs: list[int] = Factory(list)
    _starts: list[int] = Factory(list)

    @classmethod
    def of(cls, epochs: Iterable[tuple[int, int]], end: int) -> "History":
        """Create a history from ascending pairs of epoch and start offset."""
        history = cls(end)
        for epoch, start in epochs:
            history._epochs.append(epoch)
            history._starts.append(start)
        return history

    @property
    def last_epoch(self) -> int:
        """Epoch of the last record, 0 for an empty log."""
        return self._epochs[-1] if self._epochs else 0

    def append(self, end: int, epoch: int) -> None:
        """Extend the log to `end` by records of `epoch`. InvariantError: the epoch decreased."""
        if epoch < self.last_epoch:
            raise InvariantError(f"records of epoch {epoch} behind those of {self.last_epoch}")
        if end > self.end and (not self._epochs or epoch > self._epochs[-1]):
            self._epochs.append(epoch)
            self._starts.append(self.end)
        self.end = max(self.end, end)

    def truncate(self, end: int) -> None:
        """Truncate the log to `end`; epochs that begin there or later are removed."""
        while self._starts and self._starts[-1] >= end:
            self._starts.pop()
            self._epochs.pop()
        self.end = min(self.end, end)

    def epoch_at(self, end: int) -> int:
        """Return the epoch of the last record below `end`, 0 if there is none."""
        at = bisect_left(self._starts, end)
        return self._epochs[at - 1] if at else 0

    def end_of(self, epoch: int) -> tuple[int, int]:
        """Return the largest epoch not above `epoch`, and its end offset in this log.

        (epoch, start of the log) if all known epochs are younger.
        """
        at = bisect_right(self._epochs, epoch)
        if at == 0:
            return epoch, self._starts[0] if self._starts else self.end
        end = self._starts[at] if at < len(self._starts) else self.end
        return self._epochs[at - 1], end
