"""Consumer for users. See `opening.open_consumer`.

One task at a time reads from a consumer. Other tasks may pause, seek and commit.
"""

from collections.abc import AsyncIterator, Collection, Coroutine, Iterable, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, TypeVar

from attrs import field

from trio_kafka.attributes import define
from trio_kafka.clients.consumer.batch import PartitionBatch
from trio_kafka.clients.consumer.groups.listener import NO_LISTENER, RebalanceListener
from trio_kafka.clients.consumer.position_calls import PositionCalls
from trio_kafka.clients.consumer.reads import BatchIterator, ConsumerReads
from trio_kafka.clients.consumer.streams import PartitionStreams
from trio_kafka.clients.consumer.subscription import subscribe
from trio_kafka.clients.consumer.values import (
    ConsumerRecord,
    OffsetAndMetadata,
    Position,
)
from trio_kafka.clients.group_metadata import GroupMetadata
from trio_kafka.introspect.tree import Figures
from trio_kafka.model import TopicPartition
from trio_kafka.telemetry.metric import MetricName

if TYPE_CHECKING:  # as of ReadTurns
    from trio_kafka.clients.consumer.groups.group import ConsumerGroup

K = TypeVar("K")
V = TypeVar("V")


@define(eq=False, kw_only=True)
class Consumer(PositionCalls[K, V]):
    """Reads records. turns: of the task that reads; `reads`: its ways to do so.

    streams: while a task for each partition reads.
    """

    reads: ConsumerReads[K, V] = field(init=False)
    streams: PartitionStreams[K, V] | None = field(default=None, init=False)
    _topics: set[str] = field(factory=set, init=False)

    def __attrs_post_init__(self) -> None:
        self.reads = ConsumerReads(self.turns)

    @property
    def group(self) -> "ConsumerGroup | None":
        return self.turns.group

    # --- what is read

    def assign(self, partitions: Iterable[TopicPartition]) -> None:
        """Read exactly these partitions, without a group that assigns them.

        Partitions that are read already keep their positions. Raises ValueError after `subscribe`.
        """
        self.turns.check_open()
        if self.group is not None and self.group.is_subscribed:
            raise ValueError("the consumer has subscribed to topics: its group assigns partitions")
        self.turns.reader.flush()
        self.positions.assign(partitions)
        self.note_assignment()

    def subscribe(
        self,
        topics: Iterable[str] = (),
        *,
        pattern: str | None = None,
        listener: RebalanceListener = NO_LISTENER,
    ) -> None:
        """Read the partitions that the group assigns, of topics by name or by pattern.

        pattern: of RE2, matched by the broker (`group.protocol=consumer`), else Python's, matched
        here. Raises ValueError without `group.id`, after `assign`, or for an invalid pattern.
        """
        self.turns.check_open()
        subscribe(
            self.client,
            self.settings,
            self.group,
            topics=topics,
            pattern=pattern,
            listener=listener,
        )

    @property
    def assignment(self) -> frozenset[TopicPartition]:
        """Partitions that are read."""
        return frozenset(self.positions.states)

    def note_assignment(self) -> None:
        """Ask for what new partitions need."""
        topics = {at.topic for at in self.positions.states}
        if topics != self._topics:
            self.client.metadata.follow("assignment", sorted(topics))
        self._topics = topics
        if self.group is not None:
            self.group.assigned()
        self.turns.touch()

    # --- reading

    async def poll(self, timeout_s: float = 0.0) -> list[ConsumerRecord[K, V]]:
        """Return the next records, `max.poll.records` at most; none if none come in time.

        A rebalance and its hooks may take longer than the timeout. A cancelled poll takes no
        records. Raises NoOffsetError, OffsetOutOfRangeError, SerializationError, TopicError,
        AuthorizationError and other ClientErrors, and what hooks of the listener raise; another
        poll may be tried after each of them.
        """
        return await self.reads.poll(timeout_s)

    def __aiter__(self) -> "Consumer[K, V]":
        return self

    def __anext__(self) -> Coroutine[object, None, ConsumerRecord[K, V]]:
        """Return the next record; wait for it without a deadline. Raises as `poll`."""
        return self.reads.next()

    def batches(self) -> "BatchIterator[K, V]":
        """Return an iterator of what each Fetch brings of a partition. Raises as `poll`."""
        return BatchIterator(self.reads)

    async def next_batch(self) -> PartitionBatch[K, V]:
        """Return what the next Fetch has brought of a partition; wait for it. Raises as `poll`."""
        return await self.reads.next_batch()

    @asynccontextmanager
    async def partitions(self) -> AsyncIterator[PartitionStreams[K, V]]:
        """Read by a task for each partition: see `PartitionStreams.run`.

        After the block, other reads continue behind the records that the tasks have processed.
        """
        self.turns.begin()
        self.turns.reader.flush()
        streams = self.streams = PartitionStreams(turns=self.turns, commit=self.commit)
        try:
            yield streams
        finally:
            self.streams = None
            for at, position in streams.processed().items():
                if at in self.positions.states:
                    self.positions.seek(at, position)
            self.turns.end()

    # --- commits

    async def commit(
        self,
        offsets: Mapping[TopicPartition, OffsetAndMetadata] | None = None,
        *,
        timeout_s: float | None = None,
    ) -> None:
        """Commit offsets; None: all positions, also those that have not changed.

        Raises CommitFailedError if the group has given the partitions away,
        RebalanceInProgressError if they may be committed after the next read, TimedOutError,
        AuthorizationError, ClientError; ValueError without `group.id`.
        """
        group = self._group()
        due = group.consumed() if offsets is None else offsets
        await group.commit(due, timeout_s=self._timeout_s(timeout_s))

    def commit_soon(
        self, offsets: Mapping[TopicPartition, OffsetAndMetadata] | None = None
    ) -> None:
        """Commit offsets in the background; failures are counted in the tree, and not raised."""
        group = self._group()
        group.commit_soon(group.consumed() if offsets is None else offsets)

    async def committed(
        self, partitions: Collection[TopicPartition], *, timeout_s: float | None = None
    ) -> dict[TopicPartition, OffsetAndMetadata | None]:
        """Return the committed offsets of partitions. Raises as `commit`."""
        commits = self._group().commits
        return await commits.committed(partitions, timeout_s=self._timeout_s(timeout_s))

    def group_metadata(self) -> GroupMetadata:
        """Return the group and the member, for `Transaction.send_offsets` of a producer.

        The offsets then belong to this member in its present epoch: if it has lost its partitions
        by the time of the commit, the transaction aborts. Raises CommitFailedError if the member
        is not in its group at the moment, ValueError without `group.id`.
        """
        return self._group().metadata()

    def metrics(self) -> dict[MetricName, float]:
        """Return the metrics of the consumer, by Kafka's names."""
        return self.client.metrics()

    # --- parts of this package

    def figures(self) -> Figures:
        """Return the figures of the consumer for the tree."""
        return {
            "partitions": len(self.positions.states),
            "paused": len(self.paused),
            "reading": self.turns.is_busy,
            "closed": self.turns.is_closed,
        }

    def processed(self) -> dict[TopicPartition, Position]:
        """Return the positions up to which records were handed out, or processed by streams."""
        if self.streams is not None:
            return self.streams.processed()
        return dict(self.positions.consumed())

    def _group(self) -> "ConsumerGroup":
        self.turns.check_open()
        if self.group is None:
            raise ValueError("no group.id: offsets are committed to a group")
        return self.group
