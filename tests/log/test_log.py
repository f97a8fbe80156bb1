from random import Random
from tempfile import TemporaryDirectory

import pytest

from tests.log.kit import (
    PARTITION,
    append,
    batch,
    decompression,
    header,
    headers,
    new_log,
    offsets,
    read,
    read_all,
)
from trio_kafka.errors import ErrorCode, KafkaError, LogDirError
from trio_kafka.log.append import append_as_follower, append_as_leader, append_in_thread
from trio_kafka.log.config import LogConfig
from trio_kafka.log.durability.sync import close, sync
from trio_kafka.log.read import read_bytes
from trio_kafka.log.recovery.partition import open_log
from trio_kafka.log.rolling import roll
from trio_kafka.log.timestamp_search import offset_for_timestamp
from trio_kafka.log.truncate import truncate_to
from trio_kafka.records.batch import check_crc, read_header
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
    assert await read_bytes(log, 3, 1) == bytes(content)


def state_of(log):
    """All that an append changes, segment by segment too."""
    values = [log.end_offset, log.flush_end, log.epochs.rows]
    for segment in log.segments:
        values += [segment.base_offset, segment.size, segment.sealed, segment.rolling_timestamp]
        values += [segment.max_timestamp, segment.max_timestamp_offset, segment._since_index]
        values += [
            list(segment._recent),
            segment.offsets.entries.count,
            segment.times.entries.count,
        ]
    return values


@pytest.mark.parametrize("seed", range(30))
async def test_random_appends_in_a_thread_and_in_the_loop_write_the_same_log(
    autojump_clock, world, seed
):
    chance = Random(seed)
    settings = chance.choice(
        [
            {"segment_bytes": 600, "index_interval_bytes": 150},
            {"index_interval_bytes": 100, "segment_index_bytes": 40},
            {"segment_ms": 500, "flush_messages": 7},
            {"message_timestamp_type": "LogAppendTime", "segment_bytes": 900},
        ]
    )
    log, other = (new_log(world, f"/{name}-0", **settings) for name in ("a", "b"))
    syncs = []
    log.wants_sync, other.wants_sync = syncs.append, syncs.append
    epoch, time = 0, 1000
    for number in range(80):
        epoch += not chance.randrange(20)
        time += chance.randrange(-50, 150)
        fields = {"producer_id": number, "producer_epoch": 0, "base_sequence": 0}
        content = batch(
            chance.randrange(1, 4),
            size=chance.choice((10, 100)),
            timestamp=chance.choice((None, time, time)),
            **(fields if chance.random() < 0.1 else {}),
        )
        copy = bytearray(content)
        appended = append(log, content, epoch)
        threaded = await append_in_thread(other, memoryview(copy), header(copy), leader_epoch=epoch)
        assert threaded == appended
        other.high_watermark = other.end_offset

        assert copy == content
        assert state_of(log) == state_of(other)
    assert await read_bytes(log, 0, 1 << 20) == await read_bytes(other, 0, 1 << 20)
    assert syncs.count(log) == syncs.count(other)
    assert len(log.segments) > 1 or log.flush_end


@pytest.mark.parametrize(
    ("state", "raised"),
    [
        ({"closed": True}, KafkaError),
        ({"failed": LogDirError("/a", "broken")}, LogDirError),
    ],
)
async def test_append_to_a_closed_or_failed_log_is_refused(autojump_clock, world, state, raised):
    log = new_log(world)
    append(log, batch(timestamp=1))
    for name, value in state.items():
        setattr(log, name, value)

    with pytest.raises(raised):
        append(log, batch(timestamp=1))

    assert log.end_offset == 1


async def test_next_append_in_a_suspect_directory_is_checked_for_disk_waits(autojump_clock, world):
    log = new_log(world)
    append(log, batch(timestamp=1))
    log.latency.elapsed = iter((10.0, 10.1)).__next__
    log.latency._waits = iter(range(10)).__next__

    append(log, batch(timestamp=1))  # which took 100 ms
    assert (log.latency.suspect, log.latency.calm) == (True, True)
    log.latency.elapsed = iter((10.2, 10.2, 10.3, 10.3)).__next__
    append(log, batch(timestamp=1))  # and waited
    assert not log.latency.calm


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP])
async def test_log_append_time_is_written_into_the_header_and_its_crc(autojump_clock, world, codec):
    log = new_log(world, message_timestamp_type="LogAppendTime")
    content = batch(3, timestamp=1, codec=codec)

    appended = append(log, content)

    header = read_header(content)
    check_crc(content, 0, header)
    assert appended.append_time_ms == header.max_timestamp == log.now_ms()
    assert header.is_log_append_time
    result = await offset_for_timestamp(log, 1, decompression(log.world))
    assert result.timestamp == header.max_timestamp


@pytest.mark.parametrize(
    ("settings", "content", "code"),
    [
        ({"max_message_bytes": 100}, batch(size=100), ErrorCode.MESSAGE_TOO_LARGE),
        ({"segment_bytes": 100}, batch(size=100), ErrorCode.RECORD_LIST_TOO_LARGE),
    ],
)
async def test_batch_above_the_size_limits_of_the_topic_is_not_written(
    autojump_clock, world, settings, content, code
):
    log = new_log(world, **settings)

    with pytest.raises(KafkaError) as caught:
        append(log, content)

    assert error(caught) is code
    assert (log.end_offset, log.size) == (0, 0)


