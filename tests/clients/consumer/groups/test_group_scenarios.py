"""Groups of both protocols with members of ours, against a broker process.

`--against apache-kafka` runs the same scenarios against Apache Kafka 4.4.
"""

from collections.abc import Awaitable, Callable, Collection
from contextlib import AbstractAsyncContextManager
from uuid import uuid4

import pytest
import trio
from confluent_kafka.admin import AdminClient, NewTopic

from tests.clients.consumer.scenarios import (
    QUICK,
    TIMEOUT_S,
    Bytes,
    consumer_of,
    numbers,
    poll_all,
    produce,
    read,
    values,
)
from tests.e2e.clients import new_topic
from tests.e2e.clients import settings as client_settings
from trio_kafka.clients import OffsetAndMetadata, RebalanceListener
from trio_kafka.clients.errors import ClientError, CommitFailedError
from trio_kafka.errors import ErrorCode
from trio_kafka.model import TopicPartition
from trio_kafka.testing.processes import BrokerProcess

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

Settings = dict[str, object]
Size = Callable[[int, int], int]
CLASSIC: Settings = {"group_protocol": "classic", **QUICK}
CONSUMER: Settings = {"group_protocol": "consumer"}
ASSIGNORS = {
    **{
        name: {**CLASSIC, "partition_assignment_strategy": name}
        for name in ("range", "roundrobin", "sticky", "cooperative-sticky")
    },
    "uniform of the broker": {**CONSUMER, "group_remote_assignor": "uniform"},
    "range of the broker": {**CONSUMER, "group_remote_assignor": "range"},
}
PROTOCOLS = {"classic": CLASSIC, "consumer": CONSUMER}


@pytest.fixture
def group() -> str:
    """Return the name of a new group."""
    return f"g-{uuid4().hex[:12]}"


def protocols(of: dict[str, Settings]) -> pytest.MarkDecorator:
    """Run a test with each of some settings."""
    return pytest.mark.parametrize("settings", of.values(), ids=of)


@protocols(ASSIGNORS)
async def test_members_share_partitions_and_each_record_is_read_once_as_they_come_and_go(
    shared_broker: BrokerProcess, group: str, settings: Settings
) -> None:
    topic = new_topic(shared_broker, 4)
    everything = {TopicPartition(topic, number) for number in range(4)}
    revoked: list[TopicPartition] = []

    async def on_revoked(partitions: Collection[TopicPartition]) -> None:
        revoked.extend(partitions)

    def fill(start: int) -> list[bytes]:
        return numbers(10, start)

    async with consumer_of(shared_broker, group_id=group, **settings) as first:
        first.subscribe([topic], listener=RebalanceListener(on_revoked=on_revoked))
        await poll_all([first], lambda: first.assignment == everything)
        await produce(shared_broker, topic, fill(0), 0)
        seen = await read(first, 10)
        async with consumer_of(shared_broker, group_id=group, **settings) as second:
            second.subscribe([topic])
            seen += await poll_all(
                [first, second], lambda: len(first.assignment) == len(second.assignment) == 2
            )
            assert first.assignment | second.assignment == everything
            assert not first.assignment & second.assignment
            for number in range(4):
                await produce(shared_broker, topic, fill(10 + number * 10), number)
            with trio.fail_after(TIMEOUT_S):
                while len(seen) < 50:
                    seen += await first.poll(0.05) + await second.poll(0.05)
        await produce(shared_broker, topic, fill(50), 3)
        seen += await poll_all([first], lambda: first.assignment == everything)
        if len(seen) < 60:
            seen += await read(first, 60 - len(seen))
    async with consumer_of(shared_broker, group_id=group) as consumer:
        committed = await consumer.committed(everything)

    assert sorted(values(seen), key=lambda value: int(value or b"")) == numbers(60)
    is_eager = settings.get("partition_assignment_strategy") in {"range", "roundrobin", "sticky"}
    assert len(revoked) >= (8 if is_eager else 6)
    assert len(revoked) == 6 or is_eager, "cooperative members give up only what moves"
    assert sum(offset.offset for offset in committed.values() if offset) == 60


