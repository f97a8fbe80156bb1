"""The log of a shard: batches in a partition, commits, what is told instead of a log's errors."""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from random import Random

import pytest
import trio
from attrs import evolve
from trio.testing import MockClock

from tests.apis.kit import broker
from tests.replication.kit import make_slow
from trio_kafka.coordinators.groups.stored_records import GROUP_RECORDS
from trio_kafka.coordinators.shards.effects import CoordinatorRecord, Origin
from trio_kafka.coordinators.shards.partition_log import (
    AppendReceipt,
    PartitionLog,
    PartlyWrittenError,
    as_coordinator,
)
from trio_kafka.errors import ErrorCode, KafkaError, LogDirError
from trio_kafka.log.append import Appended
from trio_kafka.log.read import read_bytes
from trio_kafka.model import NodeId
from trio_kafka.protocol.stored.groups.classic import OffsetCommitKey, OffsetCommitValue
from trio_kafka.records.batch import (
    Record,
    encode_batch,
    iterate_headers,
    read_header,
    read_records,
)
from trio_kafka.records.compression import Codec
from trio_kafka.records.control import Marker, read_marker
from trio_kafka.replication.append_queue import Queued
from trio_kafka.scheduling.chunked_work import whole

Append = Callable[[PartitionLog, list[CoordinatorRecord], int], AppendReceipt]


def record(number: int, size: int = 0) -> CoordinatorRecord:
    return CoordinatorRecord(
        OffsetCommitKey("g", "t", number), OffsetCommitValue(number, metadata="m" * size)
    )


def in_steps(log: PartitionLog, records: list[CoordinatorRecord], now_ms: int, atomic=True):
    written = whole(log.write(whole(log.encode(records, now_ms, atomic=atomic))))
    return believed(log, written, len(records))


def at_once(log: PartitionLog, records: list[CoordinatorRecord], now_ms: int) -> AppendReceipt:
    """A few records; one that says that they are committed is believed."""
    return believed(log, log.append(records, now_ms), len(records))


def gathered(log: PartitionLog, records: list[CoordinatorRecord], now_ms: int) -> AppendReceipt:
    """Each an event of its own, in one batch."""
    batch = log.open()
    for entry in records:
        assert batch.add([entry], now_ms)
    return believed(log, batch.append(now_ms), len(records))


def believed(log: PartitionLog, written: AppendReceipt | None, count: int) -> AppendReceipt:
    if written is not None:
        return written
    end = log.partition.local_log().end_offset
    return AppendReceipt(Appended(end - count, end - 1, -1, 0))


@pytest.fixture(params=[in_steps, at_once, gathered])
def append(request: pytest.FixtureRequest) -> Append:
    return request.param


@asynccontextmanager
async def a_log(
    settings: Mapping[str, str] | None = None, codec: Codec = Codec.NONE, limit: int = 10_000
) -> AsyncIterator[PartitionLog]:
    async with broker(settings) as served:
        await served.create_topic("x", configs={"max.message.bytes": str(limit)})
        replicas = served.broker.replicas
        partition = replicas.partition("x", 0)
        yield PartitionLog(
            partition,
            leader_epoch=partition.leader_epoch,
            purgatory=partition.purgatories.produce,
            codec=GROUP_RECORDS,
            compression=codec,
        )


async def batches(log: PartitionLog) -> list[list[int]]:
    """The offsets that the records commit, batch by batch."""
    content = await read_bytes(log.partition.local_log(), 0, 1 << 20)
    return [
        [int.from_bytes(entry.key[-4:]) for entry in read_records(content, at, header) if entry.key]
        for at, header in iterate_headers(content)
    ]


