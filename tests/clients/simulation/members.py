"""Members of a group that come and go, and read in each way that a consumer has."""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Final

import trio
from attrs import define, field

from tests.clients.consumer.kit import consumer_of
from tests.clients.simulation.ledger import Bytes, Ledger
from tests.clients.simulation.plan import CLOSE_S, Plan
from tests.clients.simulation.writers import PARTITIONS, SOON_S, TOPIC, LeavingError
from trio_kafka.clients import Consumer, ConsumerRecord, RebalanceListener
from trio_kafka.clients.consumer.stream import PartitionStream
from trio_kafka.clients.errors import ClientError, CommitFailedError, RetriableError
from trio_kafka.errors import ErrorCode, only_leaf
from trio_kafka.model import TopicPartition
from trio_kafka.testing.simulate import Simulation

GROUP: Final = "billing"
ALL: Final = [TopicPartition(TOPIC, number) for number in range(PARTITIONS)]
_UNCLEAN_S: Final = 3.0
_CALL_S: Final = 3.0


def options(plan: Plan, name: str) -> dict[str, object]:
    """Return the settings of a member."""
    settings: dict[str, object] = {
        "group_id": GROUP,
        "group_protocol": plan.protocol,
        "enable_auto_commit": plan.commits_by_itself,
        "auto_commit_interval_ms": 300,
        "request_timeout_ms": 2000,
        "default_api_timeout_ms": round(_CALL_S * 1000),
        "max_poll_records": 5,
        "fetch_max_wait_ms": 1500,
        "isolation_level": "read_committed" if plan.transactional else "read_uncommitted",
    }
    if plan.protocol == "classic":
        settings |= {"session_timeout_ms": 6000, "heartbeat_interval_ms": 500}
        settings["partition_assignment_strategy"] = "cooperative-sticky"
    if plan.is_static:
        settings["group_instance_id"] = name
    return settings


async def come_and_go(
    sim: Simulation, ledger: Ledger, plan: Plan, name: str, done: trio.Event
) -> None:
    """Live one life of a member after the other."""
    number = 0
    while not done.is_set():
        stay_s = sim.chance.uniform(0.3, 4.0)
        end = sim.chance.choice(("leave", "leave", "cancel", "raise"))
        member = Member(sim=sim, ledger=ledger, plan=plan, name=f"{name}/{number}")
        await member.live(options(plan, name), until=trio.current_time() + stay_s, end=end)
        await trio.sleep(sim.chance.choice((0.0, 0.5, 1.5)))
        number += 1


