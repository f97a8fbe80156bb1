from tempfile import TemporaryDirectory

import pytest

from tests.log.kit import (
    PARTITION,
    SAMPLES,
    append,
    batch,
    headers,
    new_log,
    offsets,
    read_all,
    sample_log,
    scan,
)
from trio_kafka.errors import ErrorCode, KafkaError, LogDirError
from trio_kafka.log.recovery import open_log
from trio_kafka.log.truncate import truncate_to
from trio_kafka.records.batch import check_crc, read_header, read_records
from trio_kafka.records.compression import Codec
from trio_kafka.testing.simulation import run_simulated
from trio_kafka.world.clock import SkippingClock
from trio_kafka.world.real import RealWorld


def error(caught):
    return caught.value.code


async def test_offsets_and_epoch_are_stamped_in_place(autojump_clock, world):
    log = new_log(world)
    append(log, batch(3), epoch=4)
    content = batch(2)

    appended = append(log, content, epoch=7)

    header = read_header(content)
    assert (header.base_offset, header.leader_epoch) == (3, 7)
    assert (appended.first_offset, appended.last_offset, appended.append_time_ms) == (3, 4, -1)
    assert log.end_offset == 5
    assert log.epochs.rows == [(4, 0), (7, 3)]
    assert await log.read_bytes(3, 1) == bytes(content)


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP])
async def test_log_append_time_is_written_into_the_header_and_its_crc(autojump_clock, world, codec):
    log = new_log(world, message_timestamp_type="LogAppendTime")
    content = batch(3, timestamp=1, codec=codec)

    appended = append(log, content)

    header = read_header(content)
    check_crc(content, 0, header)
    assert appended.append_time_ms == header.max_timestamp == log.now_ms()
    assert header.is_log_append_time
    assert (await log.offset_for_timestamp(1)).timestamp == header.max_timestamp


async def test_a_segment_is_begun_when_the_next_batch_would_not_fit(autojump_clock, world):
    log = new_log(world, segment_bytes=300)
    for _ in range(7):
        append(log, batch(size=10))

    assert [segment.base_offset for segment in log.segments] == [0, 3, 6]
    assert log.directory.exists("00000000000000000003.snapshot")
    assert offsets(await read_all(log)) == list(range(7))


async def test_a_segment_is_begun_when_the_first_record_is_too_old(autojump_clock, world):
    log = new_log(world, segment_ms=1000, message_timestamp_before_max_ms=1 << 62)
    append(log, batch(timestamp=log.now_ms() - 2000))
    append(log, batch(timestamp=log.now_ms() - 1000))
    append(log, batch(timestamp=log.now_ms() - 999))

    assert [segment.base_offset for segment in log.segments] == [0, 2]


async def test_a_segment_is_begun_when_an_index_is_full(autojump_clock, world):
    log = new_log(world, index_interval_bytes=0, segment_index_bytes=36)
    for number in range(5):
        append(log, batch(timestamp=log.now_ms() + number))

    assert [segment.base_offset for segment in log.segments] == [0, 3]


async def test_a_segment_is_begun_when_offsets_are_out_of_reach(autojump_clock, world):
    log = new_log(world)
    append(log, batch())
    far = batch(base_offset=1 << 31)
    log.append_as_follower(memoryview(far), headers(far))

    assert [segment.base_offset for segment in log.segments] == [0, 1 << 31]


@pytest.mark.parametrize(
    ("settings", "content", "code"),
    [
        ({"max_message_bytes": 100}, batch(size=100), ErrorCode.MESSAGE_TOO_LARGE),
        ({"segment_bytes": 100}, batch(size=100), ErrorCode.RECORD_LIST_TOO_LARGE),
    ],
)
async def test_what_the_topic_does_not_allow_is_not_written(
    autojump_clock, world, settings, content, code
):
    log = new_log(world, **settings)

    with pytest.raises(KafkaError) as caught:
        append(log, content)

    assert error(caught) is code
    assert (log.end_offset, log.size) == (0, 0)


