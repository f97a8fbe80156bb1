"""Where lines go: the broker's own log, a file that is rolled, a topic that is made."""

import logging

import pytest
import trio
from trio.testing import MockClock

from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.introspect.levels import has_logger
from trio_kafka.log.read import read_bytes
from trio_kafka.model import TopicPartition
from trio_kafka.records.batch import iterate_headers, read_records
from trio_kafka.requests.request_log.sinks import (
    LOGGER,
    FileSink,
    LoggerSink,
    TopicSink,
    in_batches,
)
from trio_kafka.testing.broker import ServedBroker, served_broker
from trio_kafka.testing.simulation import simulated_world
from trio_kafka.world.world import World


def content(world: World, name: str) -> bytes:
    file = world.directory("/logs").open(name)
    buffer = bytearray(file.size)
    file.try_read(0, buffer)
    file.close()
    return bytes(buffer)


def topic_sink(served: ServedBroker, topic: str) -> TopicSink:
    parts = served.broker.parts
    return TopicSink(
        topic,
        replicas=parts.replicas,
        metadata=parts.metadata,
        create=parts.topic_creation.want,
        wall=served.broker.world.clock.wall,
    )


async def values(served: ServedBroker, topic: str, partition: int) -> list[str]:
    log = served.broker.logs.get(TopicPartition(topic, partition))
    assert log is not None
    data = await read_bytes(log, 0, 1 << 20, end_offset=log.end_offset)
    return [
        (record.value or b"").decode()
        for position, header in iterate_headers(data)
        for record in read_records(data, position, header)
    ]


async def test_logger_sink_writes_request_lines_at_debug_level(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.DEBUG, logger=LOGGER):
        await LoggerSink().write(['{"a":1}'])

    assert has_logger(LOGGER)
    assert [record.getMessage() for record in caplog.records] == ['Completed request:{"a":1}']


async def test_file_sink_appends_one_line_for_each_request_after_reopening(
    autojump_clock: MockClock,
) -> None:
    world = simulated_world()
    sink = FileSink(world, "/logs/requests.json")
    await sink.write(["a", "b"])
    sink.close()
    sink = FileSink(world, "/logs/requests.json")
    await sink.write(["c"])
    sink.close()

    assert content(world, "requests.json") == b"a\nb\nc\n"


async def test_file_sink_rolls_a_large_file_and_keeps_one_old_file(
    autojump_clock: MockClock,
) -> None:
    world = simulated_world()
    sink = FileSink(world, "/logs/r", largest=10)
    for line in ("one", "two!", "three", "x" * 20, "y"):
        await sink.write([line])
    sink.close()

    assert world.directory("/logs").names() == ["r", "r.1"]
    assert content(world, "r.1") == b"x" * 20 + b"\n"
    assert content(world, "r") == b"y\n"


async def test_topic_sink_creates_its_topic_and_writes_to_its_partitions_in_turn(
    autojump_clock: MockClock,
) -> None:
    settings = {"num.partitions": "2"}
    async with served_broker(simulated_world(), settings) as served:
        sink = topic_sink(served, "requests")
        for line in ("a", "b", "c"):
            await sink.write([line])

        assert await values(served, "requests", 0) == ["a", "c"]
        assert await values(served, "requests", 1) == ["b"]


async def test_topic_sink_raises_when_its_topic_cannot_be_created(
    autojump_clock: MockClock,
) -> None:
    async with served_broker(simulated_world()) as served:
        with pytest.raises(KafkaError) as caught, trio.fail_after(60):
            await topic_sink(served, "no/topic").write(["a"])

    assert caught.value.code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_batches_of_a_sink_are_bounded_in_size_and_have_at_least_one_line() -> None:
    assert list(in_batches(["aa", "bb", "c", "dddd", "e"], 4)) == [
        ["aa", "bb"],
        ["c"],
        ["dddd"],
        ["e"],
    ]
    assert list(in_batches([], 4)) == []


@pytest.mark.parametrize("topic", ["__consumer_offsets", "__transaction_state", "__new"])
async def test_topic_sink_refuses_internal_topics(autojump_clock: MockClock, topic: str) -> None:
    async with served_broker(simulated_world()) as served:
        with pytest.raises(ValueError, match="is an internal topic"):
            topic_sink(served, topic)
