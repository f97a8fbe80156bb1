"""One replica of a partition on this broker.

Theory of operation. Three things decide what a replica does: the metadata (leader, epoch, in-sync
set), its log, and its `role`, which follows from both. `update` takes over an image, `open` a log,
`fail` and `delete` end its use; each of them sets the role, and nothing else does.

    created ─▶ Offline ─ open ─▶ Leading ◀─ update ─▶ Following
                  ▲                 └─────── fail ────────┘        delete: from any role to Deleted

Only a leader commits: `advance` moves the high watermark to what all in-sync replicas have, and
`follower_fetched` notes what a follower has. A new leader epoch is a new `Leading`, so it forgets
its followers. After each change the partition marks itself in the purgatories, where it is the key
of the requests that wait for it. Waits that became vain (another leader, no log) watch its `loss`.
The object stays the same until its topic is deleted or the replica leaves. `leader` and `follower`
act on it; they test `role` once for each request, which is all that it costs them.
"""

from collections.abc import Callable
from typing import Final

from attrs import Factory, field

from trio_kafka.attributes import define
from trio_kafka.errors import ErrorCode, KafkaError, LogDirError
from trio_kafka.introspect.tree import Figures
from trio_kafka.log.log import Log
from trio_kafka.log.producer_state import Producer as ActiveProducer
from trio_kafka.metadata.image import PartitionState
from trio_kafka.model import NodeId, TopicId, TopicPartition
from trio_kafka.replication.append_queue import Queued
from trio_kafka.replication.isr import committed_end, effective_minimum
from trio_kafka.replication.purgatories import Purgatories
from trio_kafka.replication.roles import Deleted, Following, Leading, Offline, Role
from trio_kafka.replication.settings import DEFAULT_SETTINGS, PartitionSettings
from trio_kafka.replication.topic_metrics import TopicMetrics

NO_EPOCH: Final = -1
UNKNOWN_OFFSET: Final = -1
# Errors after which a client should ask the leader named in the answer (KIP-951).
LED_ELSEWHERE: Final = frozenset({ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH})


JoinQueue = Callable[["Partition", Queued, bool], Queued | None]


