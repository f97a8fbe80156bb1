"""All replicas of this broker: found by name or id, waited for; `publisher` says which there are.

What cannot be made because a directory is broken stays in the list and answers KAFKA_STORAGE_ERROR.
"""

from collections.abc import Callable, Mapping, Sequence
from types import GeneratorType
from typing import Final, NoReturn, TypeVar

import trio

from trio_kafka.attributes import frozen
from trio_kafka.errors import ErrorCode, KafkaError, LogDirError
from trio_kafka.introspect.log import get_logger
from trio_kafka.introspect.tree import Figures, Node
from trio_kafka.log.config import LogConfig
from trio_kafka.log.descriptors import is_exhaustion
from trio_kafka.log.manager.directory import LogDirectory
from trio_kafka.log.manager.log_manager import LogManager
from trio_kafka.log.unpacking import Unpacking
from trio_kafka.metadata.image import MetadataImage, PartitionState
from trio_kafka.model import NodeId, TopicId, TopicPartition
from trio_kafka.purgatory import Delayed, Purgatory, Timers
from trio_kafka.replication.append import ACKS_ALL
from trio_kafka.replication.at_once import read_at_once
from trio_kafka.replication.cold import ColdReads
from trio_kafka.replication.delayed import Produced, ProduceWait
from trio_kafka.replication.fetch import WIDE, WIDE_BESIDE, Fetch, FetchAnswer, FetchLimits
from trio_kafka.replication.late import LateReplicas
from trio_kafka.replication.partition import Partition, PartitionSettings
from trio_kafka.replication.place import log_of
from trio_kafka.replication.read import Wanted
from trio_kafka.replication.session_cache import MOST_PARTITIONS, SessionCache
from trio_kafka.replication.sessions import FINAL_EPOCH, FIRST_EPOCH, NO_SESSION, FetchKey
from trio_kafka.replication.slow_appends import SlowAppends
from trio_kafka.replication.traffic import TrafficByTopic
from trio_kafka.scheduling.chunked_work import Steps
from trio_kafka.scheduling.yield_point import YieldPoint
from trio_kafka.world.world import World

T = TypeVar("T")
COLD_WAIT_S: Final = 1.0  # how long bytes may take from the disk, whatever a fetch says
SYNC_WAIT_S: Final = 30.0  # how long the disk may take to sync, whatever a produce says
_logger: Final = get_logger(__name__)


@frozen(kw_only=True)
class Made:
    """What a topic's settings make of its partitions and logs: found once for all of them."""

    partition: PartitionSettings
    log: LogConfig


