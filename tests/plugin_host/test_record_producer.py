"""Records that a plugin produces: where they go, and each error that is raised."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from tests.plugin_host.plugins import context_of_one
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.plugin import Context, Forward, PluginContext, Record, RecordPosition, plugin
from trio_kafka.protocol.messages.k00_produce import ProduceRequest
from trio_kafka.protocol.messages.k01_fetch import FetchPartition, FetchRequest, FetchTopic
from trio_kafka.records.partitioner import partition_of
from trio_kafka.testing.broker import served_broker
from trio_kafka.testing.simulation import simulated_world


async def fetched(context: PluginContext[Any], topic: str, partition: int = 0) -> Any:
    """The `records` field of a partition from its first offset on."""
    image = context.parts.metadata.image.topics[topic]
    part = FetchPartition(partition, fetch_offset=0, partition_max_bytes=1 << 20)
    request = FetchRequest(max_wait_ms=0, topics=[FetchTopic(topic, image.id, [part])])
    response = await context.ask(request)
    return response.responses[0].partitions[0].records


async def test_records_produced_by_a_plugin_can_be_fetched(autojump_clock: MockClock) -> None:
    async with context_of_one() as (context, _):
        positions = await context.produce(
            "orders", [Record(key=b"ann", value=b"tea", headers=[("h", b"1")]), Record(value=None)]
        )
        first, second = await context.records(await fetched(context, "orders"))

    assert positions == [RecordPosition(0, 0), RecordPosition(0, 1)]
    assert (first.key, first.value, first.headers) == (b"ann", b"tea", (("h", b"1"),))
    assert (second.value, second.offset) == (None, 1)
    assert first.timestamp > 0


async def test_records_with_a_key_go_to_the_same_partition_as_with_kafka_producers(
    autojump_clock: MockClock,
) -> None:
    keys = [b"a", b"b", b"c", b"d"]
    async with context_of_one({"num.partitions": "3"}) as (context, _):
        positions = await context.produce("orders", [Record(key=key) for key in keys])

    assert [position.partition for position in positions] == [partition_of(key, 3) for key in keys]


async def test_records_without_a_key_share_a_partition(autojump_clock: MockClock) -> None:
    async with context_of_one({"num.partitions": "9"}) as (context, _):
        positions = await context.produce("orders", [Record(value=b"x")] * 5)

    assert len({position.partition for position in positions}) == 1
    assert [position.offset for position in positions] == [0, 1, 2, 3, 4]


async def test_records_go_to_the_given_partition_and_an_unknown_partition_is_refused(
    autojump_clock: MockClock,
) -> None:
    async with context_of_one({"num.partitions": "3"}) as (context, _):
        assert await context.produce("orders", [Record(key=b"a")], partition=2) == [(2, 0)]
        with pytest.raises(KafkaError, match="orders-3: the topic has 3 partitions"):
            await context.produce("orders", [Record()], partition=3)


async def test_decoded_records_can_be_produced_without_being_changed(
    autojump_clock: MockClock,
) -> None:
    async with context_of_one() as (context, _):
        await context.produce("orders", [Record(value=b"a"), Record(value=b"b")])
        copied = await context.records(await fetched(context, "orders"))

        assert await context.produce("copies", copied[1:]) == [(0, 0)]
        assert copied[1].offset == 1, "the records of the caller stay as they are"


async def test_producing_an_empty_list_creates_no_topic(autojump_clock: MockClock) -> None:
    async with context_of_one() as (context, served):
        assert await context.produce("orders", []) == []
        assert "orders" not in served.broker.parts.metadata.image.topics


async def test_a_rejected_batch_raises_the_error_of_kafka(autojump_clock: MockClock) -> None:
    async with context_of_one({"message.max.bytes": "1000"}) as (context, _):
        with pytest.raises(KafkaError) as caught:
            await context.produce("orders", [Record(value=bytes(2000))])

    assert caught.value.code is ErrorCode.MESSAGE_TOO_LARGE
    assert "orders-0" in str(caught.value)


async def test_the_error_of_a_partly_rejected_produce_has_the_number_of_appended_partitions(
    autojump_clock: MockClock,
) -> None:
    settings = {"message.max.bytes": "1000", "num.partitions": "2"}
    small = next(key for key in (b"a", b"b", b"c", b"d") if partition_of(key, 2) == 0)
    large = next(key for key in (b"a", b"b", b"c", b"d") if partition_of(key, 2) == 1)
    async with context_of_one(settings) as (context, _):
        with pytest.raises(KafkaError, match="1 of 2 partitions were appended to"):
            await context.produce("t", [Record(key=small), Record(key=large, value=bytes(2000))])


async def test_producing_to_an_unknown_topic_without_auto_creation_raises_an_error(
    autojump_clock: MockClock,
) -> None:
    async with context_of_one({"auto.create.topics.enable": "false"}) as (context, _):
        with pytest.raises(KafkaError) as caught:
            await context.produce("orders", [Record()])

    assert caught.value.code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


async def test_a_produce_without_a_response_times_out(
    autojump_clock: MockClock,
) -> None:
    @plugin("slow")
    @asynccontextmanager
    async def slow(context: PluginContext[Any]) -> AsyncIterator[None]:
        async def around(request: ProduceRequest, _: Context, forward: Forward) -> Any:
            await trio.sleep(100)
            return await forward(request)

        context.around(ProduceRequest, around)
        contexts.append(context)
        yield

    contexts: list[PluginContext[Any]] = []
    async with served_broker(simulated_world(), plugins=[slow]):
        began = trio.current_time()
        with pytest.raises(KafkaError, match="not appended within 3 s") as caught:
            await contexts[0].produce("orders", [Record()], timeout_s=3)

        assert caught.value.code is ErrorCode.REQUEST_TIMED_OUT
        assert trio.current_time() - began == pytest.approx(3, abs=0.1)


async def test_producing_without_acks_returns_unknown_offsets(autojump_clock: MockClock) -> None:
    async with context_of_one() as (context, _):
        assert await context.produce("orders", [Record(value=b"x")], acks=0) == [(0, -1)]
        (record,) = await context.records(await fetched(context, "orders"))

    assert record.value == b"x"
