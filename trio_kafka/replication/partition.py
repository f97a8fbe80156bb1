"""One replica of a partition on this broker: leader, in-sync set and log.

State only: `append`, `read`, `offsets` and `delayed_produce` act on it. Each change that requests
    may wait for calls `changed`, which marks the purgatories; the Partition is their key. It lives
    until its topic is deleted or the replica leaves, and stays the same object while leaders and
    epochs change.
"""

from collections.abc import Callable
from typing import Final

from attrs import field

from trio_kafka.attributes import define
from trio_kafka.errors import ErrorCode, KafkaError, LogDirError
from trio_kafka.introspect.tree import Figures
from trio_kafka.log.log import Log
from trio_kafka.log.producer_state import Producer as ActiveProducer
from trio_kafka.metadata.image import PartitionState
from trio_kafka.model import NodeId, TopicId, TopicPartition
from trio_kafka.replication.append_queue import Queued
from trio_kafka.replication.isr import committed_end, effective_minimum
from trio_kafka.replication.settings import DEFAULT_SETTINGS, PartitionSettings
from trio_kafka.replication.topic_metrics import TopicMetrics

NO_EPOCH: Final = -1
# Errors after which a client should ask the leader named in the answer (KIP-951).
LED_ELSEWHERE: Final = frozenset({ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH})


JoinQueue = Callable[["Partition", Queued, bool], Queued | None]


