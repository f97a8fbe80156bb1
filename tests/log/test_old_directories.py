"""Logs of old brokers: messages of magic 0 and 1, alone and before batches of magic 2."""

import pytest

from tests.log.kit import PARTITION, append, batch, content_of, decompression, fill
from tests.records.test_legacy import NAMES, SETS, messages
from trio_kafka.log.config import LogConfig
from trio_kafka.log.durability.sync import close, sync
from trio_kafka.log.files.operations import run_in_threads
from trio_kafka.log.read import find_slice, perform_in_threads, read_bytes
from trio_kafka.log.recovery.partition import open_log
from trio_kafka.log.recovery.segment_loader import Recovery
from trio_kafka.log.timestamp_search import largest_timestamp, offset_for_timestamp
from trio_kafka.records.legacy import read_legacy_records, read_message
from trio_kafka.records.stored_header import iterate_stored_headers

BASE = 100
NAME = f"{BASE:020}.log"
CONFIG = LogConfig(index_interval_bytes=50)


async def old_log(world, content, *, recovery=None):
    directory = world.directory("/t-0", create=True)
    if not directory.exists(NAME):
        await fill(directory, {NAME: content})
    return await open_log(world, directory, PARTITION, config=CONFIG, recovery=recovery)


def records(content):
    return [record for _, message in messages(content) for record in read_legacy_records(message)]


@pytest.mark.parametrize("clean", [True, False])
@pytest.mark.parametrize("name", NAMES)
async def test_every_offset_of_a_log_of_old_messages_is_found(autojump_clock, world, name, clean):
    content, expected = SETS[name], records(SETS[name])

    log = await old_log(world, content, recovery=Recovery(clean=clean, start_offset=BASE))

    assert log.end_offset == expected[-1].offset + 1
    assert await read_bytes(log, BASE, 1 << 20) == content
    for offset in range(BASE, log.end_offset):
        result = await read_bytes(log, offset, 1)
        (message,) = [message for _, message in messages(result)]
        inside = [record.offset for record in read_legacy_records(message)]
        assert offset <= inside[-1]
        assert offset in inside or offset not in [record.offset for record in expected]


@pytest.mark.parametrize("name", NAMES)
async def test_records_of_old_messages_are_found_by_timestamp(autojump_clock, world, name):
    expected = records(SETS[name])
    log = await old_log(world, SETS[name])

    for time in sorted({record.timestamp for record in expected if record.timestamp >= 0}):
        result = await offset_for_timestamp(log, time, decompression(world))
        first = next(record for record in expected if record.timestamp >= time)
        assert (result.offset, result.timestamp) == (first.offset, first.timestamp)
    largest = await largest_timestamp(log, decompression(world))
    assert (largest.timestamp if largest else -1) == max(record.timestamp for record in expected)


@pytest.mark.parametrize("name", ["v0-none.bin", "v1-none.bin", "v1-gzip.bin"])
async def test_new_batches_follow_old_messages_over_restarts(autojump_clock, world, name):
    content = SETS[name]
    log = await old_log(world, content)
    end = log.end_offset
    for number in range(5):
        append(log, batch(2, size=40, timestamp=10_000 * number), 3)
    await (sync(log) if name == "v0-none.bin" else close(log))
    log.abandon()

    for clean in (True, False, True):
        log = await old_log(world, b"", recovery=Recovery(clean=clean, start_offset=BASE))
        result = await read_bytes(log, BASE, 1 << 20)
        assert result.startswith(content)
        assert log.end_offset == end + 10
        assert log.epochs.rows == [(3, end)]
        *_, (_, last) = iterate_stored_headers(await read_bytes(log, end + 9, 1))
        assert last.last_offset == end + 9
        log.abandon()


@pytest.mark.parametrize("name", NAMES)
async def test_a_torn_message_is_cut_after_a_crash(autojump_clock, world, name):
    content = SETS[name]
    log = await old_log(world, content + content[:40])

    assert await read_bytes(log, BASE, 1 << 20) == content
    assert len(await content_of(log.directory, NAME)) == len(content)


@pytest.mark.parametrize("name", ["v0-none.bin", "v1-none.bin"])
async def test_a_damaged_message_ends_the_log_after_a_crash(autojump_clock, world, name):
    content = bytearray(SETS[name])
    position, _ = messages(bytes(content))[1]
    content[position + 30] ^= 1

    log = await old_log(world, bytes(content))

    assert await read_bytes(log, BASE, 1 << 20) == SETS[name][:position]


async def test_read_of_old_messages_begins_with_the_message_of_the_offset(autojump_clock, world):
    content = SETS["v1-none.bin"]
    log = await old_log(world, content)
    (position, message) = messages(content)[2]

    result = await perform_in_threads(
        log, lambda: find_slice(log, message.offset, 1 << 20, end_offset=log.end_offset)
    )

    assert (result.position, result.first_offset) == (position, message.offset)
    assert read_message(content, position).offset == message.offset


async def test_message_shorter_than_a_batch_header_is_found_at_the_end_of_the_file(
    autojump_clock, world
):
    content = SETS["v0-none.bin"]
    position, last = messages(content)[-1]
    log = await old_log(world, content)
    log.abandon()
    log = await old_log(world, b"", recovery=Recovery(clean=True))
    (segment,) = log.segments
    segment._recent.clear()

    spot = await run_in_threads(segment.find(last.offset))

    assert (spot.position, spot.last_offset) == (position, last.offset)
    assert len(content) - position < 61
