"""Consumer for tests: that of `trio_kafka.clients`, which notes what it does in a history."""

from collections.abc import Collection, Sequence
from contextlib import AsyncExitStack
from typing import TypeAlias

from attrs import field

from trio_kafka import clients
from trio_kafka.attributes import define
from trio_kafka.clients.consumer.partition_state import PartitionState, Phase
from trio_kafka.clients.consumer.values import Position
from trio_kafka.clients.errors import CommitFailedError, RebalanceInProgressError
from trio_kafka.clients.settings.reset import EARLIEST, LATEST
from trio_kafka.model import Endpoint, TopicPartition
from trio_kafka.testing.checkers.history import History
from trio_kafka.world.world import World

Records: TypeAlias = list[clients.ConsumerRecord[bytes | None, bytes | None]]
BytesConsumer: TypeAlias = clients.Consumer[bytes | None, bytes | None]
_RESETS = {EARLIEST: "earliest", LATEST: "latest"}
_CLOSE_S = 5.0


@define(eq=False, kw_only=True)
class Consumer:
    """Reads partitions in order of offsets, within its block, at whose end it leaves its group.

    name: of its events in the history; also the client id.
    topics: all their partitions, or with `group` those that the group assigns.
    partitions: instead of topics; with `group` only its committed offsets are used.
    start: EARLIEST or LATEST: where to begin without a committed offset, and when the offset is out
        of range.
    read_committed: read only records of no transaction or of committed ones.
    session_s: without a heartbeat for so long, the group removes the member.
    timeout_s: for a call that has to wait for an answer.
    """

    world: World
    bootstrap: Endpoint
    name: str = "consumer"
    topics: Sequence[str] = ()
    partitions: Sequence[TopicPartition] = ()
    group: str | None = None
    start: int = EARLIEST
    read_committed: bool = False
    session_s: float = 10.0
    request_s: float = 5.0
    timeout_s: float = 120.0
    history: History = field(factory=History)
    _consumer: BytesConsumer | None = field(default=None, init=False)
    _stack: AsyncExitStack = field(factory=AsyncExitStack, init=False)
    _committed: dict[TopicPartition, int] = field(factory=dict, init=False)
    # Length of the history before a partition was assigned: its committed offset was asked later.
    _assigned_at: dict[TopicPartition, int] = field(factory=dict, init=False)
    _mark: int = field(default=0, init=False)

    def __attrs_post_init__(self) -> None:
        if bool(self.topics) == bool(self.partitions):
            raise ValueError("want topics or partitions, and not both")
        if self.start not in _RESETS:
            raise ValueError(f"start={self.start}: want EARLIEST or LATEST")

    async def __aenter__(self) -> "Consumer":
        config: dict[str, object] = {
            "bootstrap.servers": str(self.bootstrap),
            "client.id": self.name,
            "auto.offset.reset": _RESETS[self.start],
            "enable.auto.commit": False,
            "isolation.level": "read_committed" if self.read_committed else "read_uncommitted",
            "request.timeout.ms": round(self.request_s * 1000),
            "default.api.timeout.ms": round(self.timeout_s * 1000),
        }
        if self.group is not None:
            config["group.id"] = self.group
            config["session.timeout.ms"] = round(self.session_s * 1000)
            config["heartbeat.interval.ms"] = round(self.session_s * 1000 / 3)
        opening = clients.open_consumer(config, world=self.world, close_timeout_s=_CLOSE_S)
        consumer = self._consumer = await self._stack.enter_async_context(opening)
        consumer.positions.watchers.append(self._note_move)
        if self.group is not None and self.topics:
            listener = clients.RebalanceListener(on_assigned=self._note_assignment)
            consumer.subscribe(self.topics, listener=listener)
        return self

    async def __aexit__(self, *failure: object) -> None:
        self._consumer = None
        await self._stack.aclose()

    @property
    def positions(self) -> dict[TopicPartition, int]:
        """Offset of the next record of each assigned partition, as far as it is known."""
        return {at: position.offset for at, position in self._open().positions.consumed()}

    async def poll(self, max_wait_s: float = 0.5) -> Records:
        """Return the next records; none if there are none within `max_wait_s`.

        Without a group that assigns partitions, positions are found before. Raises as
        `trio_kafka.clients.Consumer.poll`.
        """
        consumer = await self._assigned()
        self._mark = self.history.mark()
        records = await consumer.poll(max_wait_s)
        for record in records:
            self.history.read(
                self.name,
                record.topic,
                record.partition,
                record.value,
                offset=record.offset,
                group=self.group,
            )
        return records

    async def seek(self, topic: str, partition: int, offset: int) -> None:
        """Continue at an offset."""
        (await self._assigned()).seek(TopicPartition(topic, partition), offset)

    async def ends(self) -> dict[TopicPartition, int]:
        """Return the offset after the last readable record of each partition."""
        consumer = await self._assigned()
        return await consumer.end_offsets(sorted(consumer.assignment))

    async def commit(self) -> bool:
        """Commit the positions that are not committed; return whether the group accepted them.

        False: the group is rebalancing or has removed the member; the next `poll` joins again.
        Raises TimedOutError and other ClientErrors.
        """
        group = self._group()
        due = {at: n for at, n in self.positions.items() if self._committed.get(at) != n}
        for at, offset in due.items():
            self.history.commit_sent(self.name, group, at.topic, at.partition, offset=offset)
        offsets = {at: clients.OffsetAndMetadata(offset) for at, offset in due.items()}
        try:
            await self._open().commit(offsets)
        except (CommitFailedError, RebalanceInProgressError):
            return False
        for at, offset in due.items():
            self.history.committed(self.name, group, at.topic, at.partition, offset=offset)
        self._committed.update(due)
        return True

    async def committed(self) -> dict[TopicPartition, int]:
        """Return the committed offsets of the consumer's partitions; -1: none. Errors as `poll`."""
        group, since = self._group(), self.history.mark()
        rows = await self._open().committed(list(self.partitions or self.positions))
        offsets = {at: -1 if row is None else row.offset for at, row in rows.items()}
        for at, offset in offsets.items():
            self.history.commit_found(group, at.topic, at.partition, offset=offset, since=since)
        return offsets

    def _open(self) -> BytesConsumer:
        if self._consumer is None:
            raise ValueError("the consumer is not open: want `async with`")
        return self._consumer

    def _group(self) -> str:
        if self.group is None:
            raise ValueError("no group: nowhere to commit to")
        return self.group

    async def _assigned(self) -> BytesConsumer:
        """Assign partitions and find their positions, as far as no group does so."""
        consumer = self._open()
        if self.group is not None and self.topics:
            return consumer
        if not consumer.assignment:
            self._mark = self.history.mark()
            partitions = list(self.partitions)
            for topic in self.topics:
                numbers = await consumer.partitions_of(topic)
                partitions += [TopicPartition(topic, number) for number in numbers]
            await self._note_assignment(partitions)
            consumer.assign(partitions)
        for at in sorted(consumer.assignment):
            await consumer.position(at)
        return consumer

    async def _note_assignment(self, partitions: Collection[TopicPartition]) -> None:
        self._assigned_at.update(dict.fromkeys(partitions, self._mark))

    def _note_move(self, state: PartitionState, position: Position | None) -> None:
        """Note a position that does not follow from what was read."""
        at = state.at
        if state.phase is Phase.COMMITTED and self.group is not None:
            offset = -1 if position is None else position.offset
            self._committed.pop(at, None)
            if position is not None:
                self._committed[at] = offset
            since = self._assigned_at[at]
            self.history.commit_found(
                self.group, at.topic, at.partition, offset=offset, since=since
            )
        if position is not None:
            self.history.positioned(
                self.name, at.topic, at.partition, offset=position.offset, group=self.group
            )