@define(eq=False, kw_only=True)
class Member:
    """One life of a member."""

    sim: Simulation
    ledger: Ledger
    plan: Plan
    name: str
    _assignments: dict[TopicPartition, int] = field(factory=dict, init=False)
    _new: set[TopicPartition] = field(factory=set, init=False)

    async def live(self, settings: dict[str, object], *, until: float, end: str) -> None:
        """Join, read in one way, and end in one way."""
        ways: list[Callable[[Consumer[Bytes, Bytes], float], Awaitable[None]]]
        ways = [self.poll, self.iterate, self.batches, self.streams]
        way = self.sim.chance.choice(ways)
        with trio.CancelScope() as scope:
            try:
                async with consumer_of(self.sim, close_timeout_s=CLOSE_S, **settings) as consumer:
                    self.subscribe(consumer)
                    if end == "cancel":
                        scope.deadline = until
                        until = float("inf")
                    try:
                        await way(consumer, until)
                    finally:
                        begin = trio.current_time()
                    if end == "raise":
                        raise LeavingError
            except LeavingError:
                pass
            except (ClientError, ExceptionGroup) as error:
                # The life before could not say goodbye: Kafka's broker waits for its session.
                code = getattr(only_leaf(error), "code", None)
                if code is not ErrorCode.UNRELEASED_INSTANCE_ID or not self.plan.is_static:
                    raise
        spent_s = trio.current_time() - begin
        limit_s = CLOSE_S if end == "leave" else _UNCLEAN_S
        assert spent_s <= limit_s + SOON_S, f"{self.name}: {end} took {spent_s:.2f} s"

    def subscribe(self, consumer: Consumer[Bytes, Bytes]) -> None:
        consumer.subscribe([TOPIC], listener=RebalanceListener(on_assigned=self.assigned))

    async def assigned(self, partitions: object) -> None:
        """Note new partitions: a read of them begins at a committed offset."""
        assert isinstance(partitions, list)
        for at in partitions:
            self._assignments[at] = self._assignments.get(at, 0) + 1
            self._new.add(at)

    # --- ways to read

    async def poll(self, consumer: Consumer[Bytes, Bytes], until: float) -> None:
        while trio.current_time() < until:
            records: list[ConsumerRecord[Bytes, Bytes]] = []
            with trio.move_on_at(until):
                records = await consumer.poll(self.sim.chance.choice((0.0, 0.1, 1.0)))
            if not records:
                await trio.sleep(0.01)
            await self.process(records)
            await self.commit(consumer)

    async def iterate(self, consumer: Consumer[Bytes, Bytes], until: float) -> None:
        while trio.current_time() < until:
            with trio.move_on_at(until) as scope:
                record = await anext(consumer)
            if not scope.cancelled_caught:
                await self.process([record])
                if self.sim.chance.random() < 0.2:
                    await self.commit(consumer)

    async def batches(self, consumer: Consumer[Bytes, Bytes], until: float) -> None:
        while trio.current_time() < until:
            with trio.move_on_at(until) as scope:
                batch = await consumer.next_batch()
            if not scope.cancelled_caught:
                await self.process(list(batch.records()))
                await self.commit(consumer)

    async def streams(self, consumer: Consumer[Bytes, Bytes], until: float) -> None:
        async def handle(stream: PartitionStream[Bytes, Bytes]) -> None:
            async for records in stream:
                await self.process(records)
                if not self.plan.commits_by_itself:
                    self.ask(consumer, stream.at)
                    await self.tolerantly(stream.commit())

        async with consumer.partitions() as streams:
            with trio.move_on_at(until):
                await streams.run(handle)

    # --- what is done with records

    async def process(self, records: list[ConsumerRecord[Bytes, Bytes]]) -> None:
        for record in records:
            self.read(record)
            await trio.sleep(self.sim.chance.choice((0.0, 0.0, 0.02)))
            self.ledger.process(GROUP, record)

    def read(self, record: ConsumerRecord[Bytes, Bytes]) -> None:
        """Note a record, and with the first one of an assignment where the member has begun."""
        at = TopicPartition(record.topic, record.partition)
        reader = f"{self.name}/{self._assignments.get(at, 0)}"
        if at in self._new:
            self._new.discard(at)
            starts = {0, *self.ledger.requested_offsets[GROUP, at]}
            starts |= {c.offset for c in self.ledger.commits if (c.group, c.at) == (GROUP, at)}
            start = max(offset for offset in starts if offset <= record.offset)
            if not self.plan.commits_by_itself:
                self.sim.history.positioned(reader, at.topic, at.partition, offset=start)
        self.sim.history.read(
            reader, record.topic, record.partition, record.value, offset=record.offset
        )

    async def commit(self, consumer: Consumer[Bytes, Bytes]) -> None:
        if self.plan.commits_by_itself or self.sim.chance.random() < 0.3:
            return
        self.ask(consumer, *consumer.assignment)
        await self.tolerantly(consumer.commit())

    def ask(self, consumer: Consumer[Bytes, Bytes], *partitions: TopicPartition) -> None:
        """Note the offsets that a commit is about."""
        for at in partitions:
            position = consumer.positions[at].position
            if position is not None:
                self.ledger.requested_offsets[GROUP, at].add(position.offset)

    async def tolerantly(self, call: Awaitable[None]) -> None:
        begin = trio.current_time()
        with suppress(CommitFailedError, RetriableError):
            await call
        assert trio.current_time() - begin <= _CALL_S + SOON_S


async def audit(sim: Simulation, ledger: Ledger, group: str, done: trio.Event) -> None:
    """Ask for the committed offsets now and then."""
    async with consumer_of(sim, group_id=group, default_api_timeout_ms=2000) as auditor:
        while not done.is_set():
            await trio.sleep(sim.chance.uniform(0.2, 2.0))
            with suppress(RetriableError):
                ledger.find(group, await auditor.committed(ALL))
