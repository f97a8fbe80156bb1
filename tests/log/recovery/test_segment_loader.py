import struct

import pytest

from tests.log.kit import (
    PARTITION,
    append,
    batch,
    content_of,
    fill,
    headers,
    new_log,
    offsets,
    read_all,
)
from tests.records.kit import encode_batch
from trio_kafka.introspect.log import fields_of
from trio_kafka.log.append import append_as_follower
from trio_kafka.log.durability.sync import close, sync
from trio_kafka.log.recovery.partition import open_log
from trio_kafka.log.recovery.segment_loader import Recovery
from trio_kafka.log.rolling import roll
from trio_kafka.records.batch import Record

RECORDS = {
    "plain-0": 52,
    "epochs-0": 15,
    "logappend-0": 5,
    "compacted-0": 14,
    "gzip-0": 40,
    "snappy-0": 40,
    "lz4-0": 40,
    "zstd-0": 40,
}


async def test_a_torn_tail_is_cut_and_later_segments_are_dropped(autojump_clock, world):
    log = new_log(world, segment_bytes=400)
    for _ in range(12):
        append(log, batch(2, size=40))
    await sync(log)
    second = list(log.segments)[1]
    log.abandon()
    damaged = log.directory.open(f"{second.base_offset:020}.log")
    damaged.truncate(damaged.size - 1)
    damaged.close()

    again = await open_log(world, log.directory, PARTITION, config=log.config)

    assert offsets(await read_all(again)) == list(range(again.end_offset))
    assert second.base_offset <= again.end_offset < second.base_offset + 6
    assert again.segments.active.base_offset == second.base_offset


async def test_segment_that_does_not_continue_the_previous_segment_is_dropped(
    autojump_clock, world
):
    log = new_log(world, segment_bytes=400)
    for _ in range(12):
        append(log, batch(2, size=40))
    await sync(log)
    second = list(log.segments)[1].base_offset
    log.abandon()
    await log.directory.unlink(f"{second:020}.log")

    again = await open_log(world, log.directory, PARTITION, config=log.config)

    assert again.end_offset == second


async def test_damaged_batch_in_a_closed_segment_is_kept_and_others_stay_readable(
    autojump_clock, world, caplog
):
    log = new_log(world, segment_bytes=400)
    for _ in range(12):
        append(log, batch(2, size=40))
    await close(log)
    first, second, *_ = [segment.base_offset for segment in log.segments]
    content = bytearray(await content_of(log.directory, f"{first:020}.log"))
    content[17] ^= 1  # in the CRC of the first batch
    for name in (f"{first:020}.log", f"{first:020}.index"):
        await log.directory.unlink(name)
    await fill(log.directory, {f"{first:020}.log": bytes(content)})

    again = await open_log(
        world, log.directory, PARTITION, config=log.config, recovery=Recovery(clean=True)
    )

    assert [segment.base_offset for segment in again.segments][:2] == [first, second]
    assert again.end_offset == 24
    assert offsets(await read_all(again, 2)) == list(range(2, 24))
    assert await content_of(log.directory, f"{first:020}.log") == content
    assert "damaged batch kept" in caplog.text


