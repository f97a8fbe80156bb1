"""Each setting of a log that bounds its segments, indexes and unsynced records: below it, at it,
above it.

What is refused to clients stands in tests/broker/test_limits.py, what may go in test_retention.py.
"""

import pytest
import trio

from tests.log.kit import append, batch, headers, new_log
from tests.log.managers import T0, TOPIC_ID, format_directory, started
from trio_kafka.log.append import append_as_follower
from trio_kafka.log.config import LogConfig
from trio_kafka.log.manager.maintenance import forget_producers, sync_due

SIZE = len(batch(timestamp=1))


def follow(log, content):
    """A follower appends what its leader has given an offset."""
    content[:8] = log.end_offset.to_bytes(8)
    append_as_follower(log, memoryview(content), headers(content))


BOTH = pytest.mark.parametrize("add", [append, follow], ids=["leader", "follower"])


@BOTH
@pytest.mark.parametrize(("more", "segments"), [(-1, [0, 1]), (0, [0]), (1, [0])])
async def test_segment_is_rolled_when_a_batch_would_exceed_segment_bytes(
    autojump_clock, world, more, segments, add
):
    log = new_log(world, segment_bytes=2 * SIZE + more)
    for _ in range(2):
        add(log, batch(timestamp=1))

    assert [segment.base_offset for segment in log.segments] == segments


@BOTH
@pytest.mark.parametrize(("more", "segments"), [(-1, [0, 1]), (0, [0]), (1, [0])])
async def test_segment_is_rolled_when_its_age_exceeds_segment_ms(
    autojump_clock, world, more, segments, add
):
    """Of the times that records carry; a segment is as old as its first one."""
    log = new_log(world, segment_ms=1000 + more, message_timestamp_before_max_ms=1 << 62)
    now = log.now_ms()
    add(log, batch(timestamp=now - 1000))
    await trio.sleep(0.1)  # a younger segment does not roll by age
    add(log, batch(timestamp=now))

    assert [segment.base_offset for segment in log.segments] == segments


@pytest.mark.parametrize(
    ("size", "segments"), [(35, [0, 2, 4]), (36, [0, 3]), (47, [0, 3]), (48, [0, 4])]
)
async def test_segment_is_rolled_when_its_time_index_reaches_segment_index_bytes(
    autojump_clock, world, size, segments
):
    """An entry of the time index has 12 bytes; one is left for the end of the segment."""
    log = new_log(world, index_interval_bytes=0, segment_index_bytes=size)
    for number in range(5):
        append(log, batch(timestamp=log.now_ms() + number))

    assert [segment.base_offset for segment in log.segments] == segments


@pytest.mark.parametrize(("more", "entries"), [(-1, 1), (0, 0), (1, 0)])
async def test_index_entry_is_added_when_index_interval_bytes_is_exceeded(
    autojump_clock, world, more, entries
):
    """An entry is due when more than so many bytes have come since the last one."""
    log = new_log(world, index_interval_bytes=2 * SIZE + more)
    for _ in range(3):
        append(log, batch(timestamp=1))

    assert log.segments.active.offsets.entries.count == entries


@pytest.mark.parametrize(("more", "expected"), [(-1, [4]), (0, [4]), (1, [])])
async def test_sync_is_requested_at_flush_messages_unsynced_records(
    autojump_clock, world, more, expected
):
    log = new_log(world, flush_messages=4 + more)
    result = []
    log.wants_sync = lambda log_to_sync: result.append(log_to_sync.end_offset)
    append(log, batch(2))
    append(log, batch(2))

    assert result == expected


@pytest.mark.parametrize(("after_ms", "synced"), [(499, 0), (500, 1), (501, 1)])
async def test_log_is_synced_after_flush_ms(autojump_clock, world, after_ms, synced):
    await format_directory(world, "/data")
    manager = await started(world)
    log = manager.create(T0, TOPIC_ID, LogConfig(flush_ms=500))
    append(log, batch())
    log.last_sync_ms = log.now_ms()

    await trio.sleep(after_ms / 1000)
    await sync_due(manager)

    assert log.recovery_point == synced


@pytest.mark.parametrize(("after_ms", "is_known"), [(-1, True), (0, False), (1, False)])
async def test_producer_is_forgotten_at_producer_id_expiration_ms(
    autojump_clock, world, after_ms, is_known
):
    await format_directory(world, "/data")
    manager = await started(world)
    log = manager.create(T0, TOPIC_ID, LogConfig())
    now = log.now_ms()
    fields = {"producer_id": 7, "producer_epoch": 0, "base_sequence": 0}
    append(log, batch(timestamp=now - 60_000 - after_ms, **fields))

    await forget_producers(manager, 60_000)

    assert log.now_ms() == now
    assert bool(len(log.producers)) == is_known