class ReplicaManager:
    """`produce`, `fetch`: the purgatories of requests that wait for a Partition. sessions: of
    fetches. traffic: what came and went, by topic. logs: those of the broker. image: of the
    metadata that the replicas are those of.
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
    ) -> None:
        self.image = MetadataImage()
        self.broker = broker
        self.logs = logs
        self._node = node.add("replica-manager", "part", self.figures)
        self.produce = Purgatory("Produce", timers, self._node)
        self.fetch = Purgatory("Fetch", timers, self._node)
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
        self.unpacking = Unpacking(world, self._node)
        self.slow_appends = SlowAppends(world, self._node, self.unpacking)
        self.late = LateReplicas()
        self.traffic = TrafficByTopic()
        self._yield_point = YieldPoint() if yield_point is None else yield_point
        self._partitions: dict[FetchKey, Partition] = {}  # each by its id and by its name
        self._nodes: dict[Partition, Node] = {}

    async def run(
        self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED
    ) -> NoReturn:
        """Serve cold fetches and slow directories until cancelled."""
        async with trio.open_nursery() as nursery:
            await nursery.start(self.cold.run, name="cold-reads")
            await nursery.start(self.slow_appends.run, name="slow-appends")
            await nursery.start(self.late.run, name="late-replicas")
            task_status.started()
            await trio.sleep_forever()

    # Looking up

    @property
    def partitions(self) -> tuple[Partition, ...]:
        """The replicas of this broker."""
        return tuple(self._nodes)

    def partition(self, topic: TopicId | str, number: int) -> Partition:
        """The replica here; it may be offline or led elsewhere, which its use tells.

        Raises KafkaError: UNKNOWN_TOPIC_ID, UNKNOWN_TOPIC_OR_PARTITION, NOT_LEADER_OR_FOLLOWER (no
        replica here).
        """
        found = self._partitions.get((topic, number))
        return found if found is not None else self._miss(topic, number)

    def find(self, topic: TopicId | str, number: int) -> Partition | None:
        """The replica here, if there is one."""
        return self._partitions.get((topic, number))

    def partition_with_id(self, topic_id: TopicId, at: TopicPartition) -> Partition:
        """As `partition` by name; INCONSISTENT_TOPIC_ID where that name has another id now."""
        found = self.partition(at.topic, at.partition)
        if found.topic_id != topic_id:
            raise KafkaError(ErrorCode.INCONSISTENT_TOPIC_ID, f"{at} has another topic id")
        return found

    def _miss(self, topic: TopicId | str, number: int) -> NoReturn:
        known = self.image.topic(topic)
        if known is None and not isinstance(topic, str):
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_ID)
        if known is None or number not in known.partitions:
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        raise KafkaError(
            ErrorCode.NOT_LEADER_OR_FOLLOWER, f"{known.name}-{number} has no replica here"
        )

    # Requests that may wait

    def begin_fetch(
        self,
        wanted: Mapping[FetchKey, Wanted],
        limits: FetchLimits,
        make: Callable[[FetchAnswer], T],
        *,
        session_id: int = NO_SESSION,
        session_epoch: int = FINAL_EPOCH,
        forget: Sequence[FetchKey] = (),
        uses_ids: bool = True,
        max_wait_s: float = 0.0,
        resolve: Callable[[FetchKey], Partition] | None = None,
    ) -> T | Delayed | Steps[T | Delayed]:
        """One Fetch: its answer, as `make` makes it, or what to park; of many partitions in steps.
        `make` may return steps, too.

        wanted, forget: what the request adds, changes and drops. resolve: finds a partition for
        this client, raises KafkaError where it may not read; None: all may be read.
        A session error is an answer (`FetchAnswer.error`).
        """
        if session_epoch == FINAL_EPOCH and session_id == NO_SESSION:
            reads = read_at_once(wanted, limits, resolve or self._resolve, self._yield_point)
            if reads is not None:
                return make(FetchAnswer(NO_SESSION, reads))
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
            return make(FetchAnswer(session_id=NO_SESSION, error=error))
        full = session_epoch <= FIRST_EPOCH or session.id == NO_SESSION
        wide = WIDE_BESIDE if self._yield_point.bound else WIDE
        fetch = Fetch(session, limits, resolve or self._resolve, full=full, wide=wide)
        if fetch.is_wide:
            return self._fetch_in_steps(fetch, make, now, max_wait_s)
        answer = fetch.look()
        return self._park(fetch, make, now, max_wait_s) if answer is None else make(answer)

    def _fetch_in_steps(
        self, fetch: Fetch, make: Callable[[FetchAnswer], T], now: float, max_wait_s: float
    ) -> Steps[T | Delayed]:
        answer = yield from fetch.look_in_steps()
        if answer is None:
            return self._park(fetch, make, now, max_wait_s)
        made = make(answer)
        return (yield from made) if isinstance(made, GeneratorType) else made

    def _park(
        self, fetch: Fetch, make: Callable[[FetchAnswer], T], now: float, max_wait_s: float
    ) -> Delayed:
        """A fetch that has looked and waits. A wide one completes in steps, too."""

        # Quoted: an annotation would be put together for each request.
        def in_steps() -> "Steps[T]":
            made = make((yield from fetch.complete_in_steps()))
            return (yield from made) if isinstance(made, GeneratorType) else made

        def try_complete(timed_out: bool) -> "T | Steps[T] | None":
            if fetch.is_wide:
                return in_steps() if fetch.is_due(timed_out) else None
            answer = fetch.try_complete(timed_out)
            return None if answer is None else make(answer)

        wait_s = max(max_wait_s, COLD_WAIT_S) if fetch.cold else max_wait_s
        delayed = Delayed(fetch.keys, now + wait_s, try_complete, self.fetch)
        if fetch.session.id:
            fetch.session.waiting = delayed
        if fetch.cold:
            self.cold.submit(fetch, delayed)
        return delayed

    def acknowledge(
        self,
        parts: Sequence[Produced],
        make: Callable[[Sequence[Produced]], T],
        timeout_s: float,
        *,
        acks: int = ACKS_ALL,
    ) -> T | Delayed:
        """The end of a Produce that is answered.

        Its answer, or what to park until the replicas have it, or this broker's disk
        (`flush.messages`): no timeout of a request makes the disk faster.
        """
        wait = ProduceWait(parts, acks)
        if wait.look():
            return make(parts)

        def try_complete(timed_out: bool) -> "T | None":
            done = wait.try_complete(timed_out)
            if done is not None:
                return make(done)
            if wait.had_turns:
                self.produce.move(delayed, wait.keys)
            return None

        wait_s = max(timeout_s, SYNC_WAIT_S) if wait.is_local else timeout_s
        deadline = trio.current_time() + wait_s
        delayed = Delayed(wait.keys, deadline, try_complete, purgatory=self.produce)
        return delayed

    def _resolve(self, key: FetchKey) -> Partition:
        found = self._partitions.get(key)
        return found if found is not None else self._miss(*key)

    def _exists(self, key: FetchKey) -> bool:
        """Whether the cluster has this partition, here or elsewhere."""
        known = self.image.topic(key[0])
        return known is not None and key[1] in known.partitions

    # Partitions

    def add(
        self,
        topic_id: TopicId,
        at: TopicPartition,
        state: PartitionState,
        made: Made,
        *,
        new: bool,
    ) -> None:
        """A replica is here. new: there never was a log of it, so an empty one is no loss."""
        partition = Partition(
            topic_id,
            at,
            self.broker,
            state,
            changed=self.changed,
            settings=made.partition,
            join_queue=self.slow_appends.join,
            traffic=self.traffic.join(at.topic),
        )
        self._partitions[topic_id, at.partition] = partition
        self._partitions[at.topic, at.partition] = partition
        self._nodes[partition] = self._node.add(str(at), "partition", partition.figures)

        def open_log() -> None:
            partition.open(log_of(self.logs, partition, state, made.log, new=new))

        try:
            open_log()
        except LogDirError as error:
            if is_exhaustion(error):
                self.late.add(partition, open_log)
            _logger.warning("replica offline", partition=str(at), reason=str(error))
            partition.fail(error)

    def remove(self, at: TopicPartition) -> None:
        """A replica is here no more: its files go."""
        partition = self._partitions.pop((at.topic, at.partition), None)
        if partition is None:
            return
        del self._partitions[partition.topic_id, at.partition]
        self._nodes.pop(partition).remove()
        self.late.remove(partition)
        self.traffic.leave(at.topic)
        try:
            self.logs.delete(at)
        except LogDirError as error:
            _logger.warning("replica not deleted", partition=str(at), reason=str(error))
        partition.delete()

    def directory_offline(self, directory: LogDirectory) -> None:
        """For LogManager's `on_offline`: every replica in it is offline."""
        error = directory.offline
        if error is None:
            return
        for partition in self.partitions:
            if partition.at in directory.logs and partition.failed is None:
                partition.fail(error)

    def changed(self, key: object) -> None:
        """key: a Partition, its `loss`, or an append of its queue that had its turn."""
        if key in self.produce.watchers:
            self.produce.mark(key)
        if key in self.fetch.watchers:
            self.fetch.mark(key)

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
