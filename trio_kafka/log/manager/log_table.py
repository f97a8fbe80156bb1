"""Table of a broker's logs: the log of each partition, and its future log, each in a directory.

A future log is the copy of a log that moves to another directory; it is promoted to the log when it
has caught up. There is one table for both kinds, and nothing else changes `LogDirectory.logs` and
`futures`, so that a log is in exactly one place. Two tables could disagree, and once did, which
lost a log.
"""

from trio_kafka.attributes import frozen
from trio_kafka.errors import InvariantError
from trio_kafka.introspect.tree import Node
from trio_kafka.log.log import Log
from trio_kafka.log.manager.directory import LogDirectory
from trio_kafka.model import TopicPartition


@frozen(kw_only=True)
class PlacedLog:
    """Row of the table. node: the log's in the tree."""

    log: Log
    directory: LogDirectory
    is_future: bool
    node: Node


class LogTable:
    """Logs by partition and kind. node: parent of the logs in the tree."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._rows: dict[tuple[TopicPartition, bool], PlacedLog] = {}
        self._futures = 0  # of the rows

    def get(self, partition: TopicPartition, *, is_future: bool = False) -> PlacedLog | None:
        """Return the log of a partition, or its future log, even if the directory is offline."""
        return self._rows.get((partition, is_future))

    def logs(self, *, is_future: bool = False) -> tuple[Log, ...]:
        """Return all logs, or all future logs."""
        return tuple(row.log for (_, kind), row in self._rows.items() if kind is is_future)

    def count(self, *, is_future: bool = False) -> int:
        """Count all logs, or all future logs. Costs no pass over them."""
        return self._futures if is_future else len(self._rows) - self._futures

    def add(self, directory: LogDirectory, log: Log, *, is_future: bool = False) -> None:
        """Add a log of `directory`.

        Raises InvariantError if the partition has such a log, or its other one in `directory`: one
        line of a checkpoint would then stand for two logs.
        """
        partition = log.partition
        other = self._rows.get((partition, not is_future))
        if (partition, is_future) in self._rows or (other and other.directory is directory):
            raise InvariantError(f"{partition}: a second log in {directory.path}")
        directory.add(log, is_future=is_future)
        name = f"{partition}-future" if is_future else str(partition)
        self._rows[partition, is_future] = PlacedLog(
            log=log,
            directory=directory,
            is_future=is_future,
            node=self._node.add(name, "log", log.figures),
        )
        self._futures += is_future

    def pop(self, partition: TopicPartition, *, is_future: bool = False) -> PlacedLog | None:
        """Remove and return the log of a partition, or its future log. Its files stay."""
        row = self._rows.pop((partition, is_future), None)
        if row is not None:
            self._futures -= is_future
            row.directory.remove(partition, is_future=is_future)
            row.node.remove()
        return row

    def clear(self) -> None:
        """Forget all logs, when they are closed."""
        self._rows.clear()
        self._futures = 0
