import pytest

from tests.log.cleaner.logs import COMPACT, compacted, keyed, write
from tests.log.kit import new_log, produced
from trio_kafka.log.cleaner.selection import examine

DAY_MS = 86_400_000
OLD_MS = 1_700_000_000_000
SIZE = len(keyed([("k0", "v")]))


def log_of(world, segments=5, *, spacing_ms=1000, **settings):
    """Sealed segments of two batches each, and an empty active one's first batch."""
    log = new_log(
        world,
        cleanup_policy=COMPACT,
        segment_bytes=2 * SIZE,
        message_timestamp_before_max_ms=1 << 60,
        segment_ms=1 << 60,
        **settings,
    )
    for number in range(2 * segments + 1):
        write(log, ("k0", "v"), timestamp=OLD_MS + number * spacing_ms)
    return log


async def test_all_sealed_segments_are_dirty_without_a_checkpoint(autojump_clock, world):
    log = log_of(world)

    dirty = await examine(log, None, OLD_MS)

    assert (dirty.first_dirty_offset, dirty.first_uncleanable_offset) == (0, 10)
    assert (dirty.clean_bytes, dirty.cleanable_bytes, dirty.ratio) == (0, 10 * SIZE, 1.0)
    assert dirty.due


async def test_segments_below_the_cleaner_checkpoint_are_clean(autojump_clock, world):
    log = log_of(world)

    dirty = await examine(log, 6, OLD_MS)

    assert (dirty.clean_bytes, dirty.cleanable_bytes) == (6 * SIZE, 4 * SIZE)
    assert (dirty.due, dirty.reset) == (False, False)


@pytest.mark.parametrize(("ratio", "due"), [(0.39, True), (0.4, False), (1.0, False)])
async def test_log_is_due_above_its_min_cleanable_dirty_ratio(autojump_clock, world, ratio, due):
    log = log_of(world, min_cleanable_dirty_ratio=ratio)

    assert (await examine(log, 6, OLD_MS)).due is due


@pytest.mark.parametrize("cleaned", [1, 12])
async def test_cleaner_checkpoint_outside_the_log_is_ignored_and_logged(
    autojump_clock, world, caplog, cleaned
):
    log = log_of(world)
    log.set_start_offset(3)

    dirty = await examine(log, cleaned, OLD_MS)

    assert (dirty.first_dirty_offset, dirty.reset) == (3, True)
    assert "checkpoint of the cleaner ignored" in caplog.text


async def test_checkpoint_below_a_start_offset_that_retention_raised_is_not_logged(
    autojump_clock, world, caplog
):
    log = log_of(world)
    log.config = compacted(cleanup_policy=frozenset({"compact", "delete"}))
    log.set_start_offset(3)

    dirty = await examine(log, 1, OLD_MS)

    assert (dirty.first_dirty_offset, dirty.reset) == (3, True)
    assert not caplog.text


async def test_nothing_is_compacted_above_the_high_watermark(autojump_clock, world):
    log = log_of(world)
    log._high_watermark = 5

    assert (await examine(log, None, OLD_MS)).first_uncleanable_offset == 4


async def test_nothing_is_compacted_above_an_open_transaction(autojump_clock, world):
    log = log_of(world)
    log.producers.note(produced(7, offset=7, transactional=True))

    assert (await examine(log, None, OLD_MS)).first_uncleanable_offset == 6


@pytest.mark.parametrize(("age_ms", "until"), [(0, 10), (5000, 4), (9000, 0), (3999, 6)])
async def test_segments_younger_than_the_min_compaction_lag_are_not_cleanable(
    autojump_clock, world, age_ms, until
):
    log = log_of(world, min_compaction_lag_ms=age_ms)

    dirty = await examine(log, None, OLD_MS + 9000)

    # Timestamps of a segment: 1000, 3000, 5000, 7000, 9000.
    assert dirty.first_uncleanable_offset == until


