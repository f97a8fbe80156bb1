"""The plugin in a whole broker, in a simulated world and virtual time."""

import json
from collections.abc import Sequence
from typing import Any

import pytest
import trio
import trio.testing
from registry_app import RegistryApp
from schema_guard.plugin import MOST_QUESTIONS, guarding
from trio.testing import MockClock

from trio_kafka.protocol.messages.k00_produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    TopicProduceData,
)
from trio_kafka.protocol.messages.k02_list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from trio_kafka.protocol.messages.k22_init_producer_id import InitProducerIdRequest
from trio_kafka.records.batch import NO_PRODUCER, ProducerFields, Record, encode_batch
from trio_kafka.records.compression import Codec
from trio_kafka.testing.harness import PluginHarness
from trio_kafka.testing.simulation import simulated_world
from trio_kafka.world.simulated import SimulatedWorld

NONE, CORRUPT_MESSAGE, REQUEST_TIMED_OUT, INVALID_RECORD = 0, 2, 7, 87
NUMBER = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
GOOD, BAD = b'{"n": 1}', b'{"n": "x"}'
FRAMED = b"\x00\x00\x00\x00\x07"
REGISTRY = {"topics": "orders*", "registry": "http://registry.test/"}


def batch(
    *values: bytes | None, producer: ProducerFields = NO_PRODUCER, codec: Codec = Codec.NONE
) -> bytes:
    records = [Record(timestamp=1, value=value) for value in values]
    return encode_batch(records, producer=producer, codec=codec)


def produce(topic: str, *batches: bytes, acks: int = 1) -> ProduceRequest:
    data = [
        PartitionProduceData(at, memoryview(batch_bytes)) for at, batch_bytes in enumerate(batches)
    ]
    topics = [TopicProduceData(topic, partition_data=data)]
    return ProduceRequest(acks=acks, timeout_ms=1000, topic_data=topics)


async def rows(
    harness: PluginHarness, request: ProduceRequest, version: int = 12
) -> Sequence[PartitionProduceResponse]:
    [topic] = (await harness.ask(request, version)).responses
    return topic.partition_responses


async def end_of(harness: PluginHarness, topic: str, partition: int = 0) -> int:
    topic_request = ListOffsetsTopic(topic, [ListOffsetsPartition(partition, timestamp=-1)])
    answer = await harness.ask(ListOffsetsRequest(topics=[topic_request]))
    return answer.topics[0].partitions[0].offset


async def world_with(**files: str) -> SimulatedWorld:
    """A machine with a directory `/schemas`."""
    world = simulated_world()
    directory = world.directory("/schemas", create=True)
    for name, text in files.items():
        (await directory.create_slow(name.replace("__", "."), text.encode())).close()
    return world


async def guarded(
    *, app: RegistryApp | None = None, world: SimulatedWorld | None = None, **settings: str
) -> PluginHarness:
    named = {name.replace("_", "."): text for name, text in settings.items()}
    if world is None:
        world = await world_with(orders__json=json.dumps(NUMBER), readme__txt="no schema")
        named.setdefault("directory", "/schemas") if app is None else None
    plugin = guarding(None if app is None else app.transport)
    return PluginHarness(plugin, settings=named, broker=True, world=world)


def with_schema() -> RegistryApp:
    return RegistryApp(schemas={7: {"schema": json.dumps(NUMBER), "schemaType": "JSON"}})


@pytest.mark.parametrize("codec", list(Codec))
async def test_refused_batch_lists_each_record_that_does_not_match_the_schema(
    autojump_clock: MockClock, codec: Codec
) -> None:
    async with await guarded() as harness:
        await harness.served.create_topic("orders")
        [row] = await rows(harness, produce("orders", batch(GOOD, BAD, None, b"x", codec=codec)))
        [good] = await rows(harness, produce("orders", batch(GOOD, None, codec=codec)))

        assert row.error_code == INVALID_RECORD
        assert [error.batch_index for error in row.record_errors] == [1, 3]
        assert "/n" in row.record_errors[0].batch_index_error_message
        assert row.error_message.startswith("2 of 4 records do not fit; the first is 1: /n")
        assert (row.base_offset, good.error_code, good.base_offset) == (-1, NONE, 0)
        assert await end_of(harness, "orders") == 2
        counted = harness.counters
        assert counted.value("guarded_batches", plugin="schema_guard") == 2
        assert counted.value("refused_batches", plugin="schema_guard") == 1


@pytest.mark.parametrize("version", range(3, 14))
async def test_invalid_record_is_refused_in_each_produce_version(
    autojump_clock: MockClock, version: int
) -> None:
    async with await guarded() as harness:
        topic_id = await harness.served.create_topic("orders")
        request = produce("orders", batch(BAD))
        request.topic_data[0].topic_id = topic_id
        [row] = await rows(harness, request, version)

        assert row.error_code == INVALID_RECORD
        assert len(row.record_errors) == (version >= 8)
        assert await end_of(harness, "orders") == 0