@define(eq=False)
class Partition:
    """State of a replica. leader, leader_epoch, isr and replicas are those of the last image.

    role: see above. future: copy of the log that moves to another directory, see `moves`.
    purgatories: requests that wait for it. changed: marks the keys of those that watch one: the
        Partition after each change of offsets, its `loss` when other waits have become vain.
    join_queue: see `QueuedAppends.join`. topic_metrics: those of its topic.
    """

    topic_id: TopicId
    at: TopicPartition
    node: NodeId
    state: PartitionState
    purgatories: Purgatories = field(kw_only=True)
    settings: PartitionSettings = field(default=DEFAULT_SETTINGS, kw_only=True)
    join_queue: JoinQueue = field(default=lambda *_: None, kw_only=True)
    topic_metrics: TopicMetrics = field(factory=TopicMetrics, kw_only=True)
    changed: Callable[[object], None] = field(
        default=Factory(lambda self: self.purgatories.mark, takes_self=True), init=False
    )
    leader: NodeId = field(init=False)
    leader_epoch: int = field(init=False)
    isr: tuple[NodeId, ...] = field(init=False)
    replicas: tuple[NodeId, ...] = field(init=False)
    role: Role = field(init=False)
    future: Log | None = field(default=None, init=False)
    loss: object = field(factory=object, init=False)

    def __attrs_post_init__(self) -> None:
        self._take(self.state)
        self.role = Offline(LogDirError(str(self.at), "its log is not open yet"))

    def _take(self, state: PartitionState) -> None:
        self.state = state
        self.leader = state.leader
        self.leader_epoch = state.leader_epoch
        self.isr = state.isr
        self.replicas = state.replicas

    @property
    def is_leader(self) -> bool:
        """Whether the metadata name this broker as the leader, even if the replica is offline."""
        return self.leader == self.node

    @property
    def log(self) -> Log | None:
        """The log, also if it has failed."""
        return self.role.log

    @property
    def leading(self) -> Log | None:
        """The log, while this replica leads; None: `local_log` tells why it does not."""
        role = self.role
        return role.log if isinstance(role, Leading) else None

    @property
    def minimum(self) -> int:
        """Number of replicas that must be in sync for acks=all."""
        return effective_minimum(self.settings.min_insync_replicas, len(self.replicas))

    @property
    def low_watermark(self) -> int:
        """Lowest start offset of all replicas in sync, and of a future log; -1: unknown."""
        role, starts = self.role, []
        if isinstance(role, Leading):
            starts = [role.follower_starts.get(node, -1) for node in self.isr if node != self.node]
        starts += [log.start_offset for log in (role.log, self.future) if log is not None]
        return min(starts, default=-1)

    # Changes

    def update(self, state: PartitionState) -> None:
        """Take over the state of a new image.

        A new leader epoch forgets the offsets of followers, and begins at the log's end.
        """
        is_new_epoch = state.leader_epoch != self.leader_epoch
        self._take(state)
        role = self.role
        if isinstance(role, Leading | Following):
            if not self.is_leader:
                self.role = Following(role.log)
            elif is_new_epoch or isinstance(role, Following):
                self.role = Leading(role.log, role.log.end_offset)
        self.advance()
        self._changed_for_all()

    def open(self, log: Log) -> None:
        """Use the log from now on."""
        log.on_durable = self._became_durable
        self.role = Leading(log, log.end_offset) if self.is_leader else Following(log)
        self.advance()
        self.changed(self)

    def replace_log(self, log: Log) -> None:
        """Use the future log from now on, which has all that the log has."""
        role = self.role
        if not isinstance(role, Deleted):
            role.log = log
        self.future = None
        log.on_durable = self._became_durable
        self._became_durable()

    def fail(self, error: LogDirError) -> None:
        """Go offline with the directory: every use is answered with KAFKA_STORAGE_ERROR."""
        if not isinstance(self.role, Deleted):
            self.role = Offline(error, self.role.log)
        self._changed_for_all()

    def delete(self) -> None:
        """Delete the replica. Pending requests get an error."""
        self.role = Deleted()
        self.future = None
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
        role = self.role
        if not isinstance(role, Leading):
            return
        log, isr = role.log, self.isr
        if len(isr) == 1 and self.settings.min_insync_replicas == 1:  # the hot path
            log.commit_own()
            return
        ends = [role.follower_ends.get(node, -1) for node in isr if node != self.node]
        log.high_watermark = committed_end(
            log.high_watermark, log.durable_end, ends, enough=len(isr) >= self.minimum
        )

    def follower_fetched(self, node: NodeId, end_offset: int, start_offset: int = -1) -> None:
        """Note that a follower has everything below `end_offset`, as it fetches from there.

        start_offset: first offset of its log. Raises KafkaError as `check_replica`.
        """
        self.check_replica(node)
        role = self.role
        if isinstance(role, Leading):
            role.follower_ends[node] = end_offset
            role.follower_starts[node] = start_offset
            self.advance()
            self.changed(self)

    # Lookup

    def local_log(self, leader_epoch: int = NO_EPOCH, *, leader_only: bool = True) -> Log:
        """Return the log, for a client that knows `leader_epoch` (-1: unknown).

        Raises KafkaError: UNKNOWN_TOPIC_OR_PARTITION (deleted), KAFKA_STORAGE_ERROR,
        FENCED_LEADER_EPOCH and UNKNOWN_LEADER_EPOCH (KIP-320), NOT_LEADER_OR_FOLLOWER.
        """
        role = self.role
        if isinstance(role, Offline):
            raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, f"{self.at} is offline")
        if isinstance(role, Deleted):
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
        if leader_only and isinstance(role, Following):
            raise KafkaError(
                ErrorCode.NOT_LEADER_OR_FOLLOWER, f"{self.at} is led by broker {self.leader}"
            )
        return role.log

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
        if not isinstance(self.role, Offline):
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
            "offline": isinstance(self.role, Offline),
            **({} if log is None else log.figures()),
        }


def active_producers(partition: Partition) -> list[ActiveProducer]:
    """Return the producers that this replica's log knows, leader or not (KIP-664).

    Raises KafkaError as `Partition.local_log`.
    """
    return list(partition.local_log(leader_only=False).producers)
