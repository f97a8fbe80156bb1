"""Each limit that a running broker holds clients to: below it, at it, and one above."""

import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
import trio
from trio.testing import MockClock

from tests.apis.kit import NOW_MS, batch, codes, fetch, fetch_request, partitions_of, produce, write
from tests.network.echoing import waiting
from trio_kafka.errors import ErrorCode
from trio_kafka.protocol.messages.k18_api_versions import ApiVersionsRequest
from trio_kafka.protocol.messages.k19_create_topics import CreatableTopic, CreateTopicsRequest
from trio_kafka.protocol.messages.k75_describe_topic_partitions import (
    DescribeTopicPartitionsRequest,
    TopicRequest,
)
from trio_kafka.records.batch import HEADER_SIZE, Record, encode_batch
from trio_kafka.records.compression import Codec
from trio_kafka.requests.api import api_of
from trio_kafka.requests.registry import installed_apis
from trio_kafka.testing.broker import ServedBroker, served_broker
from trio_kafka.testing.sample_apis import WaitRequest, WaitResponse
from trio_kafka.testing.scripted_client import connect, frame, request_frame
from trio_kafka.testing.simulation import simulated_world

AROUND = [
    pytest.param(-1, True, id="below"),
    pytest.param(0, True, id="at"),
    pytest.param(1, False, id="above"),
]


@asynccontextmanager
async def limited(**settings: object) -> AsyncIterator[ServedBroker]:
    """A broker with these settings; `_` in a name stands for `.`."""
    named = {name.replace("_", "."): str(value) for name, value in settings.items()}
    async with served_broker(simulated_world(), named) as served:
        yield served


@pytest.mark.parametrize(("more", "fits"), AROUND)
async def test_frame_larger_than_socket_request_max_bytes_closes_the_connection(
    autojump_clock: MockClock, more: int, fits: bool
) -> None:
    head = len(frame(18, 0)) - 4  # the length does not count itself
    async with limited(socket_request_max_bytes=2000) as served, served.connect() as client:
        await client.send(frame(18, 0, bytes(2000 - head + more)))
        if fits:
            assert struct.unpack_from(">ih", await client.receive_frame()) == (0, 0)
        else:
            await client.wait_closed()
        assert served.closed("bad frame") == (not fits)


@pytest.mark.parametrize(("more", "fits"), AROUND)
async def test_admin_request_larger_than_trio_admin_request_max_bytes_closes_the_connection(
    autojump_clock: MockClock, more: int, fits: bool
) -> None:
    head = len(frame(18, 0)) - 4  # the length does not count itself
    limit = {"trio_admin_request_max_bytes": 2000}
    async with limited(**limit) as served, served.connect() as client:
        await client.send(frame(3, 0, bytes(2000)))  # Metadata declares a size of its own
        assert await client.receive_frame()
        await client.send(frame(18, 0, bytes(2000 - head + more)))
        if fits:
            assert struct.unpack_from(">ih", await client.receive_frame()) == (0, 0)
        else:
            await client.wait_closed()
        assert served.closed("bad frame") == (not fits)


@pytest.mark.parametrize("scope", ["broker", "topic"])
@pytest.mark.parametrize(("more", "fits"), AROUND)
async def test_batch_larger_than_message_max_bytes_is_refused(
    autojump_clock: MockClock, scope: str, more: int, fits: bool
) -> None:
    size = len(batch(bytes(1000)))
    settings = {"message_max_bytes": size if scope == "broker" else 1}
    configs = {"max.message.bytes": str(size)} if scope == "topic" else None
    async with limited(**settings) as served:
        await served.create_topic("t", configs=configs)
        answer = await produce(served, "t", batch(bytes(1000 + more)))

    assert answer.error_code == (0 if fits else ErrorCode.MESSAGE_TOO_LARGE)


