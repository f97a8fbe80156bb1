"""Effects whose records are appended and not committed yet, in the order of their events.

An event without records waits behind the last one with records: it may have seen their state.
"""

from collections import deque
from collections.abc import Callable, Iterator

from trio_kafka.coordinators.shards.effects import Effects
from trio_kafka.coordinators.shards.protocols import ShardLog


class CommitQueue:
    """Queue of a shard. waiting: entries, from the oldest."""

    def __init__(self, log: ShardLog, changed: Callable[[], None]) -> None:
        """changed: called by the log when the first of the queue may be committed."""
        self._log = log
        self._changed = changed
        self.waiting: deque[tuple[object, Effects]] = deque()

    def hold(self, written: object, effects: Effects) -> bool:
        """Queue the effects until `written` is committed; return False if they need not wait.

        written: what the log's append returned; None: no records, or committed already.
        Raises KafkaError if the records are lost.
        """
        queue = self.waiting
        if written is None:
            if not queue:
                return False
            written = queue[-1][0]
        elif not queue and self._log.committed(written):
            return False
        queue.append((written, effects))
        if len(queue) == 1:
            self._log.watch(written, self._changed)
        return True

    def take_committed(self) -> Iterator[Effects]:
        """Take the effects that are committed, one by one. Raises KafkaError: lost.

        Each is asked for after the reply of the one before, which a loss does not take back.
        """
        queue, before = self.waiting, len(self.waiting)
        while queue and self._log.committed(queue[0][0]):
            yield queue.popleft()[1]
        if not queue:
            self._log.unwatch()
        elif len(queue) != before:
            self._log.watch(queue[0][0], self._changed)

    def close(self) -> None:
        """Forget everything for good, and break the cycle with the owner."""
        self.waiting.clear()
        self._log.unwatch()
        self._changed = _ignore


def _ignore() -> None:
    """Receive what the log says after `close`."""