@define(eq=False)
class Partition:
    """State of a replica. leader_epoch, isr and replicas are those of the last image.

    future: copy of the log that moves to another directory, see `moves`.
    leading: the log, while this replica leads and its directory is online; None: `local_log` tells
        why.
    changed: called with the Partition after each change of offsets, and with its `loss` when other
        waits have become vain.
    join_queue: see `QueuedAppends.join`. topic_metrics: those of its topic.
    """

    topic_id: TopicId
    at: TopicPartition
    node: NodeId
    state: PartitionState
    changed: Callable[[object], None] = field(kw_only=True)
    settings: PartitionSettings = field(default=DEFAULT_SETTINGS, kw_only=True)
    join_queue: JoinQueue = field(default=lambda *_: None, kw_only=True)
    topic_metrics: TopicMetrics = field(factory=TopicMetrics, kw_only=True)
    leader: NodeId = field(init=False)
    leader_epoch: int = field(init=False)
    isr: tuple[NodeId, ...] = field(init=False)
    replicas: tuple[NodeId, ...] = field(init=False)
    log: Log | None = field(default=None, init=False)
    future: Log | None = field(default=None, init=False)
    leading: Log | None = field(default=None, init=False)
    failed: LogDirError | None = field(default=None, init=False)
    deleted: bool = field(default=False, init=False)
    epoch_start: int = field(default=0, init=False)
    follower_ends: dict[NodeId, int] = field(factory=dict, init=False)
    follower_starts: dict[NodeId, int] = field(factory=dict, init=False)
    loss: object = field(factory=object, init=False)

    def __attrs_post_init__(self) -> None:
        self._take(self.state)

    def _take(self, state: PartitionState) -> None:
        self.state = state
        self.leader = state.leader
        self.leader_epoch = state.leader_epoch
        self.isr = state.isr
        self.replicas = state.replicas
        self._lead()

    def _lead(self) -> None:
        leads = self.failed is None and self.leader == self.node
        self.leading = self.log if leads else None

    @property
    def is_leader(self) -> bool:
        return self.leader == self.node

    @property
    def minimum(self) -> int:
        """Number of replicas that must be in sync for acks=all."""
        return effective_minimum(self.settings.min_insync_replicas, len(self.replicas))

    @property
    def low_watermark(self) -> int:
        """Lowest start offset of all replicas in sync, and of a future log; -1: unknown."""
        starts = [self.follower_starts.get(node, -1) for node in self.isr if node != self.node]
        starts += [log.start_offset for log in (self.log, self.future) if log is not None]
        return min(starts, default=-1)

    # Changes

    def update(self, state: PartitionState) -> None:
        """Take over the state of a new image.

        A new leader epoch forgets the offsets of followers, and begins at the log's end.
        """
        if state.leader_epoch != self.leader_epoch and state.leader == self.node:
            self.follower_ends.clear()
            self.follower_starts.clear()
            self.epoch_start = 0 if self.log is None else self.log.end_offset
        self._take(state)
        self.advance()
        self._changed_for_all()

    def open(self, log: Log) -> None:
        """Use the log from now on."""
        self.log = log
        log.on_durable = self._became_durable
        self.failed = None
        self._lead()
        self.epoch_start = log.end_offset
        self.advance()
        self.changed(self)

    def replace_log(self, log: Log) -> None:
        """Use the future log from now on, which has all that the log has."""
        self.log = log
        self.future = None
        log.on_durable = self._became_durable
        self._lead()
        self._became_durable()

    def fail(self, error: LogDirError) -> None:
        """Go offline with the directory: every use is answered with KAFKA_STORAGE_ERROR."""
        self.failed = error
        self._lead()
        self._changed_for_all()

    def delete(self) -> None:
        """Delete the replica. Pending requests get an error."""
        self.deleted = True
        self.log = self.future = None
        self._lead()
        self._changed_for_all()

    def _changed_for_all(self) -> None:
        self.changed(self)
        self.changed(self.loss)

    def _became_durable(self) -> None:
        """Commit and mark after a sync (`flush.messages`)."""
        self.advance()
        self.changed(self)

    def advance(self) -> None:
        """Commit what all in-sync replicas have. Does not call `changed`.

        For this replica `durable_end` counts: a record that must be durable first is not visible
            yet.
        """
        log = self.log
        if log is None or self.leader != self.node:
            return
        isr = self.isr
        if len(isr) == 1 and self.settings.min_insync_replicas == 1:  # the hot path
            log.commit_own()
            return
        ends = [self.follower_ends.get(node, -1) for node in isr if node != self.node]
        log.high_watermark = committed_end(
            log.high_watermark, log.durable_end, ends, enough=len(isr) >= self.minimum
        )

    def follower_fetched(self, node: NodeId, end_offset: int, start_offset: int = -1) -> None:
        """Note that a follower has everything below `end_offset`, as it fetches from there.

        start_offset: first offset of its log.
        """
        self.check_replica(node)
        self.follower_ends[node] = end_offset
        self.follower_starts[node] = start_offset
        self.advance()
        self.changed(self)

    # Lookup

    def local_log(self, leader_epoch: int = NO_EPOCH, *, leader_only: bool = True) -> Log:
        """Return the log, for a client that knows `leader_epoch` (-1: unknown).

        Raises KafkaError: UNKNOWN_TOPIC_OR_PARTITION (deleted), KAFKA_STORAGE_ERROR,
        FENCED_LEADER_EPOCH and UNKNOWN_LEADER_EPOCH (KIP-320), NOT_LEADER_OR_FOLLOWER.
        """
        if self.failed is not None:
            raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, f"{self.at} is offline")
        if self.deleted:
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"{self.at} was deleted")
        if leader_epoch not in (NO_EPOCH, self.leader_epoch):
            code = (
                ErrorCode.FENCED_LEADER_EPOCH
                if leader_epoch < self.leader_epoch
                else ErrorCode.UNKNOWN_LEADER_EPOCH
            )
            raise KafkaError(
                code, f"{self.at}: leader epoch {leader_epoch}, here is {self.leader_epoch}"
            )
        if self.log is None or (leader_only and self.leader != self.node):
            raise KafkaError(
                ErrorCode.NOT_LEADER_OR_FOLLOWER, f"{self.at} is led by broker {self.leader}"
            )
        return self.log

    def check_replica(self, node: NodeId) -> None:
        """Raise KafkaError(UNKNOWN_LEADER_EPOCH) for a broker that has no replica, as far as
        known.
        """
        if node not in self.replicas:
            raise KafkaError(
                ErrorCode.UNKNOWN_LEADER_EPOCH, f"{self.at}: broker {node} has no replica"
            )

    def storage_error(self, error: LogDirError) -> KafkaError:
        """Take the partition offline. Return the error for the client."""
        if self.failed is None:
            self.fail(error)
        return KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, f"{self.at} is offline")

    def figures(self) -> Figures:
        """Return figures for the tree."""
        log = self.log
        return {
            "leader": self.leader,
            "leader_epoch": self.leader_epoch,
            "isr": ",".join(map(str, self.isr)),
            "under_minimum": len(self.isr) < self.minimum,
            "offline": self.failed is not None,
            **({} if log is None else log.figures()),
        }


def active_producers(partition: Partition) -> list[ActiveProducer]:
    """Return the producers that this replica's log knows, leader or not (KIP-664).

    Raises KafkaError as `Partition.local_log`.
    """
    return list(partition.local_log(leader_only=False).producers)
