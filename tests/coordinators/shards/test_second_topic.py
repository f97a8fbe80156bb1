"""A second coordinator on the generic half: transactional ids in `__transaction_state`.

The machine is small, but has what the transaction coordinator needs: a codec, events, a timer and
writes of its own, one shard for each partition.
"""

from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import pytest
import trio
from attrs import define, evolve
from trio.testing import MockClock

from tests.apis.kit import broker
from trio_kafka.coordinators.shards.coordinator import Coordinator
from trio_kafka.coordinators.shards.effects import CoordinatorRecord, Effects, Ticket, TimerKey
from trio_kafka.coordinators.shards.owned_topic import OwnedTopic
from trio_kafka.coordinators.shards.protocols import Change, WaitTimes
from trio_kafka.coordinators.shards.record_codec import RecordCodec
from trio_kafka.coordinators.shards.runtime import ShardDependencies, ShardRuntime
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.introspect.tree import Node
from trio_kafka.introspect.waits import Wait
from trio_kafka.metadata.delta import MetadataDelta
from trio_kafka.metadata.image import MetadataImage
from trio_kafka.protocol.stored import transactions
from trio_kafka.protocol.stored.transactions import TransactionLogKey, TransactionLogValue
from trio_kafka.purgatory import Delayed, Purgatory
from trio_kafka.scheduling.chunked_work import Steps
from trio_kafka.testing.broker import ServedBroker

TOPIC = "__transaction_state"
RECORDS = RecordCodec(transactions)
EMPTY, ONGOING, ABORTED = 0, 1, 5
TIMEOUT_MS = 60_000


class Transactions:
    """States by transactional id, as their records say."""

    def __init__(self) -> None:
        self.by_id: dict[str, TransactionLogValue] = {}
        self.image = MetadataImage()

    def replay(self, record: CoordinatorRecord) -> None:
        self.by_id[record.key.transactional_id] = record.value

    def replay_transactional(self, producer_id: int, record: CoordinatorRecord) -> None:
        raise AssertionError("no producer writes here")

    def end_transaction(self, producer_id: int, *, committed: bool) -> Steps[None]:
        raise AssertionError("no producer writes here")

    def loaded(self, now_ms: int) -> Steps[Effects]:
        effects = Effects()
        for name, state in self.by_id.items():
            if state.transaction_status == ONGOING:
                effects.set_timer(("timeout", name), state.transaction_timeout_ms)
            yield
        return effects

    def timer(self, key: TimerKey, now_ms: int) -> Effects:
        name = str(key[1])
        aborted = evolve(self.by_id[name], transaction_status=ABORTED)
        return Effects([CoordinatorRecord(TransactionLogKey(name), aborted)])

    def waits(self, key: str, ticket: Ticket, times: WaitTimes) -> tuple[Wait, ...]:
        return ()

    def image_changed(
        self, delta: MetadataDelta, image: MetadataImage, *, busy: bool
    ) -> Sequence[Change[Any]]:
        self.image = image
        return ()

    def nodes(self, parent: Node) -> Iterable[Node]:
        return ()

    def close(self) -> Steps[None]:
        self.by_id.clear()
        yield


def begin(name: str, producer_id: int, machine: Transactions, ticket: Ticket, _: int) -> Effects:
    if name in machine.by_id and machine.by_id[name].transaction_status == ONGOING:
        raise KafkaError(ErrorCode.CONCURRENT_TRANSACTIONS)
    state = TransactionLogValue(
        producer_id, transaction_status=ONGOING, transaction_timeout_ms=TIMEOUT_MS
    )
    effects = Effects([CoordinatorRecord(TransactionLogKey(name), state)])
    effects.set_timer(("timeout", name), TIMEOUT_MS)
    return effects.answer(ticket, producer_id)


def status(name: str, machine: Transactions, ticket: Ticket, _: int) -> Effects:
    return Effects().answer(ticket, machine.by_id[name].transaction_status)


@define
class Second:
    """The second coordinator of a broker."""

    runtime: ShardRuntime[Transactions]
    topic: OwnedTopic[Transactions]
    coordinator: Coordinator[Transactions]
    created: list[str]


@asynccontextmanager
async def second_coordinator(served: ServedBroker) -> AsyncIterator[Second]:
    """Run a second coordinator beside that of the groups, until the end of the block."""
    running, node, created = served.broker, Node("second", "part"), list[str]()
    groups = running.groups.runtime._dependencies
    dependencies = ShardDependencies(
        broker=groups.broker,
        find_partition=groups.find_partition,
        timers=groups.timers,
        clock=groups.clock,
        buffer=1 << 20,
    )
    runtime = ShardRuntime(TOPIC, RECORDS, Transactions, dependencies=dependencies, node=node)
    topic = OwnedTopic(runtime, new_count=3, create=lambda: created.append(TOPIC))
    purgatory = Purgatory("InitProducerId", groups.timers, node)
    coordinator = Coordinator(
        topic, runtime, purgatories={"InitProducerId": purgatory}, timeout_s=5
    )
    async with trio.open_nursery() as nursery:
        await nursery.start(runtime.run)
        runtime.start(running.metadata.image)
        yield Second(runtime, topic, coordinator, created)
        runtime.stop()
        nursery.cancel_scope.cancel()


async def test_missing_topic_of_a_second_coordinator_is_created_when_a_key_is_looked_up(
    autojump_clock: MockClock,
) -> None:
    async with broker() as served, second_coordinator(served) as second:
        with pytest.raises(KafkaError, match="COORDINATOR_NOT_AVAILABLE"):
            second.topic.leader_of("id")
        answer = second.coordinator.ask("id", partial(status, "id"), "InitProducerId")

        assert isinstance(answer, KafkaError)
        assert answer.code is ErrorCode.NOT_COORDINATOR
        assert second.created == [TOPIC, TOPIC]


async def test_second_coordinator_stores_and_loads_its_own_records(
    autojump_clock: MockClock,
) -> None:
    async with broker() as served:
        await served.create_topic(TOPIC, partitions=3)
        async with second_coordinator(served) as second:
            await trio.sleep(1)
            assert sorted(second.runtime.shards) == [0, 1, 2]
            answers = [
                second.coordinator.ask(name, partial(begin, name, number), "InitProducerId")
                for number, name in enumerate(("a", "b", "c"))
            ]
            assert answers == [0, 1, 2]
            again = second.coordinator.ask("a", partial(begin, "a", 9), "InitProducerId")
            assert isinstance(again, KafkaError)
            assert again.code is ErrorCode.CONCURRENT_TRANSACTIONS
        async with second_coordinator(served) as second:
            waiting = second.coordinator.ask("b", partial(status, "b"), "InitProducerId")
            assert isinstance(waiting, KafkaError | Delayed)
            await trio.sleep(1)

            assert second.runtime.figures()["unknown"] == 0
            assert second.coordinator.ask("b", partial(status, "b"), "InitProducerId") == ONGOING
            await trio.sleep(TIMEOUT_MS / 1000)
            assert second.coordinator.ask("b", partial(status, "b"), "InitProducerId") == ABORTED
