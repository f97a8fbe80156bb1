import random

import pytest
import trio
from attrs import evolve

from tests.log.kit import decompression
from tests.records.kit import twin
from tests.replication.kit import new_partition
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.introspect.tree import Node
from trio_kafka.log.decompression import SMALL
from trio_kafka.log.read import read_bytes
from trio_kafka.records.batch import Record, encode_batch, iterate_headers, read_records
from trio_kafka.records.compression import Codec, compress
from trio_kafka.records.header import (
    HEADER_SIZE,
    LOG_APPEND_TIME,
    BatchHeader,
    check_crc,
    checksum,
    read_header,
)
from trio_kafka.records.leaf import leaf
from trio_kafka.records.validate import Limits
from trio_kafka.replication import record_validation
from trio_kafka.replication.append_queue import Queued
from trio_kafka.replication.leader.append import append
from trio_kafka.replication.leader.queued_appends import REFINED_WITHIN_S, QueuedAppends
from trio_kafka.replication.record_validation import AT_ONCE, RecordValidation, validation_of
from trio_kafka.replication.settings import PartitionSettings

NOW = 1_700_000_000_000
LIMIT = 1 << 24
MANY = 1000


def batch(count: int = 3, codec: Codec = Codec.NONE, *, key: bytes | None = b"k") -> memoryview:
    records = [Record(timestamp=NOW, key=key, value=b"value %d" % n) for n in range(count)]
    return memoryview(bytearray(encode_batch(records, codec=codec)))


def values(content: memoryview, header: BatchHeader) -> list[bytes | None]:
    check_crc(content, 0, header)
    return [record.value for record in read_records(content, 0, header)]


def test_batch_is_validated_only_if_the_settings_require_validation() -> None:
    sent = batch(codec=Codec.GZIP)
    header = read_header(sent)

    assert validation_of(PartitionSettings(), sent, header, NOW) is None
    assert validation_of(PartitionSettings(codec=Codec.GZIP), sent, header, NOW) is None
    for settings in (
        PartitionSettings(codec=Codec.NONE),
        PartitionSettings(walk=True),
        PartitionSettings(need_keys=True),
    ):
        with twin():
            assert validation_of(settings, sent, header, NOW) == RecordValidation(settings, NOW)


@pytest.mark.parametrize("after", Codec)
@pytest.mark.parametrize("before", Codec)
async def test_validation_at_once_and_in_turn_have_the_same_result(
    world, autojump_clock, before: Codec, after: Codec
) -> None:
    sent = batch(200, before)
    work = RecordValidation(PartitionSettings(codec=after, walk=True), NOW)

    small = work.at_once(sent, read_header(sent))
    large = await work.in_turn(world, decompression(world), sent, read_header(sent))

    assert small == large
    assert large[1].codec is after
    assert values(*large) == [b"value %d" % n for n in range(200)]


def test_large_and_highly_compressed_batches_are_not_validated_at_once() -> None:
    work = RecordValidation(PartitionSettings(codec=Codec.NONE), NOW)
    wide = encode_batch([Record(value=bytes(AT_ONCE))])
    bomb = encode_batch([Record(value=bytes(AT_ONCE))], codec=Codec.ZSTD)
    long = batch(257)
    fits = encode_batch([Record(value=bytes(AT_ONCE - 100))])

    for refused in (wide, bomb, *([] if leaf() else [long])):
        assert work.at_once(memoryview(refused), read_header(refused)) is None
    assert len(bomb) < 200
    assert work.at_once(memoryview(fits), read_header(fits)) is not None


class Steps(trio.abc.Instrument):
    """How often tasks ran."""

    count = 0

    def after_task_step(self, task: trio.lowlevel.Task) -> None:
        self.count += 1