async def test_duplicate_batch_is_answered_with_the_offsets_of_the_first(autojump_clock, world):
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


@pytest.mark.parametrize("kind", ["CreateTime", "LogAppendTime"])
async def test_duplicate_batch_is_answered_with_the_timestamp_of_the_first(
    autojump_clock, world, kind
):
    log = new_log(world, message_timestamp_type=kind)
    sent = {"timestamp": 70, "producer_id": 5, "producer_epoch": 0, "base_sequence": 0}
    first = append(log, batch(3, **sent))
    (noted,) = log.producers.get(5).batches

    again = append(log, batch(3, **sent))

    assert first.append_time_ms == (-1 if kind == "CreateTime" else noted.timestamp)
    assert again.append_time_ms == noted.timestamp
    assert kind == "LogAppendTime" or noted.timestamp == 72


async def test_follower_keeps_offsets_of_the_leader_and_refuses_offsets_below_its_end(
    autojump_clock, world
):
    log = new_log(world)
    content = batch(2, base_offset=10, leader_epoch=3)
    append_as_follower(log, memoryview(content), headers(content))

    assert log.end_offset == 12
    assert log.epochs.rows == [(3, 10)]
    with pytest.raises(KafkaError) as caught:
        append_as_follower(log, memoryview(content), headers(content))
    assert error(caught) is ErrorCode.OFFSET_OUT_OF_RANGE


async def test_failed_append_adds_no_record_and_fails_the_log(autojump_clock, world):
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
        read(log, 0, 1, 1)


async def test_last_stable_offset_stays_before_an_open_transaction(autojump_clock, world):
    log = new_log(world)
    append(log, batch())
    append(log, batch(2, producer_id=1, producer_epoch=0, base_sequence=0, transactional=True))
    append(log, batch())

    assert log.last_stable_offset == 1
    assert log.high_watermark == 4


async def test_last_stable_offset_is_not_below_the_start_of_the_log(autojump_clock, world):
    log = new_log(world)
    append(log, batch(2, producer_id=1, producer_epoch=0, base_sequence=0, transactional=True))
    append(log, batch())

    log.set_start_offset(1)

    assert (log.start_offset, log.last_stable_offset, log.high_watermark) == (1, 1, 3)


def test_long_append_makes_the_directory_slow():
    async def main(universe):
        world = universe.machine("broker")
        log = new_log(world)
        append(log, batch())
        fast = log.latency.slow
        universe.fault = lambda machine, call, target: 0.01 if call == "append" else None
        append(log, batch())
        return fast, log.latency.slow, log.latency.long_appends

    assert run_simulated(main) == (False, True, 1)


async def test_log_on_a_real_disk_is_appended_synced_truncated_and_reopened():
    with TemporaryDirectory() as path:
        world = RealWorld(SkippingClock())
        log = new_log(world, f"{path}/t-0", segment_bytes=5000, index_interval_bytes=200)
        for _ in range(100):
            append(log, batch(2, size=50))
        await sync(log)
        assert (log.recovery_point, len(log.segments)) == (200, 4)
        await truncate_to(log, 150)
        await close(log)

        again = await open_log(world, log.directory, PARTITION, config=log.config)

        assert offsets(await read_all(again)) == list(range(150))
        again.abandon()


async def test_a_follower_refuses_batches_that_exceed_a_segment_together(autojump_clock, world):
    log = new_log(world, segment_bytes=200)
    content = batch(size=50) + batch(size=50, base_offset=1)

    with pytest.raises(KafkaError) as caught:
        append_as_follower(log, memoryview(content), headers(content))

    assert caught.value.code is ErrorCode.RECORD_LIST_TOO_LARGE
    assert log.end_offset == 0
    half = batch(size=50)
    append_as_follower(log, memoryview(half), headers(half))
    assert log.end_offset == 1


async def test_log_reports_rolls_start_offset_changes_new_settings_and_its_close(
    autojump_clock, world
):
    log, changes = new_log(world), []
    log.on_change = changes.append

    append(log, batch())
    append(log, batch())
    assert changes == []
    roll(log)
    assert len(changes) == 1
    log.set_start_offset(1)
    log.set_start_offset(1)
    assert len(changes) == 2
    log.configure(LogConfig(retention_ms=5))
    log.configure(LogConfig(retention_ms=5))
    assert len(changes) == 3
    log.abandon()
    log.abandon()
    assert changes == [log] * 4


async def test_an_awaited_commit_is_reported_once(autojump_clock, world):
    log, changes = new_log(world), []
    append_as_leader(log, memoryview(content := batch(5)), header(content), leader_epoch=0)
    log.on_change = changes.append
    log.await_commit(5)
    log.await_commit(3)
    log.await_commit(4)

    log.high_watermark = 2
    assert changes == []
    log.commit_own()
    log.commit_own()

    assert changes == [log]
