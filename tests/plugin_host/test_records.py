"""Records for plugins: decoded from what is produced and what is stored."""

from typing import Any

import pytest
from trio.testing import MockClock

from tests.plugin_host.plugins import context_of_one
from tests.records.kit import encode_marker
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.plugin import PluginContext, Record
from trio_kafka.plugin_host.records import UNPACKED
from trio_kafka.protocol.messages.k01_fetch import FetchPartition, FetchRequest, FetchTopic
from trio_kafka.records.batch import encode_batch
from trio_kafka.records.compression import Codec
from trio_kafka.records.control import Marker


async def fetched(context: PluginContext[Any], topic: str, partition: int = 0) -> Any:
    """The `records` field of a partition from its first offset on."""
    image = context.parts.metadata.image.topics[topic]
    part = FetchPartition(partition, fetch_offset=0, partition_max_bytes=1 << 20)
    request = FetchRequest(max_wait_ms=0, topics=[FetchTopic(topic, image.id, [part])])
    response = await context.ask(request)
    return response.responses[0].partitions[0].records


@pytest.mark.parametrize("codec", list(Codec))
async def test_records_of_every_codec_are_decoded(codec: Codec, autojump_clock: MockClock) -> None:
    values = [b"%d" % number * 50 for number in range(500)]
    batch = encode_batch([Record(timestamp=1, value=value) for value in values], codec=codec)
    async with context_of_one() as (context, _):
        records = await context.records(memoryview(batch + batch[:-1]))

    assert [record.value for record in records] == values


async def test_control_records_and_missing_records_are_left_out(autojump_clock: MockClock) -> None:
    marker = encode_marker(
        Marker(committed=True, coordinator_epoch=1), producer_id=1, producer_epoch=0, timestamp=5
    )
    async with context_of_one() as (context, _):
        assert await context.records(marker) == []
        assert await context.records(None) == []


async def test_records_that_decompress_above_the_bound_raise_corrupt_message(
    autojump_clock: MockClock,
) -> None:
    bomb = encode_batch([Record(timestamp=1, value=bytes(UNPACKED))], codec=Codec.ZSTD)
    async with context_of_one() as (context, _):
        with pytest.raises(KafkaError) as caught:
            await context.records(bomb)

    assert caught.value.code is ErrorCode.CORRUPT_MESSAGE


@pytest.mark.parametrize("codec", list(Codec))
async def test_with_values_replaces_record_values_and_keeps_other_fields(
    codec: Codec, autojump_clock: MockClock
) -> None:
    record = Record(timestamp=7, key=b"k", value=b"secret", headers=[("h", b"v")])
    batches = memoryview(encode_batch([record], 3, codec=codec) + encode_batch([record], 4))
    async with context_of_one() as (context, _):
        changed = await context.with_values(batches, lambda value: value.replace(b"e", b"*"))
        records = await context.records(changed)
        same = await context.with_values(batches, lambda value: value)

    assert [result.offset for result in records] == [3, 4]
    assert {(result.key, result.value, result.timestamp) for result in records} == {
        (b"k", b"s*cr*t", 7)
    }
    assert same is batches
    assert not memoryview(changed).readonly, "a broker stamps offsets in place"


async def test_with_values_replaces_values_of_a_stored_file_range(
    autojump_clock: MockClock,
) -> None:
    async with context_of_one() as (context, _):
        await context.produce("orders", [Record(value=b"secret")])
        stored = await fetched(context, "orders")

        (record,) = await context.records(await context.with_values(stored, lambda _: None))

    assert record.value is None


async def test_topic_name_resolves_a_topic_given_by_name_or_id(
    autojump_clock: MockClock,
) -> None:
    async with context_of_one() as (context, served):
        await context.produce("orders", [Record()])
        topic_id = served.broker.parts.metadata.image.topics["orders"].id

        assert context.topic_name(FetchTopic("orders")) == "orders"
        assert context.topic_name(FetchTopic("", topic_id)) == "orders"
        assert context.topic_name(FetchTopic("", bytes(range(16)))) == ""