async def test_a_repeated_batch_is_answered_as_the_first_time(autojump_clock, world):
    log = new_log(world)
    sent = [
        batch(2, producer_id=5, producer_epoch=0, base_sequence=2 * number) for number in range(6)
    ]
    first = [append(log, content) for content in sent]

    again = append(log, batch(2, producer_id=5, producer_epoch=0, base_sequence=4))

    assert again.duplicate
    assert (again.first_offset, again.last_offset) == (first[2].first_offset, first[2].last_offset)
    assert log.end_offset == 12
    with pytest.raises(KafkaError) as caught:
        append(log, batch(2, producer_id=5, producer_epoch=0, base_sequence=0))
    assert error(caught) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


async def test_a_follower_takes_offsets_as_they_are_and_refuses_those_it_has(autojump_clock, world):
    log = new_log(world)
    content = batch(2, base_offset=10, leader_epoch=3)
    log.append_as_follower(memoryview(content), headers(content))

    assert log.end_offset == 12
    assert log.epochs.rows == [(3, 10)]
    with pytest.raises(KafkaError) as caught:
        log.append_as_follower(memoryview(content), headers(content))
    assert error(caught) is ErrorCode.OFFSET_OUT_OF_RANGE


async def test_reads_end_below_the_end_offset_at_a_batch(autojump_clock, world):
    log = new_log(world)
    for _ in range(5):
        append(log, batch(2))

    assert len(await log.read_bytes(0, 1 << 20, 6)) == 3 * len(batch(2))
    assert len(await log.read_bytes(0, 1 << 20, 5)) == 2 * len(batch(2))
    assert await log.read_bytes(0, 1 << 20, 1) == b""
    assert log.read(4, 1 << 20, 4).range is None


async def test_a_first_batch_comes_whole_or_not_at_all(autojump_clock, world):
    log = new_log(world)
    append(log, batch(size=500))
    size = log.size

    found = log.read(0, 10, 1)

    assert len(found.range) == size
    found.range.release()
    assert log.read(0, 10, 1, at_least_one=False).range is None
    assert log.read(0, size, 1, at_least_one=False).range is not None


async def test_an_offset_outside_of_the_log_is_an_error(autojump_clock, world):
    log = new_log(world)
    append(log, batch(5))
    log.set_start_offset(2)

    for offset in (1, 6):
        with pytest.raises(KafkaError) as caught:
            log.read(offset, 100, 5)
        assert error(caught) is ErrorCode.OFFSET_OUT_OF_RANGE
    assert log.read(5, 100, 5).range is None


async def test_a_cold_read_says_so_and_is_located_then(autojump_clock, world):
    log = new_log(world, segment_bytes=5000)
    for _ in range(20):
        append(log, batch(size=500))
    log.segments.first.file.chill(0)

    with pytest.raises(BlockingIOError):
        log.read(2, 100, 20)
    found = await log.locate(2, 100, 20)

    assert found.first_offset == 2
    found.range.release()


@pytest.mark.parametrize(("archive", "folder"), SAMPLES)
@pytest.mark.parametrize("drop", ["", "index"])
async def test_lookups_by_offset_are_those_of_a_full_scan(
    autojump_clock, world, archive, folder, drop
):
    log = await sample_log(world, archive, folder, clean=not drop, drop=drop)
    batches = await scan(log)

    for offset in range(log.start_offset, log.end_offset):
        found = await log.locate(offset, 1, log.end_offset)
        _, position, header = next(one for one in batches if one[2].last_offset >= offset)
        assert (found.position, found.first_offset) == (position, header.base_offset)
        assert len(found.range) == header.size
        found.range.release()


@pytest.mark.parametrize(("archive", "folder"), SAMPLES)
async def test_lookups_by_time_are_those_of_a_full_scan(autojump_clock, world, archive, folder):
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
        want = next((one for one in timed if one[1] >= time), None)
        assert await log.offset_for_timestamp(time) == want, time
    largest = max(time for _, time, _ in timed)
    assert await log.largest_timestamp() == next(one for one in timed if one[1] == largest)