async def test_event_with_a_record_that_cannot_be_stored_is_refused_and_nothing_is_written(
    autojump_clock: MockClock, append: Append
) -> None:
    async with a_log(limit=100_000) as log:
        too_long = CoordinatorRecord(OffsetCommitKey("g" * 32_768, "t", 1), OffsetCommitValue(1))

        for records in ([too_long], [record(1), too_long]):
            with pytest.raises(KafkaError, match="UNKNOWN_SERVER_ERROR"):
                append(log, records, 5)
            origin = Origin(producer_id=7, producer_epoch=3, check=lambda *_: None)
            with pytest.raises(KafkaError, match="UNKNOWN_SERVER_ERROR"):
                whole(log.append_for(origin, records, 5))

        assert log.partition.local_log().end_offset == 0


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP])
async def test_records_of_an_event_share_a_batch(
    autojump_clock: MockClock, append: Append, codec: Codec
) -> None:
    async with a_log(codec=codec) as log:
        written = append(log, [record(1), record(2)], 5)

        assert log.committed(written)
        assert log.committed(append(log, [record(3)], 6))
        assert await batches(log) == [[1, 2], [3]]
        content = await read_bytes(log.partition.local_log(), 0, 1 << 20)
        headers = [header for _, header in iterate_headers(content)]
        assert [header.base_sequence for header in headers] == [0, 0]  # as Kafka writes them
        assert [header.max_timestamp for header in headers] == [5, 6]
        assert {header.codec for header in headers} == {codec}


async def test_too_large_event_is_refused_if_atomic_and_otherwise_split(
    autojump_clock: MockClock,
) -> None:
    async with a_log() as log:
        many = [record(number, 1000) for number in range(25)]

        assert not log.open().add(many, 5)
        for append in (in_steps, at_once):
            with pytest.raises(KafkaError) as error:
                append(log, many, 5)
            assert error.value.code is ErrorCode.UNKNOWN_SERVER_ERROR
        assert await batches(log) == []

        assert log.committed(in_steps(log, many, 5, atomic=False))
        result = await batches(log)
        assert [number for part in result for number in part] == list(range(25))
        assert [len(part) for part in result] == [9, 9, 7]


async def test_many_records_are_encoded_in_steps(autojump_clock: MockClock) -> None:
    async with a_log() as log:
        steps = log.encode([record(number) for number in range(250)], 5, atomic=False)

        assert sum(1 for _ in steps) == 2


async def test_partial_write_raises_a_partly_written_error(
    autojump_clock: MockClock,
) -> None:
    async with a_log() as log:
        first, second = (whole(log.encode([record(number)], 5)) for number in range(2))

        def lose_it(batches: list[bytes]):
            yield batches[0]
            log.leader_epoch += 1
            yield batches[1]

        with pytest.raises(PartlyWrittenError):
            whole(log.write(lose_it([*first, *second])))


async def test_records_are_not_committed_before_they_are_durable(
    autojump_clock: MockClock, append: Append
) -> None:
    async with a_log({"log.flush.interval.messages": "1"}) as log:
        moved = trio.Event()
        written = append(log, [record(1)], 5)
        assert not log.committed(written)
        assert log.append([record(2)], 5) is not None

        log.watch(written, moved.set)
        await moved.wait()

        assert log.committed(written)
        log.unwatch()
        assert log.partition not in log._purgatory.watchers


async def test_queued_append_is_committed_after_its_execution(
    autojump_clock: MockClock,
) -> None:
    async with a_log() as log:
        moved: list[int] = []
        queued = Queued(
            batch=memoryview(b""),
            header=read_header(encode_batch([Record()])),
            leader_epoch=0,
            needs_all=True,
            since=0.0,
        )
        written = AppendReceipt(queued)
        log.watch(written, lambda: moved.append(1))
        assert not log.committed(written)

        log._purgatory.mark(queued)
        assert moved == [1]
        queued.result = KafkaError(ErrorCode.KAFKA_STORAGE_ERROR)
        with pytest.raises(KafkaError) as error:
            log.committed(written)
        assert error.value.code is ErrorCode.NOT_COORDINATOR

        queued.result = Appended(0, 0, -1, 0)
        assert not log.committed(written)  # nothing is there yet
        log.append([record(1)], 5)
        assert log.committed(written)


async def test_append_returns_none_when_committed_at_once(
    autojump_clock: MockClock,
) -> None:
    async with a_log() as log:
        assert log.append([record(1)], 5) is None

        log.partition.isr = (NodeId(1), NodeId(7))
        written = log.append([record(2)], 5)
        assert written is not None
        assert not log.committed(written)