async def test_invalid_batch_is_refused_for_its_own_partition_only(
    autojump_clock: MockClock,
) -> None:
    async with await guarded() as harness:
        await harness.served.create_topic("orders", 3)
        await harness.served.create_topic("other")
        request = produce("orders", batch(GOOD), batch(BAD), batch(GOOD, GOOD))
        request.topic_data.append(produce("other", batch(BAD)).topic_data[0])
        request.topic_data.append(produce("nowhere", batch(BAD)).topic_data[0])
        answer = await harness.ask(request, 12)

        outcomes = [
            (topic.name, row.index, row.error_code)
            for topic in answer.responses
            for row in topic.partition_responses
        ]
        assert outcomes == [
            ("orders", 0, NONE),
            ("orders", 1, INVALID_RECORD),
            ("orders", 2, NONE),
            ("other", 0, NONE),
            ("nowhere", 0, 3),
        ]
        assert [await end_of(harness, "orders", at) for at in range(3)] == [1, 0, 2]


async def test_invalid_batch_with_acks_0_closes_the_connection_and_valid_batches_are_appended(
    autojump_clock: MockClock,
) -> None:
    async with await guarded() as harness:
        await harness.served.create_topic("orders", 2)
        client = await harness.connect("quiet")
        with pytest.raises((EOFError, trio.TooSlowError)), trio.fail_after(5):
            await client.ask(produce("orders", batch(GOOD), batch(BAD), acks=0), 12)

        assert [await end_of(harness, "orders", at) for at in range(2)] == [1, 0]


async def test_refused_batch_of_an_idempotent_producer_uses_no_sequence_number(
    autojump_clock: MockClock,
) -> None:
    async with await guarded() as harness:
        await harness.served.create_topic("orders")
        producer = await harness.ask(InitProducerIdRequest(None, 1000))

        async def send(value: bytes, sequence: int) -> tuple[int, int]:
            fields = ProducerFields(producer.producer_id, producer.producer_epoch, sequence)
            records = batch(value, producer=fields)
            [row] = await rows(harness, produce("orders", records))
            return row.error_code, row.base_offset

        assert await send(GOOD, 0) == (NONE, 0)
        assert await send(BAD, 1) == (INVALID_RECORD, -1)
        assert await send(GOOD, 1) == (NONE, 1)  # the refused one has taken no sequence
        assert await send(GOOD, 1) == (NONE, 1)  # and what is sent twice is there once
        assert await end_of(harness, "orders") == 2


async def test_corrupt_or_too_large_batch_is_not_appended(autojump_clock: MockClock) -> None:
    async with await guarded(largest_batch="1000", largest_value="100") as harness:
        await harness.served.create_topic("orders", 1, {"compression.type": "producer"})
        broken = bytearray(batch(BAD))
        broken[-3] ^= 1
        lying = bytearray(batch(GOOD, GOOD))
        lying[60] = 1  # the count
        lying[17:21] = _crc(lying)
        unpacked = bytearray(batch(GOOD, codec=Codec.GZIP))
        unpacked[-5] ^= 0xFF
        unpacked[17:21] = _crc(unpacked)
        cases = [
            (bytes(broken), CORRUPT_MESSAGE),
            (bytes(lying), INVALID_RECORD),
            (bytes(unpacked), INVALID_RECORD),
            (batch(GOOD) + batch(GOOD), INVALID_RECORD),
            (batch(GOOD) + b"x", INVALID_RECORD),
            (batch(b'{"n": 1}' + b" " * 100), INVALID_RECORD),
            (batch(*[GOOD] * 100, codec=Codec.ZSTD), INVALID_RECORD),
        ]
        for data, code in cases:
            [row] = await rows(harness, produce("orders", data))
            assert row.error_code == code, row
        assert await end_of(harness, "orders") == 0


def _crc(data: bytearray) -> bytes:
    from crc32c import crc32c

    return crc32c(bytes(data[21:])).to_bytes(4, "big")


async def test_schema_is_fetched_from_the_registry_only_once(autojump_clock: MockClock) -> None:
    app = with_schema()
    app.delay_s = 0.5
    async with await guarded(app=app, **REGISTRY) as harness:
        await harness.served.create_topic("orders-1")
        codes: list[int] = []

        async def send(value: bytes) -> None:
            client = await harness.connect(value.decode(errors="replace"))
            answer = await client.ask(produce("orders-1", batch(value, value)), 12)
            codes.append(answer.responses[0].partition_responses[0].error_code)
            client.close()

        began = trio.current_time()
        async with trio.open_nursery() as nursery:
            for value in (GOOD, GOOD, BAD):
                nursery.start_soon(send, FRAMED + value)
        assert sorted(codes) == [NONE, NONE, INVALID_RECORD]
        assert trio.current_time() - began < 1  # nobody has waited for a deadline
        assert app.requested == ["/schemas/ids/7"]

        [row] = await rows(harness, produce("orders-1", batch(GOOD, b"\x00abc", b"\x01abcd{}")))
        assert [error.batch_index for error in row.record_errors] == [0, 1, 2]
        assert "no schema id" in row.error_message


