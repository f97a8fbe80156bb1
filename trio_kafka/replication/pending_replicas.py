"""Replicas without a log for want of a free descriptor, opened as soon as there is one.

Until then they answer KAFKA_STORAGE_ERROR. No directory goes offline: a process without descriptors
    has no broken disk.
"""

from collections.abc import Callable
from typing import Final, NoReturn

import trio

from trio_kafka.errors import LogDirError
from trio_kafka.introspect.declared_waits import waits_for_work
from trio_kafka.introspect.log import get_logger
from trio_kafka.log.files.descriptor_retry import is_exhaustion, when_free_now
from trio_kafka.replication.partition import Partition

_logger: Final = get_logger(__name__)


class PendingReplicas:
    """Queue of such replicas. `run` retries them in the order in which they failed."""

    def __init__(self) -> None:
        self._open: dict[Partition, Callable[[], None]] = {}
        self._bell = trio.Event()

    def __len__(self) -> int:
        return len(self._open)

    def add(self, partition: Partition, open_log: Callable[[], None]) -> None:
        """Retry `open_log` until it succeeds or the replica is removed.

        open_log: raises LogDirError.
        """
        self._open[partition] = open_log
        self._bell.set()

    def remove(self, partition: Partition) -> None:
        """Drop a replica that was removed."""
        self._open.pop(partition, None)

    @waits_for_work("a replica that has no descriptor yet")
    async def run(
        self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED
    ) -> NoReturn:
        """Retry until cancelled. Sleeps while the queue is empty."""
        task_status.started()
        while True:
            await self._bell.wait()
            while self._open:
                partition = next(iter(self._open))
                try:
                    await when_free_now(lambda: self._try(partition))  # noqa: B023 - awaited here
                except LogDirError as error:
                    _logger.warning(
                        "replica offline", partition=str(partition.at), reason=str(error)
                    )
                    partition.fail(error)
            self._bell = trio.Event()

    def _try(self, partition: Partition) -> None:
        """Open the log of one replica, unless it was removed. LogDirError."""
        open_log = self._open.pop(partition, None)
        if open_log is None:
            return
        try:
            open_log()
        except LogDirError as error:
            if is_exhaustion(error):
                self._open[partition] = open_log
            raise
        _logger.info("replica online", partition=str(partition.at))