async def test_validation_in_turn_yields_to_other_tasks(world, autojump_clock, monkeypatch) -> None:
    monkeypatch.setattr(record_validation, "_SLICE_S", 0.0)
    wide = memoryview(encode_batch([Record(value=bytes(1 << 20))]))
    step = 32 if leaf() is None else 4096  # records
    for settings, sent, least in (
        (PartitionSettings(walk=True), batch(MANY), MANY // step),
        (PartitionSettings(codec=Codec.LZ4, level=1), wide, 16),
    ):
        steps = Steps()
        trio.lowlevel.add_instrument(steps)
        await RecordValidation(settings, NOW).in_turn(
            world, decompression(world), sent, read_header(sent)
        )
        trio.lowlevel.remove_instrument(steps)
        assert steps.count >= least


@pytest.mark.parametrize("in_turn", [False, True])
async def test_unreadable_records_and_missing_keys_are_invalid(
    world, autojump_clock, in_turn
) -> None:
    torn = batch(codec=Codec.GZIP)
    torn[70:] = bytes(len(torn) - 70)
    long = batch()
    long[HEADER_SIZE] = 0x7E  # a record that ends behind its batch
    for sent, settings in (
        (torn, PartitionSettings(codec=Codec.NONE)),
        (torn, PartitionSettings(walk=True)),
        (long, PartitionSettings(walk=True)),
        (batch(key=None), PartitionSettings(need_keys=True)),
    ):
        work, header = RecordValidation(settings, NOW), read_header(sent)
        assert work.at_once(sent, header) is None
        with pytest.raises(KafkaError) as caught:
            if in_turn:
                await work.in_turn(world, decompression(world), sent, header)
            else:
                work.whole(sent, header, LIMIT)
        assert caught.value.code is ErrorCode.INVALID_RECORD
        assert not caught.value.code.retriable  # a client would send the same batch again


async def test_large_batches_are_validated_in_the_queue_in_order(
    world, nursery, autojump_clock
) -> None:
    settings = PartitionSettings(codec=Codec.ZSTD, need_keys=True)
    partition, _ = new_partition(world, 1, settings=settings)
    appends = QueuedAppends(world, Node("broker", "broker"), decompression(world))
    partition.join_queue = appends.join
    await nursery.start(appends.run)

    results = [append(partition, batch(count), acks=1) for count in (3, MANY, 3, MANY)]

    assert [type(result) is Queued for result in results] == [False, True, True, True]
    await appends.wait_empty()
    assert [result.result.first_offset for result in results[1:]] == [3, 3 + MANY, 6 + MANY]
    assert appends._bytes == partition.log.latency.queues == 0
    content = await read_bytes(partition.log, 0, LIMIT)
    assert [header.codec for _, header in iterate_headers(content)] == [Codec.ZSTD] * 4
    assert type(append(partition, batch(), acks=1)) is not Queued


async def test_refused_batch_of_the_queue_does_not_affect_the_next_batch(
    world, nursery, autojump_clock
) -> None:
    partition, _ = new_partition(world, 1, settings=PartitionSettings(need_keys=True))
    appends = QueuedAppends(world, Node("broker", "broker"), decompression(world))
    partition.join_queue = appends.join
    await nursery.start(appends.run)

    bad, good = (append(partition, batch(MANY, key=key), acks=1) for key in (None, b"k"))
    await appends.wait_empty()

    assert bad.result.code is ErrorCode.INVALID_RECORD
    assert good.result.first_offset == 0


async def test_batch_is_validated_at_once_without_a_queue(world) -> None:
    partition, _ = new_partition(world, 1, settings=PartitionSettings(codec=Codec.LZ4))

    assert append(partition, batch(MANY), acks=1).last_offset == MANY - 1


async def test_recompressed_batch_larger_than_max_message_bytes_is_refused(
    world, autojump_clock
) -> None:
    hard = random.Random(1).randbytes(1 << 19)
    record = Record(timestamp=NOW, key=b"k", value=hard * 4)
    sent = memoryview(encode_batch([record], codec=Codec.ZSTD))  # its window holds the repetition
    limits = Limits(max_message_bytes=1 << 20)
    for codec in (Codec.NONE, Codec.GZIP, Codec.SNAPPY, Codec.LZ4):
        work = RecordValidation(PartitionSettings(codec=codec, limits=limits), NOW)
        with pytest.raises(KafkaError) as caught:
            await work.in_turn(world, decompression(world), sent, read_header(sent))
        assert caught.value.code is ErrorCode.MESSAGE_TOO_LARGE


async def test_large_batch_is_compressed_with_a_lower_level(
    world, autojump_clock, monkeypatch
) -> None:
    monkeypatch.setattr(record_validation, "is_large", lambda plain: len(plain) > 5_000)
    settings = PartitionSettings(codec=Codec.ZSTD, level=22)
    for count, level in ((100, 22), (MANY, 9)):
        sent = batch(count)
        packed, header = await RecordValidation(settings, NOW).in_turn(
            world, decompression(world), sent, read_header(sent)
        )
        assert bytes(packed[HEADER_SIZE:]) == compress(Codec.ZSTD, sent[HEADER_SIZE:], level)
        assert len(values(packed, header)) == count


async def test_batches_that_wait_too_long_for_memory_time_out(
    world, nursery, autojump_clock
) -> None:
    partition, _ = new_partition(world, 1, settings=PartitionSettings(need_keys=True))
    memory = decompression(world)
    appends = QueuedAppends(world, Node("broker", "broker"), memory)
    partition.join_queue = appends.join
    await nursery.start(appends.run)
    large = encode_batch([Record(timestamp=NOW, key=b"k", value=bytes(SMALL))], codec=Codec.LZ4)
    records, limit = large[HEADER_SIZE:], 2 * SMALL
    async with memory.unpacked(Codec.LZ4, records, limit):
        began = trio.current_time()
        waits = append(partition, memoryview(bytearray(large)), acks=1)
        behind = append(partition, batch(20 * MANY, Codec.LZ4), acks=1)
        await appends.wait_empty()

    assert trio.current_time() - began == pytest.approx(REFINED_WITHIN_S, abs=0.01)
    assert waits.result.code is ErrorCode.REQUEST_TIMED_OUT
    assert behind.result.code is ErrorCode.REQUEST_TIMED_OUT  # it came at the same time
    again = append(partition, memoryview(bytearray(large)), acks=1)
    await appends.wait_empty()
    assert again.result.first_offset == 0


async def test_large_batch_is_refused_with_a_retriable_error_without_a_queue(
    world, autojump_clock
) -> None:
    partition, _ = new_partition(world, 1, settings=PartitionSettings(need_keys=True))
    for size, code in (
        (SMALL, ErrorCode.NOT_LEADER_OR_FOLLOWER),
        (AT_ONCE, None),
    ):
        record = Record(timestamp=NOW, key=b"k", value=bytes(size))
        sent = memoryview(bytearray(encode_batch([record], codec=Codec.LZ4)))
        if code is None:
            assert append(partition, sent, acks=1).first_offset == 0
        else:
            with pytest.raises(KafkaError) as caught:
                append(partition, sent, acks=1)
            assert caught.value.code is code


@pytest.mark.parametrize("count", [3, MANY])
@pytest.mark.parametrize("codec", [Codec.NONE, Codec.LZ4])
async def test_header_has_the_timestamps_of_its_records_after_validation(
    world, autojump_clock, codec: Codec, count: int
) -> None:
    lie = batch(count, codec)
    lie[35:43] = (NOW + 9).to_bytes(8, "big")
    lie[21:23] = (0x80 | LOG_APPEND_TIME | codec).to_bytes(2, "big")
    lie[17:21] = checksum(lie, 0, read_header(lie)).to_bytes(4, "big")
    later = Limits(after_max_ms=1 << 40)
    for settings in (
        PartitionSettings(walk=True, limits=later),
        PartitionSettings(codec=Codec.GZIP, limits=later),
    ):
        sent = memoryview(bytearray(lie))
        header = read_header(sent)

        refined, changed = await RecordValidation(settings, NOW).in_turn(
            world, decompression(world), sent, header
        )

        assert changed == read_header(refined)
        assert changed.attributes == (settings.codec or codec)
        assert changed.max_timestamp == NOW + 9  # that of all records, as the producer says
        assert len(values(refined, changed)) == count


async def test_wrong_max_timestamp_of_a_header_is_corrected(world, autojump_clock) -> None:
    lie = batch()
    lie[35:43] = (NOW + 9).to_bytes(8, "big")

    refined, header = await RecordValidation(PartitionSettings(walk=True), NOW).in_turn(
        world, decompression(world), lie, read_header(lie)
    )

    assert (header.max_timestamp, read_header(refined)) == (NOW, header)
    assert values(refined, header)


async def test_batch_whose_header_lies_about_times_is_always_validated() -> None:
    sent = batch()
    header = read_header(sent)
    header.max_timestamp += 1

    assert validation_of(PartitionSettings(), sent, header, NOW, suspicious=True) is not None


@pytest.mark.leaf
def test_compiled_leaf_leaves_no_work_on_a_sound_batch() -> None:
    if leaf() is None:
        pytest.skip("needs the compiled leaf: `make leaf` (a C compiler), then run this again")
    keyless, wide = batch(key=None), batch(1 << 14)
    bomb = memoryview(encode_batch([Record(value=bytes(600 << 10))], codec=Codec.ZSTD))
    torn = batch(codec=Codec.GZIP)
    torn[70:] = bytes(len(torn) - 70)
    checked = PartitionSettings(walk=True)
    late = PartitionSettings(walk=True, limits=Limits(log_append_time=True))

    for settings, sent, is_sound in (
        (checked, batch(), True),
        (checked, wide, True),
        (checked, batch((1 << 14) + 1), False),  # more than one turn of the loop may check
        (checked, batch(codec=Codec.LZ4), True),
        (checked, batch(1 << 14, Codec.SNAPPY), False),  # decompression takes a thread
        (checked, bomb, False),
        (checked, torn, False),
        (evolve(checked, limits=Limits(max_record_bytes=5)), batch(codec=Codec.LZ4), False),
        (evolve(checked, limits=Limits(max_record_bytes=5)), batch(), True),
        (PartitionSettings(need_keys=True), batch(), True),
        (PartitionSettings(need_keys=True), keyless, False),
        (PartitionSettings(codec=Codec.GZIP), batch(), False),
        (PartitionSettings(codec=Codec.NONE), batch(), True),
        (evolve(checked, limits=Limits(before_max_ms=5)), batch(), True),
    ):
        assert (validation_of(settings, sent, read_header(sent), NOW) is None) is is_sound
    assert validation_of(checked, batch(), read_header(batch()), NOW + 10) is None
    old = evolve(checked, limits=Limits(before_max_ms=5))
    assert validation_of(old, batch(), read_header(batch()), NOW + 10) is not None
    header = read_header(batch())
    header.max_timestamp += 1
    assert validation_of(checked, batch(), header, NOW) is not None
    assert validation_of(late, batch(), header, NOW) is None  # the broker sets its own time
    header.attributes |= LOG_APPEND_TIME
    assert validation_of(late, batch(), header, NOW) is not None  # which only brokers may


def test_record_above_the_size_limit_is_invalid() -> None:
    sent, limits = batch(MANY, Codec.ZSTD), Limits(max_record_bytes=10)
    for settings in (PartitionSettings(walk=True), PartitionSettings(codec=Codec.NONE)):
        work = RecordValidation(evolve(settings, limits=limits), NOW)
        with pytest.raises(KafkaError) as caught:
            work.whole(sent, read_header(sent), LIMIT)
        assert caught.value.code is ErrorCode.INVALID_RECORD