@pytest.mark.parametrize("scope", ["broker", "request"])
@pytest.mark.parametrize("more", [-1, 0, 1])
async def test_fetch_response_has_at_most_fetch_max_bytes_of_all_partitions(
    autojump_clock: MockClock, scope: str, more: int
) -> None:
    """Of all partitions together. A batch of which only the beginning fits is left out, as Kafka
    leaves it out where another one is there already.
    """
    size = len(batch(bytes(1000)))
    limit = 2 * size + more
    async with limited(fetch_max_bytes=limit if scope == "broker" else 1 << 20) as served:
        for name in ("a", "b", "c"):
            await served.create_topic(name)
            await write(served, name, bytes(1000))
        request = fetch_request("a", 0, max_bytes=limit if scope == "request" else 1 << 20)
        request.topics += fetch_request("b", 0).topics + fetch_request("c", 0).topics
        answer = await served.ask(request, 12)

    sizes = [len(part.records or b"") for part in partitions_of(answer)]
    assert sizes == [size, size if more >= 0 else 0, 0]


@pytest.mark.parametrize("scope", ["broker", "request", "partition"])
async def test_first_batch_of_a_fetch_is_returned_whole_despite_size_limits(
    autojump_clock: MockClock, scope: str
) -> None:
    """KIP-74: or a consumer would never come past it."""
    async with limited(fetch_max_bytes=1024 if scope == "broker" else 1 << 20) as served:
        await served.create_topic("t")
        await write(served, "t", bytes(5000))
        most = {"request": {"max_bytes": 1}, "partition": {"partition_max_bytes": 1}}
        part = await fetch(served, "t", **most.get(scope, {}))

    assert len(part.records or b"") == len(batch(bytes(5000)))


@pytest.mark.parametrize(("more", "fits"), AROUND)
async def test_fetch_session_without_a_free_cache_slot_gets_no_id(
    autojump_clock: MockClock, more: int, fits: bool
) -> None:
    """A session that finds no slot is none: the fetch is answered in full, without an id."""
    async with limited(max_incremental_fetch_session_cache_slots=3) as served:
        await served.create_topic("t")
        session_ids = [
            (await served.ask(fetch_request("t", 0, session_epoch=0), 12)).session_id
            for _ in range(3 + more)
        ]

    assert [session > 0 for session in session_ids] == [True] * (2 + min(more + 1, 1)) + [False] * (
        not fits
    )


async def test_idle_connection_is_closed_after_connections_max_idle_ms(
    autojump_clock: MockClock,
) -> None:
    """Idle ones are looked for now and then: not before, and soon after."""
    async with limited(connections_max_idle_ms=10_000) as served, served.connect() as client:
        await trio.sleep(0.5)  # the other one is due, and looked for, when this one nearly is
        await client.ask(ApiVersionsRequest(), 0)
        request_time = trio.current_time()
        await client.wait_closed()
        took = trio.current_time() - request_time

    assert 10 <= took < 10 * 17 / 16 + 0.1


@pytest.mark.parametrize(
    ("setting", "way"),
    [("message.timestamp.before.max.ms", -1), ("message.timestamp.after.max.ms", 1)],
)
@pytest.mark.parametrize(("more", "fits"), AROUND)
async def test_timestamp_too_far_from_the_brokers_time_is_refused(
    autojump_clock: MockClock, setting: str, way: int, more: int, fits: bool
) -> None:
    world = simulated_world()
    world.universe.latency = 0.0  # the broker's now is the client's
    async with served_broker(world) as served:
        await served.create_topic("t", configs={setting: "100000"})
        await trio.sleep(0.001 - world.clock.wall() % 0.001 + 1e-5)  # a millisecond has just begun
        now_ms = int(world.clock.wall() * 1000)
        records = batch(b"v", timestamp=now_ms + way * (100_000 + more))
        answer = await produce(served, "t", records)
        assert int(world.clock.wall() * 1000) == now_ms

    assert answer.error_code == (0 if fits else ErrorCode.INVALID_TIMESTAMP)


@pytest.mark.parametrize(("more", "fits"), AROUND)
@pytest.mark.parametrize(
    ("limit", "refused"),
    [
        ("partitions", ErrorCode.POLICY_VIOLATION),
        ("name", ErrorCode.INVALID_TOPIC_EXCEPTION),
        ("replication", ErrorCode.INVALID_REPLICATION_FACTOR),
    ],
)
async def test_topic_beyond_the_limits_of_partitions_name_or_replication_is_refused(
    autojump_clock: MockClock, limit: str, refused: ErrorCode, more: int, fits: bool
) -> None:
    topic = CreatableTopic("t", 1, 1)
    if limit == "partitions":
        topic.num_partitions = 10_000 + more
    elif limit == "name":
        topic.name = "x" * (249 + more)
    else:
        topic.replication_factor = 1 if more < 0 else 1 + more
    async with limited() as served:
        answer = await served.ask(CreateTopicsRequest([topic], validate_only=True))

    assert codes(answer.topics) == [0 if fits else refused]