@protocols(PROTOCOLS)
async def test_static_member_that_comes_again_has_its_partitions_and_no_other_member_is_disturbed(
    shared_broker: BrokerProcess, group: str, settings: Settings
) -> None:
    topic = new_topic(shared_broker, 4)
    changes: list[str] = []

    async def changed(partitions: Collection[TopicPartition]) -> None:
        changes.append("rebalance")

    listener = RebalanceListener(on_revoked=changed, on_assigned=changed)

    def member(name: str) -> AbstractAsyncContextManager[Bytes]:
        return consumer_of(shared_broker, group_id=group, group_instance_id=name, **settings)

    async with member("a") as first:
        first.subscribe([topic], listener=listener)
        async with member("b") as second:
            second.subscribe([topic])
            await poll_all(
                [first, second], lambda: len(first.assignment) == len(second.assignment) == 2
            )
            before = second.assignment
        await poll_all([first], lambda: True)
        changes.clear()
        async with member("b") as again:
            again.subscribe([topic])
            await poll_all([again, first], lambda: bool(again.assignment))
            assert again.assignment == before
            await produce(shared_broker, topic, [b"a"], next(iter(before)).partition)
            assert values(await read(again, 1)) == [b"a"]
            assert await first.poll(0.5) == []

    assert changes == ["rebalance"], "only the revocation at the end"


async def test_classic_member_whose_instance_id_another_one_takes_is_fenced(
    shared_broker: BrokerProcess, group: str
) -> None:
    topic = new_topic(shared_broker)
    settings = {**CLASSIC, "group_id": group, "group_instance_id": "a"}

    async with consumer_of(shared_broker, **settings) as first:
        first.subscribe([topic])
        await poll_all([first], lambda: bool(first.assignment))
        async with consumer_of(shared_broker, **settings) as second:
            second.subscribe([topic])
            await poll_all([second], lambda: bool(second.assignment))
            with pytest.raises(ClientError) as error:
                await poll_all([first], lambda: False)
            await produce(shared_broker, topic, [b"a"])
            assert values(await read(second, 1)) == [b"a"]
        assert first.assignment == frozenset()

    assert error.value.code is ErrorCode.FENCED_INSTANCE_ID


async def test_instance_id_of_a_present_member_is_not_released_with_the_consumer_protocol(
    shared_broker: BrokerProcess, group: str
) -> None:
    topic = new_topic(shared_broker)
    settings = {**CONSUMER, "group_id": group, "group_instance_id": "a"}

    async with consumer_of(shared_broker, **settings) as first:
        first.subscribe([topic])
        await poll_all([first], lambda: bool(first.assignment))
        async with consumer_of(shared_broker, **settings) as second:
            second.subscribe([topic])
            with pytest.raises(ClientError) as error:
                await poll_all([second], lambda: False)
        await produce(shared_broker, topic, [b"a"])
        assert values(await read(first, 1)) == [b"a"]

    assert error.value.code is ErrorCode.UNRELEASED_INSTANCE_ID


@protocols(PROTOCOLS)
async def test_pattern_finds_topics_that_are_there_and_those_that_come_later(
    shared_broker: BrokerProcess, group: str, settings: Settings, size: Size
) -> None:
    """The broker matches RE2 with the consumer protocol; the client matches with the other.

    A broker of either kind looks for new topics every 10 s, which is for the long form.
    """
    first = new_topic(shared_broker)
    prefix = first[:8]

    async with consumer_of(
        shared_broker, group_id=group, metadata_max_age_ms=300, **settings
    ) as consumer:
        consumer.subscribe(pattern=f"{prefix}.*|{prefix}-later-[0-9]+")
        await poll_all([consumer], lambda: len(consumer.assignment) == 1)
        if settings is CONSUMER and not size(0, 1):
            return
        later = await trio.to_thread.run_sync(topic_named, shared_broker, f"{prefix}-later-1")
        await poll_all([consumer], lambda: len(consumer.assignment) == 2)
        await produce(shared_broker, later, [b"a"])
        assert values(await read(consumer, 1)) == [b"a"]

    assert later == f"{prefix}-later-1"


async def test_pattern_that_is_no_re2_is_an_error_of_the_broker(
    shared_broker: BrokerProcess, group: str
) -> None:
    async with consumer_of(shared_broker, group_id=group, **CONSUMER) as consumer:
        consumer.subscribe(pattern="(?=a)b")
        with pytest.raises(ClientError) as error:
            await poll_all([consumer], lambda: False)

    assert error.value.code is ErrorCode.INVALID_REGULAR_EXPRESSION


def topic_named(broker: BrokerProcess, name: str) -> str:
    """Create a topic."""
    admin = AdminClient(client_settings(broker))
    admin.create_topics([NewTopic(name, 1, 1)])[name].result(TIMEOUT_S)
    return name


