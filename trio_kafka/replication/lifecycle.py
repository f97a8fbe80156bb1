"""Coming and going of replicas: their logs are opened, and deleted with them.

A replica in a broken directory stays, and answers KAFKA_STORAGE_ERROR. `publisher` says which
replicas there are; the failure of a directory comes from the log manager.
"""

from typing import Final

from trio_kafka.attributes import define, frozen
from trio_kafka.errors import LogDirError
from trio_kafka.introspect.log import get_logger
from trio_kafka.log.config import LogConfig
from trio_kafka.log.files.descriptor_retry import is_exhaustion
from trio_kafka.log.manager.directory import LogDirectory
from trio_kafka.log.manager.log_manager import LogManager
from trio_kafka.metadata.image import PartitionState
from trio_kafka.model import NodeId, TopicId, TopicPartition
from trio_kafka.replication.moves.moves import LogMoves
from trio_kafka.replication.moves.placement import log_of
from trio_kafka.replication.partition import JoinQueue, Partition
from trio_kafka.replication.purgatories import Purgatories
from trio_kafka.replication.roles import Offline
from trio_kafka.replication.settings import PartitionSettings
from trio_kafka.replication.table import Replicas
from trio_kafka.replication.topic_metrics import MetricsByTopic

_logger: Final = get_logger(__name__)


@frozen(kw_only=True)
class ReplicaSettings:
    """Settings of a topic for its partitions and logs, determined once for all of them."""

    partition: PartitionSettings
    log: LogConfig


@define(eq=False, kw_only=True)
class ReplicaLifecycle:
    """Replicas of `broker` from their creation to their end.

    join_queue: see `QueuedAppends.join`. moves: of replicas between directories.
    """

    broker: NodeId
    replicas: Replicas
    logs: LogManager
    purgatories: Purgatories
    join_queue: JoinQueue
    moves: LogMoves
    topic_metrics: MetricsByTopic

    def add(
        self,
        topic_id: TopicId,
        at: TopicPartition,
        state: PartitionState,
        settings: ReplicaSettings,
        *,
        new: bool,
    ) -> None:
        """Add a replica. new: it never had a log, so an empty one loses nothing."""
        partition = Partition(
            topic_id,
            at,
            self.broker,
            state,
            purgatories=self.purgatories,
            settings=settings.partition,
            join_queue=self.join_queue,
            topic_metrics=self.topic_metrics.join(at.topic),
        )
        self.replicas.add(partition)

        def open_log() -> None:
            partition.open(log_of(self.logs, partition, state, settings.log, new=new))
            self.moves.resume(partition)
            self.moves.report(partition)

        try:
            open_log()
        except LogDirError as error:
            if is_exhaustion(error):
                self.replicas.pending.add(partition, open_log)
            _logger.warning("replica offline", partition=str(at), reason=str(error))
            partition.fail(error)

    def remove(self, partition: Partition) -> None:
        """Remove a replica and its files."""
        self.replicas.remove(partition)
        self.replicas.pending.remove(partition)
        self.moves.cancel(partition)
        self.moves.assignments.forget(partition)
        self.topic_metrics.leave(partition.at.topic)
        try:
            self.logs.delete(partition.at)
        except LogDirError as error:
            _logger.warning("replica not deleted", partition=str(partition.at), reason=str(error))
        partition.delete()

    def directory_offline(self, directory: LogDirectory) -> None:
        """Take every replica of a directory offline, as LogManager's `on_offline`."""
        error = directory.offline
        if error is None:
            return
        for partition in self.replicas.partitions:
            if partition.at in directory.logs and not isinstance(partition.role, Offline):
                partition.fail(error)
            if partition.at in directory.futures:
                self.moves.cancel(partition)