@pytest.mark.parametrize("length", [500, 100_000, 1 << 20])
async def test_torn_batch_full_of_fake_headers_is_cut_with_a_bounded_number_of_reads(
    autojump_clock, world, length
):
    log = new_log(world, max_message_bytes=4 << 20)
    append(log, batch())
    header = struct.pack(">qiib", 1, length, 0x100, 2)
    record = Record(key=b"k", value=header * (2_000_000 // len(header)), timestamp=1)
    append(log, bytearray(encode_batch([record])))
    await sync(log)
    log.abandon()
    damaged = log.directory.open("00000000000000000000.log")
    damaged.truncate(damaged.size - 200)
    damaged.close()
    world.universe.trace.clear()

    again = await open_log(world, log.directory, PARTITION, config=log.config)

    assert again.end_offset == 1
    reads = [line for line in world.universe.trace if "read " in line and ".log" in line]
    assert len(reads) < 1000  # of 117,000 headers


async def test_only_the_first_damaged_places_of_a_segment_are_logged_one_by_one(
    autojump_clock, world, caplog
):
    log = new_log(world)
    for _ in range(60):
        append(log, batch())
    append(log, batch(size=1))
    roll(log)
    append(log, batch())
    await close(log)
    content = bytearray(await content_of(log.directory, f"{0:020}.log"))
    for number in range(0, 60, 2):
        content[number * len(batch()) + 17] ^= 1  # in the CRC
    for name in (f"{0:020}.log", f"{0:020}.index"):
        await log.directory.unlink(name)
    await fill(log.directory, {f"{0:020}.log": bytes(content)})

    again = await open_log(
        world, log.directory, PARTITION, config=log.config, recovery=Recovery(clean=True)
    )

    assert again.end_offset == 62
    assert caplog.text.count("damaged batch kept") == 20
    assert [fields_of(event)["count"] for event in caplog.records if "more" in event.msg] == [10]


@pytest.mark.parametrize("clean", [True, False])
@pytest.mark.parametrize("at", [0, 3])
async def test_an_offset_that_no_segment_can_hold_is_damage(autojump_clock, world, clean, at):
    log = new_log(world, index_interval_bytes=1)
    for _ in range(4):
        append(log, batch())
    await close(log)
    content = bytearray(await content_of(log.directory, f"{0:020}.log"))
    content[len(content) // 4 * 3 + at] ^= 0x20  # of the last batch's offset
    await log.directory.unlink(f"{0:020}.log")
    await fill(log.directory, {f"{0:020}.log": bytes(content)})

    again = await open_log(
        world, log.directory, PARTITION, config=log.config, recovery=Recovery(clean=clean)
    )

    assert again.end_offset == 3


async def test_segments_after_offset_gaps_are_kept_when_an_index_is_missing(autojump_clock, world):
    log = new_log(world)
    for base in (0, 10, 20):
        content = batch(2, base_offset=base)
        append_as_follower(log, memoryview(content), headers(content))
        roll(log)
    await close(log)
    await log.directory.unlink(f"{0:020}.index")

    recovery = Recovery(clean=True)
    again = await open_log(world, log.directory, PARTITION, config=log.config, recovery=recovery)

    assert offsets(await read_all(again)) == [0, 1, 10, 11, 20, 21]


def broken_log(world, epochs=(0, 0, 1, 1, 3)):
    """A log that was not closed: some segments, epochs and producers, and a torn tail."""
    log = new_log(world, segment_bytes=400, index_interval_bytes=100)
    for number, epoch in enumerate(epochs * 4):
        who = {"producer_id": number, "producer_epoch": 0, "base_sequence": 0} if number > 9 else {}
        append(
            log, batch(2, size=40, timestamp=1000 * number, **who), max(epoch, log.epochs.latest)
        )
    return log


def described(log):
    """Results of recovery; a sealed segment keeps its indexes on the disk."""
    return (
        log.end_offset,
        log.epochs.rows,
        sorted(producer.producer_id for producer in log.producers),
        [(segment.base_offset, segment.size, segment.max_timestamp) for segment in log.segments],
        log.segments.active.summary(),
    )


async def again(world, log, **fields):
    log.abandon()
    recovery = Recovery(**fields)
    return await open_log(world, log.directory, PARTITION, config=log.config, recovery=recovery)


async def test_recovery_in_worker_processes_equals_recovery_in_the_loop(autojump_clock, world):
    log = broken_log(world)
    log.segments.active.truncate(log.segments.active.size - 1)
    here = described(await again(world, log))
    there = await again(world, log, worker_bytes=1)

    assert described(there) == here


@pytest.mark.parametrize("after", [0, 1, 2, 5])
async def test_a_segment_whose_worker_was_killed_is_checked_in_the_loop(
    autojump_clock, world, after, caplog
):
    log = broken_log(world)
    before = described(await again(world, log))
    calls = []

    def kill(machine, call, target):
        if call != "run_in_process":
            return None
        calls.append(target)
        return OSError(3, "killed") if len(calls) > after else None

    world.universe.fault = kill
    result = await again(world, log, worker_bytes=1)

    assert described(result) == before
    assert "segment checked again" in caplog.text


async def test_segments_without_producers_are_read_once(autojump_clock, world):
    log = broken_log(world, epochs=(0,))
    log.abandon()
    reads = []

    def note(machine, call, target):
        if call in {"read", "try_read"} and target.endswith(".log"):
            reads.append(target)

    world.universe.fault = note
    await open_log(world, log.directory, PARTITION, config=log.config)

    assert len(reads) == len(set(reads)) > 1
