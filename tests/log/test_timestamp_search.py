import struct

from tests.log.kit import append, batch, decompression, new_log
from trio_kafka.log.durability.sync import sync
from trio_kafka.log.files.operations import run_in_threads
from trio_kafka.log.timestamp_search import (
    find_largest_time,
    find_time,
    first_record,
    offset_for_timestamp,
)
from trio_kafka.scheduling.chunked_work import whole

SETTINGS = {"message_timestamp_before_max_ms": 1 << 60, "index_interval_bytes": 100}


async def filled(world):
    """Batches of three records; times go back once, and the largest is in the second segment."""
    log = new_log(world, segment_bytes=4 * len(batch(3, timestamp=1)), **SETTINGS)
    for timestamp in (100, 200, 150, 300, 250, 900, 400, 500, 600, 700):
        append(log, batch(3, timestamp=timestamp), epoch=timestamp // 300)
    return log


async def test_first_record_with_the_timestamp_or_a_later_timestamp_is_found(autojump_clock, world):
    log = await filled(world)

    async def find(timestamp, start=0):
        batch = await run_in_threads(find_time(log.segments, timestamp, start))
        return batch and whole(first_record(batch, batch.records, timestamp, start_offset=start))

    assert await find(0) == (0, 100, 0)
    assert await find(101) == (1, 101, 0)
    assert await find(103) == (3, 200, 0)
    assert await find(203) == (9, 300, 1)
    assert await find(303) == (15, 900, 3)
    assert await find(902) == (17, 902, 3)
    assert await find(903) is None
    assert await find(0, start=7) == (7, 151, 0)


async def test_first_record_with_the_largest_timestamp_is_found(autojump_clock, world):
    log = await filled(world)

    batch, largest = await run_in_threads(find_largest_time(log.segments))

    assert largest == 902
    assert whole(first_record(batch, batch.records, largest, start_offset=0)) == (17, 902, 3)


async def test_log_of_records_without_timestamps_has_no_largest_timestamp(autojump_clock, world):
    log = new_log(world)
    append(log, batch())

    assert await run_in_threads(find_largest_time(log.segments)) is None


async def test_timestamp_search_skips_a_segment_whose_file_is_missing(autojump_clock, world):
    log = await filled(world)
    await sync(log)
    log.segments.first.close()
    await log.directory.unlink(f"{0:020}.log")

    result = await run_in_threads(find_time(log.segments, 100, 0))
    _, largest = await run_in_threads(find_largest_time(log.segments))

    assert whole(first_record(result, result.records, 100, start_offset=0)).timestamp == 250
    assert largest == 902


async def test_timestamp_search_skips_a_batch_whose_header_has_a_too_large_timestamp(
    autojump_clock, world
):
    log = new_log(world, **SETTINGS)
    liar = bytearray(batch(3, timestamp=100))
    struct.pack_into(">q", liar, 35, 500)  # the largest timestamp
    append(log, liar)
    append(log, batch(3, timestamp=400))

    assert await offset_for_timestamp(log, 300, decompression(world)) == (3, 400, 0)