@pytest.mark.parametrize(("more", "fits"), AROUND)
@pytest.mark.parametrize("reason", ["compression.type", "cleanup.policy"])
async def test_record_larger_than_max_decompressed_message_bytes_is_refused(
    autojump_clock: MockClock, reason: str, more: int, fits: bool
) -> None:
    """Limit of each record of a batch that is decompressed for another codec or for its keys."""
    size = len(batch(bytes(1000))) - HEADER_SIZE - 2  # without its length
    value = {"compression.type": "lz4", "cleanup.policy": "compact"}[reason]
    configs = {reason: value, "max.decompressed.message.bytes": str(size)}
    async with limited() as served:
        await served.create_topic("t", configs=configs)
        record = Record(timestamp=NOW_MS, key=b"", value=bytes(1000 + more))
        data = memoryview(bytearray(encode_batch([record], codec=Codec.GZIP)))
        answer = await produce(served, "t", data)

    assert answer.error_code == (0 if fits else ErrorCode.INVALID_RECORD)


@pytest.mark.parametrize("more", [-1, 0, 1])
async def test_requests_beyond_handlers_and_queued_max_requests_wait_in_the_processor(
    autojump_clock: MockClock, more: int
) -> None:
    """Two are worked on and three wait in the channel; one more waits where it was received."""
    gate = trio.Event()
    apis, wait = installed_apis().copy(), api_of(waiting(gate.wait))
    assert wait is not None
    apis.add(wait)
    world = simulated_world()
    settings = {"num.io.threads": "2", "queued.max.requests": "3", "num.network.threads": "1"}
    async with served_broker(world, settings, apis=apis) as served:
        nodes = [node for _, node in served.broker.node.walk() if node.kind == "channel"]
        (channel,) = [node for node in nodes if node.figures()["bound"] == 3]
        clients = [await connect(world.network, served.broker.endpoint) for _ in range(5 + more)]
        for client in clients:
            await client.send(request_frame(WaitRequest(1), 0))
        await trio.sleep(1)

        (processor,) = served.broker.plane.processors
        assert processor.figures()["waiting_for_room"] == max(more, 0)
        assert channel.figures()["depth"] == 3 + min(more, 0)
        gate.set()
        for client in clients:
            await client.receive_answer(WaitResponse, 0)
            client.close()


@pytest.mark.parametrize(("more", "waits"), [(-1, True), (0, True), (1, False)])
async def test_request_waits_while_queued_max_request_bytes_are_in_use(
    autojump_clock: MockClock, more: int, waits: bool
) -> None:
    """As long as a byte is left a request takes all that it needs: so Kafka's pool works."""
    large, small = frame(18, 0, bytes(900)), frame(18, 0)
    size = len(large) - 4  # the length stands for itself
    limit = {"queued_max_request_bytes": 2 * size + more, "socket_request_max_bytes": 1000}
    async with limited(**limit) as served, served.connect() as first, served.connect() as second:
        for holder in (first, second):
            await holder.send(large[:-1])
        await trio.sleep(1)
        await served.client.send(small)
        with trio.move_on_after(10) as scope:
            await served.client.receive_frame()

        assert scope.cancelled_caught == waits
        for holder in (first, second):
            await holder.send(large[-1:])
            await holder.receive_frame()
        if waits:
            await served.client.receive_frame()


@pytest.mark.parametrize(("more", "more_pages"), [(-1, True), (0, False), (1, False)])
async def test_describe_topic_partitions_pages_at_max_request_partition_size_limit(
    autojump_clock: MockClock, more: int, more_pages: bool
) -> None:
    async with limited(max_request_partition_size_limit=3 + more) as served:
        await served.create_topic("t", 3)
        request = DescribeTopicPartitionsRequest([TopicRequest("t")], 2000)
        answer = await served.ask(request, 0)

    assert len(answer.topics[0].partitions) == min(3 + more, 3)
    assert (answer.next_cursor is not None) == more_pages
