import logging

import pytest

from tests.log.kit import (
    SAMPLES,
    append,
    batch,
    decompression,
    fill,
    new_log,
    read,
    sample_log,
    scan,
)
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.log.durability.sync import close
from trio_kafka.log.files.operations import ReadBytes
from trio_kafka.log.read import find_slice, perform_in_threads, perform_now, read_bytes
from trio_kafka.log.recovery.partition import open_log
from trio_kafka.log.recovery.segment_loader import Recovery
from trio_kafka.log.rolling import skip_in_thread
from trio_kafka.log.timestamp_search import largest_timestamp, offset_for_timestamp
from trio_kafka.records.batch import read_records


async def slice_of(log, offset, max_bytes, end_offset, at_least_one=True):
    return await perform_in_threads(
        log,
        lambda: find_slice(
            log, offset, max_bytes, end_offset=end_offset, at_least_one=at_least_one
        ),
    )


def error(caught):
    return caught.value.code


async def test_reads_return_only_whole_batches_below_the_end_offset(autojump_clock, world):
    log = new_log(world)
    for _ in range(5):
        append(log, batch(2))

    assert len(await read_bytes(log, 0, 1 << 20, end_offset=6)) == 3 * len(batch(2))
    assert len(await read_bytes(log, 0, 1 << 20, end_offset=5)) == 2 * len(batch(2))
    assert await read_bytes(log, 0, 1 << 20, end_offset=1) == b""
    assert read(log, 4, 1 << 20, 4) is None


async def test_first_batch_above_max_bytes_is_read_whole_or_not_at_all(autojump_clock, world):
    log = new_log(world)
    append(log, batch(size=500))
    size = log.size

    result = read(log, 0, 10, 1)

    assert len(result) == size
    result.release()
    assert read(log, 0, 10, 1, at_least_one=False) is None
    fits = read(log, 0, size, 1, at_least_one=False)
    assert fits is not None
    fits.release()


async def test_read_outside_the_log_raises_offset_out_of_range(autojump_clock, world):
    log = new_log(world)
    append(log, batch(5))
    log.set_start_offset(2)

    for offset in (1, 6):
        with pytest.raises(KafkaError) as caught:
            read(log, offset, 100, 5)
        assert error(caught) is ErrorCode.OFFSET_OUT_OF_RANGE
    assert read(log, 5, 100, 5) is None


async def test_cold_read_raises_blocking_io_error_and_succeeds_in_a_thread(autojump_clock, world):
    log = new_log(world, segment_bytes=5000)
    for _ in range(20):
        append(log, batch(size=500))
    log.segments.first.file.chill(0)

    with pytest.raises(BlockingIOError):
        read(log, 2, 100, 20)
    result = await slice_of(log, 2, 100, 20)

    assert result.first_offset == 2


@pytest.mark.parametrize(("archive", "folder"), SAMPLES)
@pytest.mark.parametrize("drop", ["", "index"])
async def test_lookups_by_offset_equal_a_full_scan(autojump_clock, world, archive, folder, drop):
    log = await sample_log(world, archive, folder, clean=not drop, drop=drop)
    batches = await scan(log)

    for offset in range(log.start_offset, log.end_offset):
        result = await slice_of(log, offset, 1, log.end_offset)
        _, position, header = next(row for row in batches if row[2].last_offset >= offset)
        assert (result.position, result.first_offset) == (position, header.base_offset)
        assert result.size == header.size


@pytest.mark.parametrize(("archive", "folder"), SAMPLES)
async def test_lookups_by_timestamp_equal_a_full_scan(autojump_clock, world, archive, folder):
    log = await sample_log(world, archive, folder)
    timed = []
    for base, at, header in await scan(log):
        segment = log.segments.at(log.segments.floor(base))
        content = bytearray(header.size)
        await segment.file.read(at, content)
        for record in read_records(content, 0, header):
            time = header.max_timestamp if header.is_log_append_time else record.timestamp
            timed.append((record.offset, time, header.leader_epoch))

    times = sorted({time for _, time, _ in timed})
    for time in [0, *times[::3], *(time + 1 for time in times[::4]), times[-1] + 1]:
        want = next((entry for entry in timed if entry[1] >= time), None)
        assert await offset_for_timestamp(log, time, decompression(log.world)) == want, time
    largest = max(time for _, time, _ in timed)
    want = next(entry for entry in timed if entry[1] == largest)
    assert await largest_timestamp(log, decompression(world)) == want