async def test_append_to_a_slow_directory_is_queued(
    autojump_clock: MockClock,
) -> None:
    async with a_log() as log:
        assert log.is_calm
        pace = log.partition.local_log().latency
        pace.took_long(0.0, pace.elapsed())
        written = log.append([record(1)], 5)
        assert not log.is_calm
        with pytest.raises(KafkaError, match="UNKNOWN_SERVER_ERROR"):
            log.append([record(2, 10_000)], 5)  # its turn would be too late to say so

        assert written is not None
        assert not log.committed(written)
        await trio.sleep(1)
        assert log.committed(written)
        assert await batches(log) == [[1]]


async def test_watcher_is_called_when_the_partition_fails(
    autojump_clock: MockClock, append: Append
) -> None:
    async with a_log() as log:
        moved: list[int] = []
        log.watch(append(log, [record(1)], 5), lambda: moved.append(1))

        log.partition.fail(LogDirError("/data", "broken"))

        assert moved


async def test_append_with_too_few_in_sync_replicas_raises_coordinator_not_available(
    autojump_clock: MockClock, append: Append
) -> None:
    async with a_log() as log:
        log.partition.settings = evolve(log.partition.settings, min_insync_replicas=1)
        log.partition.isr = ()

        with pytest.raises(KafkaError) as error:
            append(log, [record(1)], 5)

        assert error.value.code is ErrorCode.COORDINATOR_NOT_AVAILABLE


async def test_append_in_another_leader_epoch_raises_not_coordinator(
    autojump_clock: MockClock, append: Append
) -> None:
    async with a_log() as log:
        log.leader_epoch += 1
        with pytest.raises(KafkaError) as error:
            append(log, [record(1)], 5)
        assert error.value.code is ErrorCode.NOT_COORDINATOR

        log.leader_epoch -= 1
        written = append(log, [record(1)], 5)
        log.partition.delete()
        with pytest.raises(KafkaError) as error:
            log.committed(written)
        assert error.value.code is ErrorCode.COORDINATOR_NOT_AVAILABLE


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (ErrorCode.NOT_ENOUGH_REPLICAS, ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (ErrorCode.REQUEST_TIMED_OUT, ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.NOT_COORDINATOR),
        (ErrorCode.KAFKA_STORAGE_ERROR, ErrorCode.NOT_COORDINATOR),
        (ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.UNKNOWN_SERVER_ERROR),
        (ErrorCode.RECORD_LIST_TOO_LARGE, ErrorCode.UNKNOWN_SERVER_ERROR),
        (ErrorCode.FENCED_INSTANCE_ID, ErrorCode.FENCED_INSTANCE_ID),
    ],
)
def test_log_errors_are_mapped_to_coordinator_errors(code: ErrorCode, expected: ErrorCode) -> None:
    assert as_coordinator(KafkaError(code)).code is expected


@pytest.mark.parametrize("limit", [10_000, 1 << 20])
@pytest.mark.parametrize("codec", Codec)
async def test_gathered_batch_fits_the_message_limit_with_every_codec(
    autojump_clock: MockClock, codec: Codec, limit: int
) -> None:
    chance = Random(7)
    async with a_log(codec=codec, limit=limit) as log:
        batch, count = log.open(), 0
        while batch.add([noise(chance, count), noise(chance, count + 1)], 5):
            count += 2
        assert len(batch) == count

        assert log.committed(believed(log, batch.append(6), count))
        assert await batches(log) == [list(range(count))]
        size = log.partition.local_log().size
        most = min(limit, 256 << 10 if codec is Codec.NONE else 64 << 10)
        assert most * 0.65 < size <= most


def noise(chance: Random, number: int) -> CoordinatorRecord:
    """A record that cannot be compressed by much."""
    metadata = "".join(chr(chance.randrange(32, 127)) for _ in range(200))
    return CoordinatorRecord(
        OffsetCommitKey("g", "t", number), OffsetCommitValue(number, metadata=metadata)
    )