async def test_unknown_schema_id_is_fetched_again_only_after_the_retry_time(
    autojump_clock: MockClock,
) -> None:
    app = RegistryApp()
    async with await guarded(app=app, registry_retry_ms="1000", **REGISTRY) as harness:
        await harness.served.create_topic("orders")
        for _ in range(3):
            [row] = await rows(harness, produce("orders", batch(FRAMED + GOOD)))
            assert "knows no schema 7" in row.error_message
        assert len(app.requested) == 1

        app.schemas = with_schema().schemas
        await trio.sleep(1.1)
        [row] = await rows(harness, produce("orders", batch(FRAMED + GOOD)))
        assert row.error_code == NONE


async def test_batch_with_many_schema_ids_makes_a_limited_number_of_registry_requests(
    autojump_clock: MockClock,
) -> None:
    app = RegistryApp()
    async with await guarded(app=app, **REGISTRY) as harness:
        await harness.served.create_topic("orders")
        values = [b"\x00" + number.to_bytes(4, "big") for number in range(100)]
        [row] = await rows(harness, produce("orders", batch(*values)))

        assert len(row.record_errors) == 100
        assert len(app.requested) == MOST_QUESTIONS


@pytest.mark.parametrize(
    "broken",
    [(500, b""), (200, b"<html>"), (200, b"{}"), (200, b"x" * 300_000), (302, b""), None],
)
@pytest.mark.parametrize("down", ["allow", "refuse"])
async def test_batches_are_allowed_or_refused_as_configured_while_the_registry_is_down(
    autojump_clock: MockClock, broken: tuple[int, bytes] | None, down: str
) -> None:
    app = with_schema()
    app.broken, app.delay_s = broken, 0 if broken else 3600
    async with await guarded(app=app, registry_down=down, **REGISTRY) as harness:
        await harness.served.create_topic("orders")
        began = trio.current_time()
        for _ in range(3):
            [row] = await rows(
                harness,
                produce("orders", batch(FRAMED + BAD)),
            )
            assert row.error_code == (NONE if down == "allow" else REQUEST_TIMED_OUT)
        assert trio.current_time() - began < 2.5  # only the first has waited
        assert len(app.requested) == 1
        assert await end_of(harness, "orders") == (3 if down == "allow" else 0)

        app.broken, app.delay_s = None, 0
        await trio.sleep(6)
        [row] = await rows(harness, produce("orders", batch(FRAMED + BAD)))
        assert row.error_code == INVALID_RECORD


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ({"schema": "syntax", "schemaType": "PROTOBUF"}, "PROTOBUF"),
        ({"schema": "{}", "schemaType": "JSON", "references": [{"name": "x"}]}, "references"),
        ({"schema": '{"type": 3}', "schemaType": "JSON"}, "no usable JSON schema"),
        ({"schema": '"string"'}, "no such Avro"),
    ],
)
async def test_records_with_an_unusable_registry_schema_are_refused(
    autojump_clock: MockClock, answer: dict[str, Any], why: str
) -> None:
    async with await guarded(app=RegistryApp(schemas={7: answer}), **REGISTRY) as harness:
        await harness.served.create_topic("orders")
        [row] = await rows(harness, produce("orders", batch(FRAMED + GOOD)))
        assert (row.error_code, why in row.error_message) == (INVALID_RECORD, True)


async def test_schema_of_the_directory_takes_precedence_over_the_registry(
    autojump_clock: MockClock,
) -> None:
    world = await world_with(orders__json=json.dumps(NUMBER))
    app = RegistryApp()
    both = {**REGISTRY, "directory": "/schemas"}
    async with await guarded(app=app, world=world, **both) as harness:
        await harness.served.create_topic("orders")
        [row] = await rows(harness, produce("orders", batch(FRAMED + GOOD, GOOD, FRAMED + BAD)))
        assert [error.batch_index for error in row.record_errors] == [1, 2]
        assert app.requested == []


@pytest.mark.parametrize(
    ("files", "settings", "why"),
    [
        ({"a__json": "{"}, {"directory": "/schemas"}, "a.json"),
        ({"a__json": "{}", "a__avsc": '"int"'}, {"directory": "/schemas"}, "two schemas"),
        ({}, {"directory": "/nowhere"}, "nowhere"),
        ({}, {"topics": "x"}, "wants a registry"),
    ],
)
async def test_schema_guard_does_not_start_with_invalid_schemas_or_settings(
    autojump_clock: MockClock, files: dict[str, str], settings: dict[str, str], why: str
) -> None:
    world = await world_with(**files)
    with pytest.raises(Exception, match=why):
        async with PluginHarness(guarding(), settings=settings, world=world):
            pass


async def test_produce_is_refused_while_the_schema_guard_has_failed(
    autojump_clock: MockClock,
) -> None:
    async with await guarded() as harness:
        await harness.served.create_topic("orders")
        harness.host.blocking("schema_guard", 9)
        await trio.testing.wait_all_tasks_blocked()
        [row] = await rows(harness, produce("orders", batch(BAD)))

        assert row.error_code == -1
        assert await end_of(harness, "orders") == 0
