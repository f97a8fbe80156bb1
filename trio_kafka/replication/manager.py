"""All replicas of this broker, by name and by id, with the requests that wait for them.

`publisher` adds and removes them. A replica in a broken directory stays, and answers
KAFKA_STORAGE_ERROR.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, NoReturn

import trio

from trio_kafka.attributes import frozen
from trio_kafka.errors import ErrorCode, KafkaError, LogDirError
from trio_kafka.introspect.log import get_logger
from trio_kafka.introspect.tree import Figures, Node
from trio_kafka.log.append import Appended
from trio_kafka.log.config import LogConfig
from trio_kafka.log.decompression import Decompression
from trio_kafka.log.files.descriptor_retry import is_exhaustion
from trio_kafka.log.manager.directory import LogDirectory
from trio_kafka.log.manager.log_manager import LogManager
from trio_kafka.metadata.image import MetadataImage, PartitionState
from trio_kafka.model import NodeId, TopicId, TopicPartition
from trio_kafka.pending import Eventual, Work, work_or_value
from trio_kafka.purgatory import Delayed, Purgatory, Timers
from trio_kafka.replication.append import append
from trio_kafka.replication.cold_reads import ColdReads
from trio_kafka.replication.delayed_produce import ProduceWait, is_settled
from trio_kafka.replication.delete_records import delete_everywhere
from trio_kafka.replication.directory_assignments import Assign, DirectoryAssignments, assign_none
from trio_kafka.replication.fetch import WIDE, WIDE_BESIDE, Fetch, FetchAnswer, FetchLimits
from trio_kafka.replication.log_placement import log_of
from trio_kafka.replication.moves.moves import LogMoves
from trio_kafka.replication.partition import Partition
from trio_kafka.replication.pending_replicas import PendingReplicas
from trio_kafka.replication.queued_appends import QueuedAppends
from trio_kafka.replication.read import Wanted
from trio_kafka.replication.session_cache import MOST_PARTITIONS, SessionCache
from trio_kafka.replication.sessions import FINAL_EPOCH, FIRST_EPOCH, NO_SESSION, FetchKey
from trio_kafka.replication.settings import PartitionSettings
from trio_kafka.replication.topic_metrics import MetricsByTopic
from trio_kafka.scheduling.chunked_work import Steps, whole
from trio_kafka.scheduling.yield_point import YieldPoint
from trio_kafka.world.world import World

COLD_WAIT_S: Final = 1.0  # time for a read from the disk, whatever the timeout of a fetch
SYNC_WAIT_S: Final = 30.0  # time for a sync, whatever the timeout of a produce
_logger: Final = get_logger(__name__)


@frozen(kw_only=True)
class ReplicaSettings:
    """Settings of a topic for its partitions and logs, determined once for all of them."""

    partition: PartitionSettings
    log: LogConfig


class ReplicaManager:
    """Replicas of this broker. produce, fetch, deletions: purgatories. sessions: of fetches.

    topic_metrics: traffic by topic. logs: those of the broker. image: metadata of the replicas.
    """

    def __init__(
        self,
        world: World,
        broker: NodeId,
        logs: LogManager,
        timers: Timers,
        node: Node,
        *,
        session_slots: int = 1000,
        session_partitions: int = MOST_PARTITIONS,
        yield_point: YieldPoint | None = None,
        assign: Assign = assign_none,
        moves_at_once: int | None = None,
    ) -> None:
        self.image = MetadataImage()
        self.yield_point = yield_point or YieldPoint()
        self.broker = broker
        self.logs = logs
        self._node = node.add("replica-manager", "part", self.figures)
        self.produce = Purgatory("Produce", timers, self._node)
        self.fetch = Purgatory("Fetch", timers, self._node)
        self.deletions = Purgatory("DeleteRecords", timers, self._node)
        self.sessions = SessionCache(
            session_slots,
            world.random.randrange,
            self.fetch.attach,
            self.fetch.detach,
            most_partitions=session_partitions,
            exists=self._exists,
        )
        self._node.add("fetch-sessions", "part", self.sessions.figures)
        self.cold = ColdReads(self._node)
        self.decompression = Decompression(world, self._node)
        self.queued_appends = QueuedAppends(world, self._node, self.decompression, self.yield_point)
        self.late = PendingReplicas()
        self.assignments = DirectoryAssignments(assign, self._node)
        self.moves = LogMoves(logs, self._node, self.assignments, at_once=moves_at_once)
        self.topic_metrics = MetricsByTopic()
        self._partitions: dict[FetchKey, Partition] = {}  # each by its id and by its name
        self._nodes: dict[Partition, Node] = {}

    async def run(
        self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED
    ) -> NoReturn:
        """Serve cold reads, queued appends and pending replicas until cancelled."""
        async with trio.open_nursery() as nursery:
            await nursery.start(self.cold.run, name="cold-reads")
            await nursery.start(self.queued_appends.run, name="slow-appends")
            await nursery.start(self.late.run, name="late-replicas")
            await nursery.start(self.assignments.run, name="directory-assignments")
            await nursery.start(self.moves.run, name="replica-alter-log-dirs")
            task_status.started()
            await trio.sleep_forever()

    # Lookup

    @property
    def partitions(self) -> tuple[Partition, ...]:
        """Replicas of this broker."""
        return tuple(self._nodes)

    def partition(self, topic: TopicId | str, number: int) -> Partition:
        """Return the replica on this broker, which may be offline or a follower.

        Raises KafkaError: UNKNOWN_TOPIC_ID, UNKNOWN_TOPIC_OR_PARTITION, NOT_LEADER_OR_FOLLOWER if
        it has none.
        """
        found = self._partitions.get((topic, number))
        return found if found is not None else self._miss(topic, number)

    def find(self, topic: TopicId | str, number: int) -> Partition | None:
        """Return the replica on this broker, if there is one."""
        return self._partitions.get((topic, number))

    def _miss(self, topic: TopicId | str, number: int) -> NoReturn:
        known = self.image.topic(topic)
        if known is None and not isinstance(topic, str):
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_ID)
        if known is None or number not in known.partitions:
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        raise KafkaError(
            ErrorCode.NOT_LEADER_OR_FOLLOWER, f"{known.name}-{number} has no replica here"
        )

    # Requests

    def begin_fetch(
        self,
        wanted: Mapping[FetchKey, Wanted],
        limits: FetchLimits,
        *,
        session_id: int = NO_SESSION,
        session_epoch: int = FINAL_EPOCH,
        forget: Sequence[FetchKey] = (),
        uses_ids: bool = True,
        resolve: Callable[[FetchKey], Partition] | None = None,
    ) -> Eventual[FetchAnswer]:
        """Begin one Fetch. Return its answer, or a Pending of it: Work for many partitions.

        wanted, forget: partitions that the request adds, changes and drops.
        resolve: returns a partition for this client, or raises KafkaError; None: all may be read.
        A session error is an answer (`FetchAnswer.error`).
        """
        now = trio.current_time()
        try:
            session = self.sessions.poll(
                session_id,
                session_epoch,
                wanted,
                forget,
                uses_ids=uses_ids,
                privileged=limits.follower is not None,
                now=now,
            )
        except KafkaError as error:
            return FetchAnswer(session_id=NO_SESSION, error=error.as_value())
        full = session_epoch <= FIRST_EPOCH or session.id == NO_SESSION
        wide = WIDE_BESIDE if self.yield_point.bound else WIDE
        fetch = Fetch(session, limits, resolve or self._resolve, full=full, wide=wide)
        if fetch.is_wide:
            return Work(self._fetching(fetch, now))
        answer = whole(fetch.look())
        return self._park(fetch, now) if answer is None else answer

    def _fetching(self, fetch: Fetch, now: float) -> Steps[Eventual[FetchAnswer]]:
        answer = yield from fetch.look()
        return self._park(fetch, now) if answer is None else answer

    def _park(self, fetch: Fetch, now: float) -> Delayed[FetchAnswer]:
        """Make a Delayed of a fetch that waits. A wide one completes in slices, too."""

        # Quoted, as an annotation would be evaluated for each request.
        def try_complete(timed_out: bool) -> "Eventual[FetchAnswer] | None":
            if not fetch.is_due(timed_out):
                return None
            return work_or_value(fetch.complete(), is_long=fetch.is_wide)

        wait_s = fetch.limits.max_wait_s
        if fetch.cold:
            wait_s = max(wait_s, COLD_WAIT_S)
        delayed: Delayed[FetchAnswer] = Delayed(fetch.keys, now + wait_s, try_complete, self.fetch)
        if fetch.session.id:
            fetch.session.waiting = delayed
        if fetch.cold:
            self.cold.submit(fetch, delayed)
        return delayed

    def append(
        self,
        partition: Partition,
        records: memoryview | None,
        *,
        acks: int,
        zstd: bool,
        timeout_s: float,
    ) -> Eventual[Appended]:
        """Append a batch of a client. Return the append when it is acknowledged.

        The wait for replicas ends after `timeout_s`. That for this broker's disk
        (`flush.messages`) may take longer, as a timeout does not make it faster.
        Raises KafkaError, now or when the Pending completes: as `append.append` (nothing was
        appended) and `ProduceWait` (it was, or will be).
        """
        try:
            appended = append(partition, records, acks=acks, zstd=zstd)
        except KafkaError as error:
            partition.topic_metrics.count_failed_produce(error.code)
            raise
        if type(appended) is Appended and is_settled(partition, appended, acks):
            return appended  # nearly always
        return self._wait_for_append(ProduceWait(partition, appended, acks), timeout_s)

    def _wait_for_append(self, wait: ProduceWait, timeout_s: float) -> Eventual[Appended]:
        appended = wait.look()
        if appended is not None:
            return appended

        def try_complete(timed_out: bool) -> Appended | None:
            before = wait.result
            appended = wait.try_complete(timed_out)
            if wait.result is not before:
                delayed.watch_instead(wait.keys)
            return appended

        wait_s = max(timeout_s, SYNC_WAIT_S) if wait.is_local else timeout_s
        deadline = trio.current_time() + wait_s
        delayed: Delayed[Appended] = Delayed(wait.keys, deadline, try_complete, self.produce)
        return delayed

    def delete_records(self, partition: Partition, offset: int, timeout_s: float) -> Eventual[int]:
        """Delete the records below an offset, see `delete_everywhere`."""
        return delete_everywhere(partition, offset, timeout_s, self.deletions)

    def _resolve(self, key: FetchKey) -> Partition:
        found = self._partitions.get(key)
        return found if found is not None else self._miss(*key)

    def _exists(self, key: FetchKey) -> bool:
        """Return whether the cluster has this partition, on any broker."""
        known = self.image.topic(key[0])
        return known is not None and key[1] in known.partitions

    # Partitions

    def add(
        self,
        topic_id: TopicId,
        at: TopicPartition,
        state: PartitionState,
        made: ReplicaSettings,
        *,
        new: bool,
    ) -> None:
        """Add a replica. new: it never had a log, so an empty one loses nothing."""
        partition = Partition(
            topic_id,
            at,
            self.broker,
            state,
            changed=self.changed,
            settings=made.partition,
            join_queue=self.queued_appends.join,
            topic_metrics=self.topic_metrics.join(at.topic),
        )
        self._partitions[topic_id, at.partition] = partition
        self._partitions[at.topic, at.partition] = partition
        self._nodes[partition] = self._node.add(str(at), "partition", partition.figures)

        def open_log() -> None:
            partition.open(log_of(self.logs, partition, state, made.log, new=new))
            self.moves.resume(partition)
            self.moves.report(partition)

        try:
            open_log()
        except LogDirError as error:
            if is_exhaustion(error):
                self.late.add(partition, open_log)
            _logger.warning("replica offline", partition=str(at), reason=str(error))
            partition.fail(error)

    def remove(self, at: TopicPartition) -> None:
        """Remove a replica and its files."""
        partition = self._partitions.pop((at.topic, at.partition), None)
        if partition is None:
            return
        del self._partitions[partition.topic_id, at.partition]
        self._nodes.pop(partition).remove()
        self.late.remove(partition)
        self.moves.cancel(partition)
        self.assignments.forget(partition)
        self.topic_metrics.leave(at.topic)
        try:
            self.logs.delete(at)
        except LogDirError as error:
            _logger.warning("replica not deleted", partition=str(at), reason=str(error))
        partition.delete()

    def directory_offline(self, directory: LogDirectory) -> None:
        """Take every replica of a directory offline, as LogManager's `on_offline`."""
        error = directory.offline
        if error is None:
            return
        for partition in self.partitions:
            if partition.at in directory.logs and partition.failed is None:
                partition.fail(error)
            if partition.at in directory.futures:
                self.moves.cancel(partition)

    def changed(self, key: object) -> None:
        """Mark a key of the purgatories: a Partition, its `loss`, or a queued append."""
        if key in self.produce.watchers:
            self.produce.mark(key)
        if key in self.fetch.watchers:
            self.fetch.mark(key)
        if key in self.deletions.watchers:
            self.deletions.mark(key)

    def figures(self) -> Figures:
        partitions = self.partitions
        return {
            "partitions": len(partitions),
            "leaders": sum(partition.is_leader for partition in partitions),
            "offline": sum(partition.failed is not None for partition in partitions),
            "late": len(self.late),
            "under_replicated": sum(
                len(partition.isr) < len(partition.replicas) for partition in partitions
            ),
            "under_minimum": sum(
                len(partition.isr) < partition.minimum for partition in partitions
            ),
            "image_offset": self.image.offset,
        }