async def test_young_segments_are_cleanable_when_the_lag_is_ignored(autojump_clock, world):
    log = log_of(world, min_compaction_lag_ms=DAY_MS)

    assert (await examine(log, None, OLD_MS, ignore_lag=True)).first_uncleanable_offset == 10


@pytest.mark.parametrize(("lag_ms", "delay_ms"), [(1000, 3000), (4000, 0), (3999, 1)])
async def test_log_is_due_when_a_dirty_record_exceeds_the_max_compaction_lag(
    autojump_clock, world, lag_ms, delay_ms
):
    log = log_of(world, max_compaction_lag_ms=lag_ms, min_cleanable_dirty_ratio=1.0)

    dirty = await examine(log, 4, OLD_MS + 8000)

    assert dirty.delay_ms == delay_ms
    assert dirty.due is (delay_ms > 0)


async def test_segment_that_a_run_compacted_in_part_counts_as_dirty(autojump_clock, world):
    log = log_of(world, min_cleanable_dirty_ratio=0.4)

    dirty = await examine(log, 5, OLD_MS)

    # As in Kafka, the segment of offsets 4 and 5 counts in both parts.
    assert (dirty.clean_bytes, dirty.cleanable_bytes) == (6 * SIZE, 6 * SIZE)
    assert dirty.due


async def test_old_record_in_a_partly_compacted_segment_makes_the_log_due(autojump_clock, world):
    log = log_of(world, segments=1, max_compaction_lag_ms=1000, min_cleanable_dirty_ratio=1.0)

    dirty = await examine(log, 1, OLD_MS + 1001)

    assert (dirty.delay_ms, dirty.due) == (1, True)


async def test_next_look_is_when_the_min_compaction_lag_ends(autojump_clock, world):
    log = log_of(world, min_compaction_lag_ms=5000)

    dirty = await examine(log, None, OLD_MS + 9000)

    assert dirty.first_uncleanable_offset == 4
    assert dirty.due_ms == OLD_MS + 5000 + 5000
    later = await examine(log, None, dirty.due_ms)
    assert later.first_uncleanable_offset == 6
    assert (await examine(log, None, dirty.due_ms - 1)).first_uncleanable_offset == 4


async def test_next_look_is_when_the_max_compaction_lag_ends(autojump_clock, world):
    log = log_of(world, max_compaction_lag_ms=9000, min_cleanable_dirty_ratio=1.0)

    dirty = await examine(log, 4, OLD_MS + 8000)

    assert (dirty.due, dirty.due_ms) == (False, OLD_MS + 4000 + 9000 + 1)
    assert not (await examine(log, 4, dirty.due_ms - 1)).due
    later = await examine(log, 4, dirty.due_ms)
    assert (later.due, later.due_ms) == (True, None)


async def test_log_without_compaction_lags_has_no_due_time(autojump_clock, world):
    dirty = await examine(log_of(world), 6, OLD_MS)

    assert (dirty.due_ms, dirty.awaited_commit) == (None, None)


@pytest.mark.parametrize(("committed", "awaited"), [(5, 6), (8, 10), (9, 10), (10, None)])
async def test_awaited_commit_is_the_offset_that_makes_another_segment_cleanable(
    autojump_clock, world, committed, awaited
):
    log = log_of(world)
    log._high_watermark = committed

    assert (await examine(log, None, OLD_MS)).awaited_commit == awaited


async def test_next_commit_is_awaited_while_a_transaction_is_open(autojump_clock, world):
    log = log_of(world)
    log.producers.note(produced(7, offset=1, transactional=True))

    assert (await examine(log, None, OLD_MS)).awaited_commit == log.high_watermark + 1


async def test_an_empty_log_has_nothing_to_compact(autojump_clock, world):
    log = new_log(world, cleanup_policy=COMPACT)

    dirty = await examine(log, None, OLD_MS)

    assert (dirty.total_bytes, dirty.ratio, dirty.due) == (0, 0.0, False)