async def test_an_empty_log_has_no_largest_timestamp(autojump_clock, world):
    assert await largest_timestamp(new_log(world), decompression(world)) is None


async def test_leases_of_a_deleted_log_stay_readable(autojump_clock, world):
    log = new_log(world)
    append(log, batch())
    result = read(log, 0, 1 << 20, 1)
    lease = result.lease

    log.abandon()

    assert not lease.cut
    result.release()
    with pytest.raises(KafkaError):
        read(log, 0, 1, 1)


SIZE = len(batch(2))


def filled(world):
    """Ten batches of two records, three in a segment."""
    log = new_log(world, segment_bytes=3 * SIZE)
    for _ in range(10):
        append(log, batch(2))
    return log


def place(log, offset, max_bytes=1 << 20, end=20, *, at_least_one=True):
    return perform_now(
        log, find_slice(log, offset, max_bytes, end_offset=end, at_least_one=at_least_one)
    )


async def test_found_slice_begins_with_the_batch_and_ends_with_its_segment(autojump_clock, world):
    log = filled(world)

    result = [place(log, offset)[1:3] for offset in (0, 1, 3, 6, 19)]

    assert result == [(0, 3 * SIZE), (0, 3 * SIZE), (SIZE, 2 * SIZE), (0, 3 * SIZE), (0, SIZE)]


async def test_found_slice_excludes_batches_that_reach_the_end_offset(autojump_clock, world):
    log = filled(world)

    assert place(log, 0, end=4).size == 2 * SIZE
    assert place(log, 0, end=5).size == 2 * SIZE
    assert place(log, 0, end=6).size == 3 * SIZE
    assert place(log, 4, end=5) is None
    assert place(log, 5, end=5) is None


async def test_found_slice_contains_the_whole_first_batch_or_nothing(autojump_clock, world):
    log = filled(world)

    assert place(log, 0, 1).size == SIZE
    assert place(log, 0, SIZE - 1, at_least_one=False) is None
    assert place(log, 0, SIZE + 1, at_least_one=False).size == SIZE + 1


async def test_offset_of_a_later_segment_in_an_earlier_segment_is_damage(autojump_clock, world):
    log = filled(world)
    file = log.segments.first.file
    content = bytearray(file.size)
    await file.read(0, content)
    content[SIZE + 6] ^= 1  # of the second batch's base offset
    await close(log)
    name = f"{0:020}.log"
    await log.directory.unlink(name)
    await fill(log.directory, {name: bytes(content)})
    again = await open_log(
        world, log.directory, log.partition, config=log.config, recovery=Recovery(clean=True)
    )

    with pytest.raises(KafkaError) as caught:
        await slice_of(again, 2, 1 << 20, 20)
    assert caught.value.code is ErrorCode.CORRUPT_MESSAGE
    result = await slice_of(again, 6, 1 << 20, 20)
    assert result.first_offset == 6


async def test_search_is_repeated_if_the_log_was_truncated_meanwhile(autojump_clock, world):
    log, searches = filled(world), []

    def search():
        searches.append(log.writer.generation)
        yield ReadBytes(log.segments.first.file, 0, 1, 1)
        if len(searches) == 1:
            log.writer.begin_generation()
        return len(searches)

    assert await perform_in_threads(log, search) == 2
    assert searches == [0, 1]


async def test_offset_gap_below_the_compacted_offset_is_not_logged_as_damage(
    autojump_clock, world, caplog
):
    log = new_log(world)
    append(log, batch())
    async with log.writer.turn("roll"):
        await skip_in_thread(log, 50)
    append(log, batch())
    log.compacted_until = 50

    assert (await slice_of(log, 1, 1 << 20, 51)).first_offset == 50
    assert not [record for record in caplog.records if record.levelno >= logging.ERROR]

    log.compacted_until = 49
    assert (await slice_of(log, 1, 1 << 20, 51)).first_offset == 50
    assert [
        record.getMessage() for record in caplog.records if record.levelno >= logging.ERROR
    ] == ["records missing in a segment file"]