@protocols(PROTOCOLS)
async def test_offsets_are_committed_at_once_in_the_background_by_time_and_at_the_end(
    shared_broker: BrokerProcess, group: str, settings: Settings
) -> None:
    topic = new_topic(shared_broker)
    at = TopicPartition(topic, 0)
    await produce(shared_broker, topic, numbers(10))

    async def committed(consumer: Bytes) -> OffsetAndMetadata | None:
        return (await consumer.committed([at]))[at]

    manual = {**settings, "group_id": group, "enable_auto_commit": False, "max_poll_records": 2}
    async with consumer_of(shared_broker, **manual) as consumer:
        consumer.subscribe([topic])
        await read(consumer, 2)
        assert await committed(consumer) is None
        await consumer.commit()
        assert await committed(consumer) == OffsetAndMetadata(2, 0)
        await read(consumer, 2)
        consumer.commit_soon()
        await wait_for(lambda: committed(consumer), OffsetAndMetadata(4, 0))
        await consumer.commit({at: OffsetAndMetadata(3, 0, "mine")})
        assert await committed(consumer) == OffsetAndMetadata(3, 0, "mine")
    automatic = {**manual, "enable_auto_commit": True, "auto_commit_interval_ms": 200}
    async with consumer_of(shared_broker, **automatic) as consumer:
        consumer.subscribe([topic])
        records = await read(consumer, 2)
        assert [record.offset for record in records] == [3, 4], "a manual end commits nothing"

        async def polled() -> int:
            records.extend(await consumer.poll(0.1))
            offset = await committed(consumer)
            return 0 if offset is None else offset.offset

        await wait_for(polled, 10)
        await produce(shared_broker, topic, [b"a"])
        await read(consumer, 1)
    async with consumer_of(shared_broker, **manual) as consumer:
        assert await committed(consumer) == OffsetAndMetadata(11, 0)


async def wait_for(read: Callable[[], Awaitable[object]], value: object) -> None:
    """Read until the value is there."""
    with trio.fail_after(TIMEOUT_S):
        while await read() != value:
            await trio.sleep(0.02)


@protocols(PROTOCOLS)
async def test_commit_of_a_member_that_was_removed_fails_and_does_not_move_the_offset(
    shared_broker: BrokerProcess, group: str, settings: Settings
) -> None:
    topic = new_topic(shared_broker)
    at = TopicPartition(topic, 0)
    await produce(shared_broker, topic, numbers(4))
    config = {**settings, "group_id": group, "enable_auto_commit": False}

    async with consumer_of(shared_broker, max_poll_interval_ms=1500, **config) as slow:
        slow.subscribe([topic])
        await read(slow, 4)
        async with consumer_of(shared_broker, **config) as other:
            other.subscribe([topic])
            await poll_all([other], lambda: bool(other.assignment))
            await other.commit({at: OffsetAndMetadata(2)})
            with pytest.raises(CommitFailedError):
                await slow.commit()
            assert (await other.committed([at]))[at] == OffsetAndMetadata(2)


async def nothing(consumer: Bytes, topic: str) -> None:
    await trio.lowlevel.checkpoint()


async def joining(consumer: Bytes, topic: str) -> None:
    consumer.subscribe([topic])
    await consumer.poll(0.0)


async def joined(consumer: Bytes, topic: str) -> None:
    consumer.subscribe([topic])
    await read(consumer, 1)


async def failed(consumer: Bytes, topic: str) -> None:
    consumer.subscribe([topic])
    with pytest.raises(LookupError):
        async for _ in consumer:
            raise LookupError


@protocols(PROTOCOLS)
@pytest.mark.parametrize("state", [nothing, joining, joined, failed])
async def test_closed_member_has_left_its_group_in_each_state(
    shared_broker: BrokerProcess,
    group: str,
    settings: Settings,
    state: Callable[[Bytes, str], Awaitable[None]],
) -> None:
    """Another member has all partitions at once, and not after the session of 45 s."""
    topic = new_topic(shared_broker)
    await produce(shared_broker, topic, [b"a"])
    config = {**settings, "group_id": group}

    with trio.fail_after(TIMEOUT_S):
        async with consumer_of(shared_broker, **config) as consumer:
            await state(consumer, topic)
        async with consumer_of(shared_broker, **config) as other:
            other.subscribe([topic])
            await poll_all([other], lambda: bool(other.assignment))
