"""Produce: what is appended, what is refused and how, and what nobody is told."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from types import SimpleNamespace

import pytest
import trio
from crc32c import crc32c
from trio.testing import MockClock

from tests.apis.kit import (
    IDS_SINCE,
    NOW_MS,
    batch,
    broker,
    codes,
    delete_topic,
    fetch,
    lead_elsewhere,
    parts_of,
    produce,
    produce_request,
    records_of,
    stable,
    values_of,
    write,
)
from trio_kafka.errors import ErrorCode
from trio_kafka.model import NodeId
from trio_kafka.network.reasons import CloseReason
from trio_kafka.pending import Work
from trio_kafka.plugin import Context
from trio_kafka.protocol.messages.k00_produce import PartitionProduceResponse, ProduceRequest
from trio_kafka.protocol.messages.k01_fetch import FetchPartition
from trio_kafka.protocol.messages.k02_list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from trio_kafka.protocol.messages.k18_api_versions import ApiVersionsRequest
from trio_kafka.records.batch import HEADER_SIZE, iterate_headers
from trio_kafka.records.compression import Codec
from trio_kafka.records.record_checks import MOST_LISTED
from trio_kafka.replication.leader.delete_records import delete_records
from trio_kafka.replication.partition import Partition
from trio_kafka.requests.rows import MANY
from trio_kafka.testing.broker import ServedBroker, served_broker
from trio_kafka.testing.planes import until
from trio_kafka.testing.scripted_client import ScriptedClient, request_frame
from trio_kafka.testing.simulation import fault_on, simulated_world
from trio_kafka.world.simulated import SimulatedWorld
from trio_kafka_apis.k00_produce import produce as make

HOUR_MS = 3_600_000
UNKNOWN_ID = b"?" * 16


async def end_offset(served: ServedBroker, topic: str = "t", partition: int = 0) -> int:
    list_offsets_topic = ListOffsetsTopic(topic, [ListOffsetsPartition(partition, timestamp=-1)])
    answer = await served.ask(ListOffsetsRequest(-1, topics=[list_offsets_topic]))
    return int(answer.topics[0].partitions[0].offset)


@pytest.mark.parametrize("version", stable(ProduceRequest))
@pytest.mark.parametrize("acks", [1, -1])
async def test_successive_batches_get_successive_offsets_in_every_version(
    autojump_clock: MockClock, version: int, acks: int
) -> None:
    async with broker() as served:
        topic_id = await served.create_topic("t")
        topic = topic_id if version >= IDS_SINCE else "t"

        first = await produce(served, topic, batch(b"a", b"b"), acks=acks, version=version)
        second = await produce(served, topic, batch(b"c"), acks=acks, version=version)

        assert (first.error_code, first.base_offset, first.index) == (0, 0, 0)
        assert (second.error_code, second.base_offset) == (0, 2)
        assert first.log_append_time_ms == -1
        assert first.log_start_offset == (0 if version >= 5 else -1)
        assert first.error_message is None
        assert values_of(await fetch(served, "t")) == [b"a", b"b", b"c"]


@pytest.mark.parametrize("version", [IDS_SINCE - 1, IDS_SINCE])
async def test_a_response_names_topics_by_name_or_id_as_its_request_did(
    autojump_clock: MockClock, version: int
) -> None:
    async with broker() as served:
        topic_id = await served.create_topic("t")
        topic = topic_id if version >= IDS_SINCE else "t"
        answer = await served.ask(produce_request(topic, (0, batch(b"a"))), version)

    (row,) = answer.responses
    named = ("", topic_id) if version >= IDS_SINCE else ("t", bytes(16))
    assert (row.name, row.topic_id) == named


async def test_a_response_contains_the_log_start_offset(autojump_clock: MockClock) -> None:
    async with broker() as served:
        await served.create_topic("t")
        await write(served, "t", b"a", b"b")
        (partition,) = served.broker.replicas.partitions
        assert delete_records(partition, 1) == 1
        part = await produce(served, "t", batch(b"c"))

    assert (part.base_offset, part.log_start_offset) == (2, 1)


async def test_a_produce_with_acks_0_gets_no_response_and_the_next_request_is_answered(
    autojump_clock: MockClock,
) -> None:
    async with broker() as served:
        await served.create_topic("t")
        for value in (b"a", b"b"):
            request = produce_request("t", (0, batch(value)), acks=0)
            await served.client.send(request_frame(request, 9))

        assert values_of(await fetch(served, "t")) == [b"a", b"b"]


@pytest.mark.parametrize("topic", ["t", "unknown"])
async def test_an_error_with_acks_0_closes_the_connection(
    autojump_clock: MockClock, topic: str
) -> None:
    records = batch(b"a", timestamp=NOW_MS + 2 * HOUR_MS if topic == "t" else NOW_MS)
    async with broker() as served:
        await served.create_topic("t")
        async with served.connect() as client:
            request = produce_request(topic, (0, records), acks=0)
            await client.send(request_frame(request, 9))

            assert await client.wait_closed()
        await until(lambda: served.closed(CloseReason.FORBIDDEN) == 1)
        assert await end_offset(served) == 0


@pytest.mark.parametrize("acks", [2, -2, 1000])
async def test_invalid_acks_are_refused_for_each_partition(
    autojump_clock: MockClock, acks: int
) -> None:
    async with broker() as served:
        await served.create_topic("t", 2)
        request = produce_request("t", (0, batch(b"a")), (1, batch(b"b")), acks=acks)
        parts = parts_of(await served.ask(request, 12))

        assert codes(parts) == [ErrorCode.INVALID_REQUIRED_ACKS] * 2
        assert [(part.index, part.base_offset, part.log_start_offset) for part in parts] == [
            (0, -1, -1),
            (1, -1, -1),
        ]
        assert parts[0].error_message == f"acks {acks}, want 0, 1 or -1"
        assert await end_offset(served) == 0


async def test_each_partition_succeeds_or_fails_independently(autojump_clock: MockClock) -> None:
    async with broker() as served:
        await served.create_topic("t", 2)
        request = produce_request("t", (1, batch(b"a")), (7, batch(b"b")), (0, None))
        parts = parts_of(await served.ask(request, 12))

    assert [(part.index, part.error_code) for part in parts] == [
        (1, ErrorCode.NONE),
        (7, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (0, ErrorCode.INVALID_RECORD),
    ]
    assert [part.base_offset for part in parts] == [0, -1, -1]


@pytest.mark.parametrize("acks", [1, -1])
async def test_a_request_with_many_partitions_is_served_in_steps(
    autojump_clock: MockClock, acks: int
) -> None:
    async with broker() as served:
        count = 2 * MANY
        await served.create_topic("t", partitions=count)
        batches = [(number, batch(b"%d" % number)) for number in range(count + 1)]
        answer = await served.ask(produce_request("t", *batches, acks=acks), IDS_SINCE - 1)

        parts = parts_of(answer)
        assert [part.index for part in parts] == list(range(count + 1))
        assert {part.error_code for part in parts[:-1]} == {ErrorCode.NONE}
        assert parts[-1].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        last = FetchPartition(count - 1, fetch_offset=0, partition_max_bytes=1000)
        assert values_of(await fetch(served, "t", last)) == [b"%d" % (count - 1)]

        code = SimpleNamespace(code=IDS_SINCE - 1)
        again = [(number, batch(b"x")) for number in range(count)]
        work = make(produce_request("t", *again), Context(code, served.broker.parts, IDS_SINCE - 1))  # type: ignore[arg-type]
        assert isinstance(work, Work)
        assert sum(1 for _ in work.steps) >= count / 10


@pytest.mark.parametrize("version", stable(ProduceRequest))
async def test_an_unknown_topic_or_id_gets_the_error_of_the_request_version(
    autojump_clock: MockClock, version: int
) -> None:
    async with broker() as served:
        topic = UNKNOWN_ID if version >= IDS_SINCE else "unknown"
        part = await produce(served, topic, batch(b"a"), version=version)

    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert part.error_code == (ErrorCode.UNKNOWN_TOPIC_ID if version >= IDS_SINCE else unknown)
    assert (part.base_offset, part.log_append_time_ms) == (-1, -1)


async def test_produce_to_an_unknown_topic_does_not_create_the_topic(
    autojump_clock: MockClock,
) -> None:
    async with broker() as served:
        await produce(served, "t", batch(b"a"))
        await trio.sleep(1)

        assert served.broker.metadata.image.topics == {}


async def test_the_id_of_a_deleted_topic_is_unknown_after_its_name_is_created_again(
    autojump_clock: MockClock,
) -> None:
    async with broker() as served:
        old = await served.create_topic("t")
        await delete_topic(served, "t")
        await served.create_topic("t")

        part = await produce(served, old, batch(b"a"))
        assert part.error_code == ErrorCode.UNKNOWN_TOPIC_ID


def broken(position: int, value: int) -> memoryview:
    """A batch with one byte of it changed, which its CRC does not know of."""
    records = batch(b"value")
    records[position] = value
    return records


@pytest.mark.parametrize(
    ("records", "code", "message"),
    [
        (None, ErrorCode.INVALID_RECORD, "no whole batch"),
        (memoryview(b""), ErrorCode.INVALID_RECORD, "no whole batch"),
        (batch(b"value")[:-1], ErrorCode.INVALID_RECORD, "no whole batch"),
        (memoryview(bytes(batch(b"a")) * 2), ErrorCode.INVALID_RECORD, "more than one batch"),
        (broken(HEADER_SIZE + 6, 255), ErrorCode.CORRUPT_MESSAGE, "crc"),
        (broken(16, 3), ErrorCode.CORRUPT_MESSAGE, "magic 3"),
        (broken(16, 1), ErrorCode.INVALID_RECORD, "magic 1, want 2"),
        (broken(16, 0), ErrorCode.INVALID_RECORD, "magic 0, want 2"),
        (broken(8, 255), ErrorCode.CORRUPT_MESSAGE, "batch of -"),
        (batch(b"a", last_offset=1), ErrorCode.INVALID_RECORD, "1 records with a last offset"),
        (batch(last_offset=0), ErrorCode.INVALID_RECORD, "0 records"),
        (batch(b"a", base_offset=5), ErrorCode.INVALID_RECORD, "base offset 5"),
        (
            batch(b"a", control=True, producer_id=1, producer_epoch=0),
            ErrorCode.INVALID_RECORD,
            "control",
        ),
        (batch(bytes(1_048_588)), ErrorCode.MESSAGE_TOO_LARGE, "want at most 1048588"),
        (batch(b"a", producer_id=1, producer_epoch=0), ErrorCode.INVALID_RECORD, "sequence -1"),
        (
            batch(b"a", producer_id=1, producer_epoch=0, base_sequence=0, transactional=True),
            ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
            "without a transactional id",
        ),
    ],
)
async def test_invalid_record_batches_are_refused_with_a_reason(
    autojump_clock: MockClock, records: memoryview | None, code: ErrorCode, message: str
) -> None:
    async with broker() as served:
        await served.create_topic("t")
        part = await produce(served, "t", records)

        assert part.error_code == code
        assert message in part.error_message
        assert (part.base_offset, part.log_append_time_ms) == (-1, -1)
        assert part.record_errors == []
        assert await end_offset(served) == 0
        assert await write(served, "t", b"next") == 0


async def test_errors_raised_by_the_log_contain_the_log_start_offset(
    autojump_clock: MockClock,
) -> None:
    async with broker() as served:
        await served.create_topic("t", configs={"max.message.bytes": "500"})
        refused = [
            batch(b"a", base_offset=5),
            batch(b"a", timestamp=NOW_MS + 2 * HOUR_MS),
            batch(b"a", producer_id=1, producer_epoch=-2, base_sequence=0),
            None,
            batch(bytes(500)),
            broken(HEADER_SIZE + 6, 255),
        ]
        parts = [await produce(served, "t", records) for records in refused]

    assert [part.log_start_offset for part in parts] == [0, 0, 0, -1, -1, -1]


@pytest.mark.parametrize("version", stable(ProduceRequest))
async def test_invalid_records_are_listed_with_reasons_since_version_8(
    autojump_clock: MockClock, version: int
) -> None:
    async with broker() as served:
        topic_id = await served.create_topic("t", configs={"cleanup.policy": "compact"})
        topic = topic_id if version >= IDS_SINCE else "t"
        part = await produce(served, topic, batch(b"a", b"b"), version=version)

    assert part.error_code == ErrorCode.INVALID_RECORD
    listed = [(error.batch_index, error.batch_index_error_message) for error in part.record_errors]
    reason = "it has no key, and the topic is compacted"
    assert listed == ([(0, reason), (1, reason)] if version >= 8 else [])


@pytest.mark.parametrize("count", [1, 2000])  # at once, and in the queue
async def test_records_with_an_invalid_timestamp_are_listed(
    autojump_clock: MockClock, count: int
) -> None:
    late = batch(*[b"a"] * count, timestamp=NOW_MS + 2 * HOUR_MS)
    async with broker() as served:
        await served.create_topic("t")
        part = await produce(served, "t", late)

    assert part.error_code == ErrorCode.INVALID_TIMESTAMP
    assert [error.batch_index for error in part.record_errors] == list(
        range(min(count, MOST_LISTED))
    )
    assert f"timestamp {NOW_MS + 2 * HOUR_MS}, want" in part.error_message


async def test_error_messages_are_returned_since_version_8(autojump_clock: MockClock) -> None:
    async with broker() as served:
        await served.create_topic("t")

        assert (await produce(served, "t", None, version=7)).error_message is None
        assert (await produce(served, "t", None, version=8)).error_message


@pytest.mark.parametrize("codec", list(Codec))
async def test_compressed_batches_keep_their_codec(autojump_clock: MockClock, codec: Codec) -> None:
    values = [b"%d" % n * 50 for n in range(20)]
    async with broker() as served:
        await served.create_topic("t")
        part = await produce(served, "t", batch(*values, codec=codec))
        result = await fetch(served, "t")

    ((_, header),) = iterate_headers(memoryview(bytes(result.records)))
    assert part.error_code == 0
    assert header.codec is codec
    assert values_of(result) == values


@pytest.mark.parametrize("version", stable(ProduceRequest))
async def test_zstd_is_accepted_since_version_7(autojump_clock: MockClock, version: int) -> None:
    async with broker() as served:
        topic_id = await served.create_topic("t")
        topic = topic_id if version >= IDS_SINCE else "t"
        part = await produce(served, topic, batch(b"a", codec=Codec.ZSTD), version=version)

    unsupported = ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
    assert part.error_code == (ErrorCode.NONE if version >= 7 else unsupported)


@pytest.mark.parametrize(
    "compression", ["uncompressed", "gzip", "snappy", "lz4", "zstd", "producer"]
)
async def test_batches_are_recompressed_to_the_compression_type_of_their_topic(
    autojump_clock: MockClock, compression: str
) -> None:
    kept = {"uncompressed": Codec.NONE, "producer": Codec.GZIP}
    async with broker() as served:
        await served.create_topic("t", configs={"compression.type": compression})
        await produce(served, "t", batch(b"a" * 500, b"b", codec=Codec.GZIP))
        assert await write(served, "t", b"next") == 2
        result = await fetch(served, "t")

    _, header = next(iterate_headers(memoryview(bytes(result.records))))
    assert header.codec is kept.get(
        compression, Codec[compression.upper()] if compression not in kept else None
    )
    assert values_of(result) == [b"a" * 500, b"b", b"next"]


async def test_a_corrupt_compressed_batch_is_refused_where_recompression_is_needed(
    autojump_clock: MockClock,
) -> None:
    records = batch(b"a" * 500, codec=Codec.GZIP)
    records[HEADER_SIZE + 12 : HEADER_SIZE + 16] = b"\xff" * 4
    records[17:21] = crc32c(records[21:]).to_bytes(4, "big")
    async with broker() as served:
        await served.create_topic("t", configs={"compression.type": "lz4"})
        part = await produce(served, "t", records)

    assert part.error_code == ErrorCode.INVALID_RECORD


async def test_records_of_a_topic_with_log_append_time_get_the_time_of_the_broker(
    autojump_clock: MockClock,
) -> None:
    async with broker() as served:
        await served.create_topic("t", configs={"message.timestamp.type": "LogAppendTime"})
        await trio.sleep(5)
        part = await produce(served, "t", batch(b"a", timestamp=17))
        (record,) = records_of(await fetch(served, "t"))

    assert NOW_MS + 5000 <= part.log_append_time_ms < NOW_MS + 6000
    assert record.timestamp == part.log_append_time_ms


@pytest.mark.parametrize(
    ("configs", "timestamp", "code"),
    [
        ({"message.timestamp.before.max.ms": "1000"}, NOW_MS - 500, ErrorCode.NONE),
        ({"message.timestamp.before.max.ms": "1000"}, NOW_MS - 2000, ErrorCode.INVALID_TIMESTAMP),
        ({"message.timestamp.after.max.ms": "9000"}, NOW_MS + 8000, ErrorCode.NONE),
        ({"message.timestamp.after.max.ms": "9000"}, NOW_MS + 20000, ErrorCode.INVALID_TIMESTAMP),
        ({}, -1, ErrorCode.NONE),
    ],
)
async def test_topic_settings_limit_how_far_timestamps_may_be_from_now(
    autojump_clock: MockClock, configs: Mapping[str, str], timestamp: int, code: ErrorCode
) -> None:
    async with broker() as served:
        await served.create_topic("t", configs=configs)

        part = await produce(served, "t", batch(b"a", timestamp=timestamp))
        assert part.error_code == code


async def test_a_batch_above_the_max_message_bytes_of_its_topic_is_refused(
    autojump_clock: MockClock,
) -> None:
    async with broker() as served:
        await served.create_topic("t", configs={"max.message.bytes": "100"})

        assert (await produce(served, "t", batch(bytes(30)))).error_code == ErrorCode.NONE
        large = await produce(served, "t", batch(bytes(100)))
        assert large.error_code == ErrorCode.MESSAGE_TOO_LARGE


async def test_a_record_without_a_key_is_refused_by_a_compacted_topic(
    autojump_clock: MockClock,
) -> None:
    async with broker() as served:
        await served.create_topic("t", configs={"cleanup.policy": "compact"})

        assert (await produce(served, "t", batch(b"a"))).error_code == ErrorCode.INVALID_RECORD


class TestSequences:
    """Of idempotent producers: each batch once, and in order."""

    @staticmethod
    async def send(served: ServedBroker, sequence: int, *, count: int = 1, epoch: int = 0) -> tuple:
        records = batch(
            *[b"%d" % (sequence + n) for n in range(count)],
            producer_id=4000,
            producer_epoch=epoch,
            base_sequence=sequence,
        )
        part = await produce(served, "t", records, acks=-1)
        return ErrorCode(part.error_code), part.base_offset

    async def test_a_duplicate_batch_is_answered_with_its_first_offset(
        self, autojump_clock: MockClock
    ) -> None:
        async with broker() as served:
            await served.create_topic("t")
            assert await self.send(served, 0, count=3) == (ErrorCode.NONE, 0)
            assert await self.send(served, 3) == (ErrorCode.NONE, 3)

            assert await self.send(served, 0, count=3) == (ErrorCode.NONE, 0)
            assert await self.send(served, 3) == (ErrorCode.NONE, 3)
            assert await end_offset(served) == 4

    async def test_a_sequence_gap_is_refused_as_out_of_order(
        self, autojump_clock: MockClock
    ) -> None:
        async with broker() as served:
            await served.create_topic("t")
            await self.send(served, 0)

            assert await self.send(served, 2) == (ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, -1)
            assert await self.send(served, 1) == (ErrorCode.NONE, 1)

    async def test_only_the_last_five_batches_are_recognized_as_duplicates(
        self, autojump_clock: MockClock
    ) -> None:
        async with broker() as served:
            await served.create_topic("t")
            for sequence in range(6):
                await self.send(served, sequence)

            assert await self.send(served, 1) == (ErrorCode.NONE, 1)
            code, _ = await self.send(served, 0)
            assert code in (
                ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
                ErrorCode.DUPLICATE_SEQUENCE_NUMBER,
            )
            assert await end_offset(served) == 6

    async def test_an_older_producer_epoch_is_fenced(self, autojump_clock: MockClock) -> None:
        async with broker() as served:
            await served.create_topic("t")
            await self.send(served, 0, epoch=1)

            assert await self.send(served, 1, epoch=0) == (ErrorCode.INVALID_PRODUCER_EPOCH, -1)

    async def test_the_first_batch_of_a_new_producer_epoch_must_have_sequence_0(
        self, autojump_clock: MockClock
    ) -> None:
        async with broker() as served:
            await served.create_topic("t")
            await self.send(served, 0)

            out_of_order = ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
            assert await self.send(served, 1, epoch=1) == (out_of_order, -1)
            assert await self.send(served, 0, epoch=1) == (ErrorCode.NONE, 1)


class TestAcknowledgement:
    """acks=all, where another broker has a replica: it is made up, as is what it fetches."""

    @staticmethod
    @asynccontextmanager
    async def two(minimum: int = 1) -> AsyncIterator[tuple[ServedBroker, Partition]]:
        async with broker() as served:
            await served.create_topic("t", configs={"min.insync.replicas": str(minimum)})
            (partition,) = served.broker.replicas.partitions
            partition.replicas = partition.isr = (NodeId(1), NodeId(2))
            yield served, partition

    async def test_acks_all_is_answered_when_the_follower_has_fetched_the_records(
        self, autojump_clock: MockClock
    ) -> None:
        async with self.two() as (served, _), served.connect() as follower:
            began = trio.current_time()
            async with trio.open_nursery() as nursery:

                async def copy() -> None:
                    await trio.sleep(0.5)
                    await fetch(follower, "t", 0, replica_id=2)
                    await trio.sleep(0.2)
                    await fetch(follower, "t", 1, replica_id=2)

                nursery.start_soon(copy)
                part = await produce(served, "t", batch(b"a"), acks=-1)

            assert (part.error_code, part.base_offset) == (0, 0)
            assert 0.7 <= trio.current_time() - began < 0.8

    async def test_acks_all_times_out_without_a_fetching_follower_and_the_records_stay(
        self, autojump_clock: MockClock
    ) -> None:
        async with self.two() as (served, partition):
            began = trio.current_time()
            part = await produce(served, "t", batch(b"a"), acks=-1)

            assert (part.error_code, part.base_offset) == (ErrorCode.REQUEST_TIMED_OUT, -1)
            assert 1 <= trio.current_time() - began < 1.1
            assert partition.log is not None
            assert partition.log.end_offset == 1

    async def test_acks_1_is_answered_without_waiting_for_the_follower(
        self, autojump_clock: MockClock
    ) -> None:
        async with self.two() as (served, _):
            began = trio.current_time()

            assert (await produce(served, "t", batch(b"a"), acks=1)).error_code == 0
            assert trio.current_time() - began < 0.1

    async def test_acks_all_below_min_insync_replicas_is_refused_without_an_append(
        self, autojump_clock: MockClock
    ) -> None:
        async with self.two(minimum=2) as (served, partition):
            partition.isr = (NodeId(1),)
            part = await produce(served, "t", batch(b"a"), acks=-1)

            assert part.error_code == ErrorCode.NOT_ENOUGH_REPLICAS
            assert partition.log is not None
            assert partition.log.end_offset == 0
            assert (await produce(served, "t", batch(b"a"), acks=1)).error_code == 0

    async def test_an_isr_shrink_during_the_wait_is_answered_not_enough_replicas_after_append(
        self, autojump_clock: MockClock
    ) -> None:
        async with self.two(minimum=2) as (served, partition):
            async with trio.open_nursery() as nursery:

                async def lose() -> None:
                    await trio.sleep(0.5)
                    partition.isr = (NodeId(1),)
                    assert partition.log is not None
                    partition.log.high_watermark = 1  # what it has is committed before it leaves
                    partition.changed(partition)

                nursery.start_soon(lose)
                part = await produce(served, "t", batch(b"a"), acks=-1)

            assert part.error_code == ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND

    async def test_deletion_of_the_topic_ends_a_wait_for_acks_all_with_an_error(
        self, autojump_clock: MockClock
    ) -> None:
        async with self.two() as (served, _), served.connect() as writer:
            began = trio.current_time()
            async with trio.open_nursery() as nursery:

                async def write() -> None:
                    part = await produce(writer, "t", batch(b"a"), acks=-1)
                    assert part.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION

                nursery.start_soon(write)
                await trio.sleep(0.5)
                await delete_topic(served, "t")

            assert trio.current_time() - began < 0.9

    async def test_a_disconnected_client_leaves_no_waiting_produce_request(
        self, autojump_clock: MockClock
    ) -> None:
        async with self.two() as (served, _):
            with trio.move_on_after(0.5):
                async with served.connect() as writer:
                    await produce(writer, "t", batch(b"a"), acks=-1)
            await trio.sleep(0.1)

            figures = served.broker.purgatories.produce.figures()
            assert (figures["waiting"], figures["dropped"]) == (0, 1)


@pytest.mark.parametrize("version", stable(ProduceRequest))
async def test_not_leader_errors_contain_the_current_leader_since_version_10(
    autojump_clock: MockClock, version: int
) -> None:
    async with broker() as served:
        topic_id = await served.create_topic("t")
        await lead_elsewhere(served)
        topic = topic_id if version >= IDS_SINCE else "t"
        request = produce_request(topic, (0, batch(b"a")), (0, batch(b"b")))
        answer = await served.ask(request, version)

    for part in parts_of(answer):
        assert part.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
        leader = (part.current_leader.leader_id, part.current_leader.leader_epoch)
        assert leader == ((7, 5) if version >= 10 else (-1, -1))
    endpoints = [
        (endpoint.node_id, endpoint.host, endpoint.port, endpoint.rack)
        for endpoint in answer.node_endpoints
    ]
    assert endpoints == ([(7, "there", 9999, "r")] if version >= 10 else [])


class TestSlowDirectory:
    """Its last append took long: the next ones are queued. A thread's append stalls for so long;
    one of the loop would raise TypeError on the clock of these tests.
    """

    STALL_S = 0.5

    @classmethod
    @asynccontextmanager
    async def slow(
        cls, stall_s: float = STALL_S, **configs: str
    ) -> AsyncIterator[tuple[ServedBroker, SimulatedWorld]]:
        world = simulated_world()
        async with served_broker(world, {"log.dirs": "/a,/b"}) as served:
            await served.create_topic("t", configs=configs)
            await served.create_topic("other")
            first, second = (served.broker.replicas.partition(name, 0) for name in ("t", "other"))
            assert first.log is not None
            assert second.log is not None
            assert first.log.latency is not second.log.latency
            now = first.log.latency.elapsed()
            first.log.latency.took_long(now - 1, now)
            world.universe.fault = fault_on("append", stall_s, "/t-0/00000000000000000000.log")
            yield served, world
            world.universe.fault = fault_on("none", None)

    @pytest.mark.parametrize("acks", [1, -1])
    async def test_a_produce_to_a_slow_directory_is_answered_when_the_append_is_done(
        self, autojump_clock: MockClock, acks: int
    ) -> None:
        async with self.slow() as (served, _):
            began = trio.current_time()
            first = await produce(served, "t", batch(b"a", b"b"), acks=acks)
            second = await produce(served, "t", batch(b"c"), acks=acks)

            assert (first.base_offset, second.base_offset) == (0, 2)
            assert 2 * self.STALL_S < trio.current_time() - began < 3 * self.STALL_S
            assert values_of(await fetch(served, "t")) == [b"a", b"b", b"c"]

    async def test_a_slow_directory_does_not_delay_other_directories_and_requests(
        self, autojump_clock: MockClock
    ) -> None:
        async with (
            self.slow() as (served, _),
            served.connect() as writer,
            trio.open_nursery() as nursery,
        ):
            nursery.start_soon(write, writer, "t", b"a")
            await trio.sleep(0.1)
            began = trio.current_time()

            assert await write(served, "other", b"b") == 0
            assert (await served.ask(ApiVersionsRequest("test", "1"))).error_code == 0
            assert values_of(await fetch(served, "t")) == []

            assert trio.current_time() - began < 0.05

    async def test_queued_appends_are_written_in_the_order_of_the_requests(
        self, autojump_clock: MockClock
    ) -> None:
        offsets: list[int] = []
        async with self.slow() as (served, _), trio.open_nursery() as nursery:

            async def send(client: ScriptedClient, value: bytes) -> None:
                offsets.append(await write(client, "t", value))

            for number in range(5):
                client = await nursery.start(self.hold, served)
                nursery.start_soon(send, client, b"%d" % number)
                await trio.sleep(0.02)
            await trio.sleep(6 * self.STALL_S)
            values = values_of(await fetch(served, "t"))
            nursery.cancel_scope.cancel()

        assert offsets == [0, 1, 2, 3, 4]
        assert values == [b"0", b"1", b"2", b"3", b"4"]

    @staticmethod
    async def hold(served: ServedBroker, *, task_status: trio.TaskStatus[ScriptedClient]) -> None:
        async with served.connect() as client:
            task_status.started(client)
            await trio.sleep_forever()

    async def test_a_produce_with_acks_0_gets_no_response_and_the_next_request_is_answered(
        self, autojump_clock: MockClock
    ) -> None:
        async with self.slow() as (served, _):
            for value in (b"a", b"b"):
                request = produce_request("t", (0, batch(value)), acks=0)
                await served.client.send(request_frame(request, 9))

            assert values_of(await fetch(served, "t")) == [b"a", b"b"]

    async def test_an_error_with_acks_0_closes_the_connection(
        self, autojump_clock: MockClock
    ) -> None:
        async with self.slow() as (served, _), served.connect() as client:
            gap = batch(b"a", producer_id=4000, producer_epoch=0, base_sequence=0)
            later = batch(b"b", producer_id=4000, producer_epoch=0, base_sequence=7)
            for records in (gap, later):
                request = produce_request("t", (0, records), acks=0)
                await client.send(request_frame(request, 9))

            assert await client.wait_closed()
            await until(lambda: served.closed(CloseReason.FORBIDDEN) == 1)
            assert await end_offset(served) == 1

    async def test_a_queued_produce_with_flush_messages_1_is_answered_after_the_sync(
        self, autojump_clock: MockClock
    ) -> None:
        async with self.slow(**{"flush.messages": "1"}) as (served, _):
            assert await write(served, "t", b"a") == 0

            log = served.broker.replicas.partition("t", 0).log
            assert log is not None
            assert log.recovery_point == 1

    async def test_deletion_of_the_topic_ends_a_queued_produce_at_once(
        self, autojump_clock: MockClock
    ) -> None:
        async with self.slow(stall_s=5.0) as (served, _), served.connect() as writer:
            began = trio.current_time()
            async with trio.open_nursery() as nursery:

                async def send() -> None:
                    part = await produce(writer, "t", batch(b"a"))
                    assert part.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION

                nursery.start_soon(send)
                await trio.sleep(0.1)
                await delete_topic(served, "t")

            assert trio.current_time() - began < 1

    @classmethod
    async def stop(cls, stall_s: float, **settings: str) -> list[PartitionProduceResponse]:
        """Answers to four clients whose appends are queued when the broker stops."""
        parts: list[PartitionProduceResponse] = []
        world = simulated_world()
        async with trio.open_nursery() as nursery:
            async with served_broker(world, settings) as served:
                await served.create_topic("t")
                log = served.broker.replicas.partition("t", 0).log
                assert log is not None
                log.latency.took_long(log.latency.elapsed() - 1, log.latency.elapsed())
                world.universe.fault = fault_on("append", stall_s, "/t-0/00000000000000000000.log")

                async def send(client: ScriptedClient) -> None:
                    parts.append(await produce(client, "t", batch(b"a")))

                for _ in range(4):
                    client = await nursery.start(cls.hold, served)
                    nursery.start_soon(send, client)
                await trio.sleep(0.1)
                began = trio.current_time()
            assert trio.current_time() - began < 30
            await trio.sleep(0.1)
            nursery.cancel_scope.cancel()
        return parts

    async def test_shutdown_writes_and_answers_queued_produce_requests(
        self, autojump_clock: MockClock
    ) -> None:
        parts = await self.stop(0.5, **{"controlled.shutdown.enable": "false"})

        assert codes(parts) == [0] * 4
        assert sorted(part.base_offset for part in parts) == [0, 1, 2, 3]

    async def test_shutdown_times_out_produce_requests_queued_for_a_stalled_disk(
        self, autojump_clock: MockClock
    ) -> None:
        parts = await self.stop(20.0, **{"controlled.shutdown.enable": "false"})

        assert codes(parts) == [ErrorCode.REQUEST_TIMED_OUT] * 4

    async def test_controlled_shutdown_answers_queued_produce_requests_with_not_leader(
        self, autojump_clock: MockClock
    ) -> None:
        parts = await self.stop(5.0)

        assert codes(parts) == [ErrorCode.NOT_LEADER_OR_FOLLOWER] * 4


async def test_produce_to_the_consumer_offsets_topic_is_refused(autojump_clock: MockClock) -> None:
    async with broker() as served:
        await served.serve_groups("g")
        part = await produce(served, "__consumer_offsets", batch(b"v"))

        assert part.error_code == ErrorCode.INVALID_TOPIC_EXCEPTION


@pytest.mark.parametrize("acks", [1, -1])
async def test_a_produce_with_flush_interval_1_is_answered_after_the_sync(
    autojump_clock: MockClock, acks: int
) -> None:
    world = simulated_world()
    async with served_broker(world, {"log.flush.interval.messages": "1"}) as served:
        await served.create_topic("t")
        log = served.broker.replicas.partition("t", 0).log
        assert log is not None

        part = await produce(served, "t", batch(b"a"), acks=acks)

        assert (part.error_code, part.base_offset) == (0, 0)
        assert log.recovery_point == 1