async def test_an_empty_log_has_no_largest_timestamp(autojump_clock, world):
    assert await new_log(world).largest_timestamp() is None


async def test_a_deleted_log_still_serves_its_leases(autojump_clock, world):
    log = new_log(world)
    append(log, batch())
    found = log.read(0, 1 << 20, 1)
    lease = found.range.lease

    log.abandon()

    assert not lease.cut
    found.range.release()
    with pytest.raises(KafkaError):
        log.read(0, 1, 1)


async def test_an_append_that_fails_leaves_nothing_and_fails_the_log(autojump_clock, world):
    log = new_log(world)
    append(log, batch())
    failures = []
    log.on_failure = failures.append
    world.universe.fault = lambda machine, call, target: (
        OSError(28, "full") if call == "append" else None
    )

    with pytest.raises(LogDirError):
        append(log, batch())

    world.universe.fault = lambda machine, call, target: None
    assert log.end_offset == 1
    assert failures == [log.failed]
    with pytest.raises(LogDirError):
        log.read(0, 1, 1)


async def test_a_failed_sync_is_never_tried_again(autojump_clock, world):
    log = new_log(world)
    append(log, batch())
    world.universe.fault = lambda machine, call, target: (
        OSError(5, "io") if call == "sync" else None
    )
    with pytest.raises(LogDirError):
        await log.sync()
    world.universe.fault = lambda machine, call, target: None

    with pytest.raises(LogDirError):
        await log.sync()
    assert log.recovery_point == 0


async def test_a_sealed_segment_and_enough_messages_ask_for_a_sync(autojump_clock, world):
    log = new_log(world, segment_bytes=200, flush_messages=4)
    asked = []
    log.wants_sync = lambda one: asked.append(one.end_offset)
    for _ in range(4):
        append(log, batch())

    assert asked == [2, 4]
    await log.sync()
    assert log.recovery_point == 4


async def test_an_append_that_makes_a_flush_due_counts_when_it_is_durable(autojump_clock, world):
    log = new_log(world, flush_messages=3)
    told = []
    log.on_durable = lambda: told.append(log.durable_end)
    append(log, batch(2))
    assert log.durable_end == 2  # no flush is due: acknowledged without one

    append(log, batch(1))
    assert log.durable_end == 0
    await log.sync()

    assert told == [3]
    append(log, batch(2))
    assert log.durable_end == 5
    await log.sync()
    assert told == [3]  # nobody waited


async def test_last_stable_offset_stays_before_an_open_transaction(autojump_clock, world):
    log = new_log(world)
    append(log, batch())
    append(log, batch(2, producer_id=1, producer_epoch=0, base_sequence=0, transactional=True))
    append(log, batch())

    assert log.last_stable_offset == 1
    assert log.high_watermark == 4


def test_an_append_that_took_long_makes_the_directory_slow():
    async def main(universe):
        world = universe.machine("broker")
        log = new_log(world)
        append(log, batch())
        fast = log.pace.slow
        universe.fault = lambda machine, call, target: 0.01 if call == "append" else None
        append(log, batch())
        return fast, log.pace.slow, log.pace.long_appends

    assert run_simulated(main) == (False, True, 1)


async def test_a_log_lives_on_a_real_disk():
    with TemporaryDirectory() as path:
        world = RealWorld(SkippingClock())
        log = new_log(world, f"{path}/t-0", segment_bytes=5000, index_interval_bytes=200)
        for _ in range(100):
            append(log, batch(2, size=50))
        await log.sync()
        assert (log.recovery_point, len(log.segments)) == (200, 4)
        await truncate_to(log, 150)
        await log.close()

        again = await open_log(world, log.directory, PARTITION, log.config)

        assert offsets(await read_all(again)) == list(range(150))
        again.abandon()
