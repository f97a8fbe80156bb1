import trio

from tests.log.kit import (
    append,
    batch,
    headers,
    new_log,
    offsets,
    read_all,
)
from trio_kafka.log.append import append_as_follower
from trio_kafka.log.rolling import roll, roll_in_thread, skip_in_thread
from trio_kafka.testing.simulation import simulated_world


async def test_segment_is_rolled_when_the_next_batch_would_not_fit(autojump_clock, world):
    log = new_log(world, segment_bytes=300)
    for _ in range(7):
        append(log, batch(size=10))

    assert [segment.base_offset for segment in log.segments] == [0, 3, 6]
    assert log.directory.exists("00000000000000000003.snapshot")
    assert offsets(await read_all(log)) == list(range(7))


async def test_segment_is_rolled_when_its_first_record_is_too_old(autojump_clock, world):
    log = new_log(world, segment_ms=1000, message_timestamp_before_max_ms=1 << 62)
    now = log.now_ms()
    append(log, batch(timestamp=now - 2000))
    await trio.sleep(0.1)
    append(log, batch(timestamp=now - 1000))
    append(log, batch(timestamp=now - 999))

    assert [segment.base_offset for segment in log.segments] == [0, 2]


async def test_segment_ms_of_one_millisecond_rolls_at_most_ten_times_a_second(
    autojump_clock, world
):
    log = new_log(world, segment_ms=1)
    for _ in range(100):
        append(log, batch(timestamp=log.now_ms()))
        await trio.sleep(0.01)

    assert 9 <= len(log.segments) <= 11


async def test_segment_without_timestamps_is_rolled_by_the_time_of_its_first_append(
    autojump_clock, world
):
    log = new_log(world, segment_ms=1000)
    append(log, batch())
    await trio.sleep(0.9)
    append(log, batch())
    await trio.sleep(0.2)
    append(log, batch())

    assert [segment.base_offset for segment in log.segments] == [0, 2]


async def test_segment_is_rolled_when_an_index_is_full(autojump_clock, world):
    log = new_log(world, index_interval_bytes=0, segment_index_bytes=36)
    for number in range(5):
        append(log, batch(timestamp=log.now_ms() + number))

    assert [segment.base_offset for segment in log.segments] == [0, 3]


async def test_follower_rolls_before_an_offset_out_of_reach_of_the_segment(autojump_clock, world):
    log = new_log(world)
    append(log, batch())
    far = batch(base_offset=1 << 31)
    append_as_follower(log, memoryview(far), headers(far))

    assert [segment.base_offset for segment in log.segments] == [0, 1]


async def test_leader_rolls_before_an_offset_out_of_reach_of_the_segment(autojump_clock, world):
    log = new_log(world)
    append(log, batch(timestamp=1))
    log.end_offset = 1 << 31
    append(log, batch(timestamp=1))

    assert [segment.base_offset for segment in log.segments] == [0, 1 << 31]


async def test_each_segment_has_a_jitter_of_its_own(autojump_clock, world):
    log = new_log(world, segment_ms=1 << 40, segment_jitter_ms=1 << 40)
    drawn = {log.jitter_ms}
    for _ in range(3):
        append(log, batch())
        roll(log)
        drawn.add(log.jitter_ms)

    assert len(drawn) == 4


async def test_the_end_of_a_log_may_skip_offsets(world, autojump_clock) -> None:
    log = new_log(world)
    append(log, batch(2))

    async with log.writer.turn("roll"):
        await skip_in_thread(log, 50)

    assert log.end_offset == 50
    assert append(log, batch(1)).first_offset == 50
    assert [record.offset for record in await read_all(log)] == [0, 1, 50]


async def test_roll_in_a_thread_leaves_a_usable_log_when_cancelled_at_any_moment(autojump_clock):
    for passes in range(40):  # the cancellation comes at each moment of the roll
        log = new_log(simulated_world(seed=passes))
        append(log, batch())

        with trio.move_on_after(passes * 0.0005):
            async with log.writer.turn("roll"):
                await roll_in_thread(log)

        assert log.writer.blocked_by is None
        append(log, batch())
        roll(log)
        append(log, batch())
        assert log.failed is None
        assert log.end_offset == 3
