"""A reader that stalls in the middle of an answer while the files behind it are deleted or cut.

In process, on real sockets and files. Whatever it still gets are bytes of the partition that it
asked for, or its connection is reset: never those of another file.
"""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import trio

from trio_kafka.log.log import Log
from trio_kafka.log.truncate import truncate_to
from trio_kafka.protocol.messages.k00_produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from trio_kafka.protocol.messages.k01_fetch import FetchPartition, FetchRequest, FetchTopic
from trio_kafka.protocol.messages.k20_delete_topics import DeleteTopicsRequest
from trio_kafka.records.batch import Record, encode_batch
from trio_kafka.testing.broker import ServedBroker, served_broker
from trio_kafka.testing.planes import until
from trio_kafka.testing.scripted_client import ScriptedClient, request_frame
from trio_kafka.world.clock import SkippingClock
from trio_kafka.world.real import RealWorld

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]

BATCHES = 40  # more than the kernel takes for a reader that does not read
SIZE = 900_000
MOST = 48 << 20


@pytest.fixture
async def broker(tmp_path: Path) -> AsyncIterator[ServedBroker]:
    settings = {
        "log.dirs": str(tmp_path / "data"),
        "log.segment.delete.delay.ms": "0",
        "log.initial.task.delay.ms": "0",
    }
    async with served_broker(RealWorld(SkippingClock()), settings) as served:
        yield served


async def write(broker: ServedBroker, topic: str, letter: bytes, count: int = BATCHES) -> None:
    now = broker.broker.world.clock.wall()
    record = Record(timestamp=int(now * 1000), value=letter * SIZE)
    for _ in range(count):
        data = PartitionProduceData(0, memoryview(encode_batch([record])))
        topics = [TopicProduceData(topic, partition_data=[data])]
        request = ProduceRequest(acks=0, timeout_ms=1000, topic_data=topics)
        await broker.client.send(request_frame(request, 9))
    await until_end(broker, topic, count)


async def until_end(broker: ServedBroker, topic: str, end: int) -> None:
    log = log_of(broker, topic)
    with trio.fail_after(20):
        while log.end_offset < end:
            await trio.sleep(0.005)  # acks=0: nobody tells


def log_of(broker: ServedBroker, topic: str) -> Log:
    return broker.broker.replicas.partition(topic, 0).local_log()


async def begin_to_read(client: ScriptedClient, topic: str, replica: int = -1) -> tuple[int, bytes]:
    """The size of an answer with all of the topic, and the first bytes of it."""
    part = FetchPartition(0, fetch_offset=0, partition_max_bytes=MOST)
    topics = [FetchTopic(topic, partitions=[part])]
    request = FetchRequest(replica_id=replica, max_wait_ms=500, min_bytes=1, topics=topics)
    await client.send(request_frame(request, 11))
    size = int.from_bytes(await client.receive(4), "big")
    assert size > (BATCHES - 1) * SIZE
    return size, await client.receive(1 << 16)


async def read_on(client: ScriptedClient, size: int, begun: bytes) -> bytes:
    """Up to `size` bytes, fewer where the connection ends before."""
    received = bytearray(begun)
    try:
        while len(received) < size:
            received += await client.receive(min(1 << 14, size - len(received)))
    except (EOFError, ConnectionError):
        pass
    return bytes(received)


def letters(received: bytes) -> dict[bytes, int]:
    """How many of each letter that somebody wrote; headers have few of them."""
    return {letter: n for letter in (b"m", b"n", b"o") if (n := received.count(letter)) > 1000}


async def test_topic_deletion_does_not_change_a_fetch_response_being_sent(
    broker: ServedBroker, tmp_path: Path
) -> None:
    await broker.create_topic("mine")
    await write(broker, "mine", b"m")
    async with broker.connect() as reader:
        size, begun = await begin_to_read(reader, "mine")

        await broker.ask(DeleteTopicsRequest(topic_names=["mine"], timeout_ms=9000), 5)
        with trio.fail_after(20):
            while list((tmp_path / "data").glob("mine-*")):
                await trio.sleep(0.01)  # a job removes the files
        await broker.create_topic("other")
        await write(broker, "other", b"o")
        received = await read_on(reader, size, begun)

    assert len(received) == size
    assert received.count(b"m") >= BATCHES * SIZE
    assert letters(received).keys() == {b"m"}


async def test_truncation_below_the_high_watermark_aborts_a_response_being_sent(
    broker: ServedBroker,
) -> None:
    await broker.create_topic("mine")
    await write(broker, "mine", b"m")
    async with broker.connect() as reader:
        size, begun = await begin_to_read(reader, "mine")

        await truncate_to(log_of(broker, "mine"), 3)
        await broker.create_topic("other")
        await write(broker, "other", b"o")
        received = await read_on(reader, size, begun)

    assert len(received) < size
    assert letters(received).keys() == {b"m"}
    assert broker.closed("truncated") == 1


async def test_response_aborted_by_truncation_has_no_bytes_written_later(
    broker: ServedBroker,
) -> None:
    await broker.create_topic("mine", configs={"flush.messages": "1"})
    log = log_of(broker, "mine")
    await until(lambda: not log.unsynced.new)  # its files are
    log.wants_sync = lambda _: None  # nothing more becomes durable: all lies above
    await write(broker, "mine", b"m")
    assert log.high_watermark == 0
    async with broker.connect() as reader:
        # As a follower: consumers are not shown what is above.
        size, begun = await begin_to_read(reader, "mine", replica=1)

        await truncate_to(log, 1)
        await write(broker, "mine", b"n")
        received = await read_on(reader, size, begun)

    assert len(received) < size
    assert letters(received).keys() == {b"m"}
    assert broker.closed("truncated") == 1
