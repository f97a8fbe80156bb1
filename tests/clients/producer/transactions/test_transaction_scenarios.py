"""Transactions of the producer against broker processes of both protocols, read by librdkafka.

`--against apache-kafka` runs the same scenarios against Apache Kafka 4.4.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from uuid import uuid4

import confluent_kafka
import pytest
import trio
import trio.testing

from tests.clients.producer.conftest import Lives
from tests.clients.producer.test_scenarios import producer_of
from tests.e2e.clients import new_topic, settings
from tests.e2e.test_transactions import values
from trio_kafka.clients import GroupMetadata, ProducerRecord, open_admin
from trio_kafka.clients.errors import (
    AbortableError,
    ClientError,
    FatalError,
    ProducerFencedError,
    TimedOutError,
)
from trio_kafka.errors import ErrorCode
from trio_kafka.model import TopicPartition
from trio_kafka.testing.processes import BrokerProcess

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

TIMEOUT_S = 30


@pytest.fixture(params=["shared_broker", "old_broker"])
def broker(request: pytest.FixtureRequest) -> BrokerProcess:
    """A broker with the newer protocol, and one with the older."""
    process: BrokerProcess = request.getfixturevalue(request.param)
    return process


def committed_offsets(
    broker: BrokerProcess, group: str, places: list[TopicPartition]
) -> Mapping[TopicPartition, int]:
    """Return the offsets of a group; OFFSET_INVALID where it has none."""
    consumer = confluent_kafka.Consumer(
        settings(broker, group_id=group, isolation_level="read_committed")
    )
    try:
        rows = consumer.committed(
            [confluent_kafka.TopicPartition(place.topic, place.partition) for place in places],
            timeout=TIMEOUT_S,
        )
    finally:
        consumer.close()
    return {TopicPartition(row.topic, row.partition): row.offset for row in rows}


def records(topic: str, text: bytes) -> Iterator[ProducerRecord[bytes, bytes | None]]:
    """Yield one record for each of two partitions."""
    return (ProducerRecord(topic, b"%s-%d" % (text, n), partition=n) for n in range(2))


async def test_records_of_committed_transactions_are_read_and_of_aborted_ones_are_not(
    broker: BrokerProcess, request: pytest.FixtureRequest
) -> None:
    topic = new_topic(broker, 2)
    name = f"id-{uuid4().hex}"

    async with producer_of(broker, transactional_id=name) as producer:
        for number in range(3):
            async with producer.transaction():
                for record in records(topic, b"in %d" % number):
                    await producer.send(record)
            with pytest.raises(LookupError):
                async with producer.transaction():
                    for record in records(topic, b"out %d" % number):
                        await (await producer.send(record))
                    raise LookupError
            with trio.move_on_after(TIMEOUT_S) as scope:
                async with producer.transaction():
                    await (await producer.send(ProducerRecord(topic, b"cancelled", partition=0)))
                    scope.cancel()
        assert producer.transactions is not None
        is_new = producer.transactions.machine.is_new_protocol

    committed = sorted(b"in %d-%d" % (number, n) for number in range(3) for n in range(2))
    aborted = [b"out %d-%d" % (number, n) for number in range(3) for n in range(2)]
    assert values(broker, topic, "read_committed") == committed
    assert values(broker, topic, "read_uncommitted") == sorted(
        committed + aborted + [b"cancelled"] * 3
    )
    assert is_new == ("shared_broker" in request.node.name)


async def test_offsets_are_committed_with_the_records_and_dropped_with_aborted_ones(
    broker: BrokerProcess,
) -> None:
    topic = new_topic(broker, 2)
    group = GroupMetadata(group_id=f"g-{topic}")
    first, second = TopicPartition(topic, 0), TopicPartition(topic, 1)

    async with producer_of(broker, transactional_id=f"id-{topic}") as producer:
        async with producer.transaction() as transaction:
            await producer.send(ProducerRecord(topic, b"in", partition=0))
            await transaction.send_offsets({first: 7, second: 9}, group)
        with pytest.raises(LookupError):
            async with producer.transaction() as transaction:
                await transaction.send_offsets({first: 11}, group)
                raise LookupError
        async with producer.transaction() as transaction:
            await transaction.send_offsets({second: 13}, group)

    assert values(broker, topic, "read_committed") == [b"in"]
    assert committed_offsets(broker, group.group_id, [first, second]) == {first: 7, second: 13}


async def test_offsets_of_a_member_that_the_group_does_not_have_abort_the_transaction(
    broker: BrokerProcess,
) -> None:
    topic = new_topic(broker, 2)
    ghost = GroupMetadata(group_id=f"g-{topic}", generation=5, member_id="ghost")
    place = TopicPartition(topic, 0)

    async with producer_of(broker, transactional_id=f"id-{topic}") as producer:
        with pytest.raises(AbortableError) as error:
            async with producer.transaction() as transaction:
                await producer.send(ProducerRecord(topic, b"out", partition=0))
                await transaction.send_offsets({place: 7}, ghost)
        async with producer.transaction():
            await producer.send(ProducerRecord(topic, b"in", partition=0))

    assert error.value.code is ErrorCode.ILLEGAL_GENERATION
    assert values(broker, topic, "read_committed") == [b"in"]
    assert committed_offsets(broker, ghost.group_id, [place]) == {
        place: confluent_kafka.OFFSET_INVALID
    }


async def test_record_that_its_topic_does_not_allow_aborts_the_transaction(
    broker: BrokerProcess,
) -> None:
    topic = new_topic(broker, 2, max_message_bytes="500")

    async with producer_of(broker, transactional_id=f"id-{topic}") as producer:
        with pytest.raises(AbortableError, match=f"{topic}-0 at .*MESSAGE_TOO_LARGE"):
            async with producer.transaction():
                await producer.send(ProducerRecord(topic, b"out", partition=1))
                await producer.send(ProducerRecord(topic, bytes(600), partition=0))
        for number in range(2):  # the second has the sequence numbers behind the first
            async with producer.transaction():
                for record in records(topic, b"in %d" % number):
                    await producer.send(record)

    assert values(broker, topic, "read_committed") == [b"in 0-0", b"in 0-1", b"in 1-0", b"in 1-1"]


async def test_second_producer_of_an_id_fences_the_first(broker: BrokerProcess) -> None:
    topic = new_topic(broker, 2)
    name = f"id-{topic}"

    async with producer_of(broker, transactional_id=name) as first:
        with pytest.raises(ClientError) as in_transaction:
            async with first.transaction():
                await (await first.send(ProducerRecord(topic, b"open", partition=0)))
                async with producer_of(broker, transactional_id=name) as second:
                    async with second.transaction():
                        await second.send(ProducerRecord(topic, b"second", partition=0))
                    await (await first.send(ProducerRecord(topic, b"late", partition=1)))
        with pytest.raises(FatalError):
            async with first.transaction():
                await first.send(ProducerRecord(topic, b"later", partition=0))

    print(type(in_transaction.value).__name__, in_transaction.value)
    assert values(broker, topic, "read_committed") == [b"second"]


async def test_commit_of_a_producer_that_was_fenced_in_its_transaction_is_a_fencing_error(
    broker: BrokerProcess,
) -> None:
    topic = new_topic(broker, 2)
    name = f"id-{topic}"

    async with producer_of(broker, transactional_id=name) as first:
        with pytest.raises(ProducerFencedError):
            async with first.transaction():
                await (await first.send(ProducerRecord(topic, b"open", partition=0)))
                async with producer_of(broker, transactional_id=name):
                    pass

    assert values(broker, topic, "read_committed") == []


async def test_transaction_timeout_that_the_broker_does_not_allow_is_fatal(
    shared_broker: BrokerProcess,
) -> None:
    config = {"transactional_id": f"id-{uuid4().hex}", "transaction_timeout_ms": 10**9}
    with pytest.raises(FatalError, match="INVALID_TRANSACTION_TIMEOUT"):
        async with producer_of(shared_broker, **config):
            pass


async def test_transactions_are_read_as_a_whole_or_not_at_all_when_the_broker_is_killed(
    lives: Lives, size: Callable[[int, int], int]
) -> None:
    topic = await trio.to_thread.run_sync(new_topic, lives.broker, 2)
    outcomes: dict[bytes, str] = {}

    async def write() -> None:
        while True:
            name = b"%05d" % len(outcomes)
            outcomes[name] = "aborted"
            try:
                async with producer.transaction():
                    for record in records(topic, name):
                        await producer.send(record)
                    if len(outcomes) % 3 == 0:
                        raise LookupError
            except LookupError:
                pass
            except TimedOutError:
                outcomes[name] = "unknown"
            except AbortableError:
                pass
            else:
                outcomes[name] = "committed"

    def committed() -> set[bytes]:
        return {name for name, outcome in outcomes.items() if outcome == "committed"}

    async def wait_more() -> None:
        """Wait until some more transactions are committed; the next one is open then."""
        enough = len(committed()) + 5
        while len(committed()) < enough:
            await trio.testing.wait_all_tasks_blocked(0.001)

    async with (
        producer_of(lives.broker, transactional_id=f"id-{topic}") as producer,
        trio.open_nursery() as nursery,
    ):
        nursery.start_soon(write)
        for _ in range(size(1, 20)):
            await wait_more()
            await lives.next()
        await wait_more()
        nursery.cancel_scope.cancel()

    counts = Counter(await trio.to_thread.run_sync(values, lives.broker, topic, "read_committed"))
    names = Counter(value.split(b"-")[0] for value in counts)
    assert set(counts.values()) == {1}
    assert set(names.values()) == {2}, "a torn transaction"
    assert committed() <= set(names)
    assert {outcomes[name] for name in names} <= {"committed", "unknown"}


@pytest.mark.long
@pytest.mark.parametrize("goes_on", ["commits", "sends", "aborts"])
async def test_transaction_that_the_broker_has_aborted_cannot_be_committed(
    shared_broker: BrokerProcess, goes_on: str
) -> None:
    """The broker looks every 10 s for transactions that are open for too long."""
    topic = new_topic(shared_broker, 2)
    name = f"id-{topic}"
    kind = {"commits": FatalError, "sends": AbortableError, "aborts": LookupError}[goes_on]

    async with producer_of(
        shared_broker, transactional_id=name, transaction_timeout_ms=1000
    ) as producer:
        with pytest.raises(kind) as caught:
            async with producer.transaction():
                await (await producer.send(ProducerRecord(topic, b"out", partition=0)))
                with trio.fail_after(TIMEOUT_S):
                    await wait_aborted(shared_broker, name)
                if goes_on == "aborts":
                    raise LookupError
                if goes_on == "sends":
                    await producer.send(ProducerRecord(topic, b"out too", partition=1))
        if goes_on != "commits":
            async with producer.transaction():
                await producer.send(ProducerRecord(topic, b"in", partition=0))

    if goes_on == "commits":
        assert caught.value.code is ErrorCode.INVALID_TXN_STATE
    assert values(shared_broker, topic, "read_committed") == [b"in"] * (goes_on != "commits")


async def wait_aborted(broker: BrokerProcess, name: str) -> None:
    async with open_admin({"bootstrap.servers": broker.bootstrap}) as admin:
        while (await admin.describe_transactions([name]))[name].state != "CompleteAbort":
            await trio.sleep(0.2)