async def test_event_without_room_is_left_out_of_the_batch_completely(
    autojump_clock: MockClock,
) -> None:
    async with a_log() as log:
        batch = log.open()
        assert batch.add([record(1, 4000)], 5)
        assert not batch.add([record(2), record(3, 6000)], 5)
        assert batch.add([record(4, 4000)], 5)
        batch.append(6)

        assert await batches(log) == [[1, 4]]


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.LZ4])
async def test_records_of_a_batch_have_the_timestamps_of_their_events(
    autojump_clock: MockClock, codec: Codec
) -> None:
    async with a_log(codec=codec) as log:
        batch = log.open()
        for now_ms, numbers in ((1000, (1, 2)), (1003, (3,)), (999, (4,))):
            assert batch.add([record(number) for number in numbers], now_ms)
        batch.append(1005)

        content = await read_bytes(log.partition.local_log(), 0, 1 << 20)
        ((at, header),) = iterate_headers(content)
        times = [entry.timestamp for entry in read_records(content, at, header)]
        assert times == [1000, 1000, 1003, 999]
        assert (header.max_timestamp, header.base_sequence) == (1003, 0)


async def test_opening_a_batch_that_would_be_refused_raises_the_error(
    autojump_clock: MockClock,
) -> None:
    async with a_log() as log:
        log.partition.isr = ()
        with pytest.raises(KafkaError) as error:
            log.open()
        assert error.value.code is ErrorCode.COORDINATOR_NOT_AVAILABLE

        log.partition.isr = log.partition.replicas
        log.leader_epoch += 1
        with pytest.raises(KafkaError) as error:
            log.open()
        assert error.value.code is ErrorCode.NOT_COORDINATOR

        log.leader_epoch -= 1
        log.open()
        log.partition.fail(LogDirError("/data", "broken"))
        with pytest.raises(KafkaError) as error:
            log.open()
        assert error.value.code is ErrorCode.NOT_COORDINATOR


async def test_append_of_a_refused_batch_raises_the_error(autojump_clock: MockClock) -> None:
    async with a_log() as log:
        batch = log.open()
        batch.add([record(1)], 5)
        log.partition.isr = ()

        with pytest.raises(KafkaError) as error:
            batch.append(6)
        assert error.value.code is ErrorCode.COORDINATOR_NOT_AVAILABLE


async def test_batch_and_marker_of_a_producer_carry_its_id_and_epoch(
    autojump_clock: MockClock,
) -> None:
    async with a_log(codec=Codec.GZIP) as log:
        origin = Origin(producer_id=7, producer_epoch=3, check=lambda *_: None)
        end = evolve(origin, marker=Marker(committed=True, coordinator_epoch=4))

        whole(log.append_for(origin, [record(1), record(2)], 5))
        whole(log.append_for(end, [], 6))

        content = await read_bytes(log.partition.local_log(), 0, 1 << 20)
        (_, offsets), (at, marker) = iterate_headers(content)
        assert [(each.producer_id, each.producer_epoch) for each in (offsets, marker)] == [
            (7, 3)
        ] * 2
        assert [each.is_transactional for each in (offsets, marker)] == [True, True]
        assert (offsets.base_sequence, offsets.codec, offsets.count) == (0, Codec.GZIP, 2)
        (end_record,) = read_records(content, at, marker)
        assert read_marker(end_record) == end.marker
        assert log.partition.local_log().last_stable_offset == 3


async def test_batch_of_a_producer_that_is_not_admitted_is_rejected_and_not_written(
    autojump_clock: MockClock,
) -> None:
    def reject(*_: object) -> None:
        raise KafkaError(ErrorCode.INVALID_TXN_STATE)

    async with a_log() as log:
        origin = Origin(producer_id=7, producer_epoch=3, check=reject)
        make_slow(log.partition)  # a queued batch is checked before its records are replayed, too

        with pytest.raises(KafkaError) as error:
            whole(log.append_for(origin, [record(1)], 5))

        assert error.value.code is ErrorCode.INVALID_TXN_STATE
        assert log.partition.local_log().end_offset == 0


async def test_offsets_of_a_producer_that_exceed_a_batch_are_rejected(
    autojump_clock: MockClock,
) -> None:
    async with a_log() as log:
        origin = Origin(producer_id=7, producer_epoch=3, check=lambda *_: None)

        with pytest.raises(KafkaError) as error:
            whole(log.append_for(origin, [record(number, 1000) for number in range(25)], 5))

        assert error.value.code is ErrorCode.UNKNOWN_SERVER_ERROR
        assert await batches(log) == []
