import logging
from contextlib import asynccontextmanager

import pytest
import trio

from tests.log.cleaner.kit import malformed
from tests.log.cleaner.logs import (
    C0,
    all_pairs,
    compacted,
    content,
    fill_log,
    keyed,
    managed,
    new_cleaner,
    new_log,
    write,
)
from tests.log.kit import append, content_of
from tests.log.managers import format_directory, started
from trio_kafka.log.durability.sync import sync
from trio_kafka.log.files.checkpoints import CLEANER_OFFSETS
from trio_kafka.model import TopicPartition

BOTH = frozenset({"compact", "delete"})
C1 = TopicPartition("c", 1)


async def test_a_dirty_log_is_compacted_and_its_last_values_stay(autojump_clock, world):
    manager = await managed(world)
    log = new_log(manager)
    fill_log(log)
    before = await content(log)
    size, end = log.size, log.end_offset
    cleaner = new_cleaner(manager)

    async with trio.open_nursery() as nursery:
        await nursery.start(cleaner.run)
        await trio.sleep(60)
        nursery.cancel_scope.cancel()

    assert await content(log) == before
    assert log.size < size / 2
    assert (log.start_offset, log.end_offset) == (0, end)
    checkpoint = await content_of(manager.directories[0].root, CLEANER_OFFSETS)
    assert checkpoint == f"0\n1\nc 0 {log.segments.active.base_offset}\n".encode()
    assert not [name for name in log.directory.names() if name.count(".") > 1]


async def test_compacted_log_has_the_same_records_and_segments_after_a_restart(
    autojump_clock, world
):
    manager = await managed(world)
    log = new_log(manager)
    fill_log(log)
    cleaner = new_cleaner(manager)
    await cleaner.clean_now(log)
    pairs, bases = await all_pairs(log), [segment.base_offset for segment in log.segments]
    await manager.close()

    again = (await managed(world, fresh=False)).get(C0)

    assert await all_pairs(again) == pairs
    assert [segment.base_offset for segment in again.segments] == bases
    assert again.end_offset == log.end_offset


async def test_kill_after_a_run_loses_no_record(autojump_clock, world):
    manager = await managed(world)
    log = new_log(manager)
    fill_log(log)
    await new_cleaner(manager).clean_now(log)
    fill_log(log, rounds=1)
    await sync(log)
    pairs = await all_pairs(log)
    manager.abandon()

    again = (await managed(world, fresh=False)).get(C0)

    assert await all_pairs(again) == pairs
    assert again.end_offset == log.end_offset


async def test_tombstone_is_removed_after_delete_retention_ms(autojump_clock, world):
    manager = await managed(world)
    log = new_log(manager, delete_retention_ms=1000)
    write(log, ("a", "1"), ("b", "1"), ("a", None))
    cleaner = new_cleaner(manager)

    await cleaner.clean_now(log)
    first = await all_pairs(log)
    await trio.sleep(2)
    write(log, ("c", "1"))
    await cleaner.clean_now(log)

    assert first == [(1, "b", "1"), (2, "a", None)]
    assert await all_pairs(log) == [(1, "b", "1"), (3, "c", "1")]


async def test_a_batch_that_no_client_can_read_does_not_stop_compaction(
    autojump_clock, world, caplog
):
    """Such a batch is stored while the topic is not compacted: then its records are not checked."""
    manager = await managed(world)
    log = new_log(manager, cleanup_policy=frozenset({"delete"}), delete_retention_ms=60_000)
    write(log, ("k0", "before"))
    append(log, bytearray(malformed(keyed([("k0", "bad")]))))
    log.configure(compacted(delete_retention_ms=60_000))
    fill_log(log)
    cleaner, size = new_cleaner(manager), log.size

    async with running(cleaner):
        await trio.sleep(30)
        assert log.size < size / 2
        assert not cleaner.states.uncleanable
        segment = log.segments.first
        assert "offsets 1 to 1" in segment.unreadable[1]
        assert "unreadable batches found" in caplog.text

        await trio.sleep(60)
        fill_log(log)
        await trio.sleep(30)

    assert log.segments.first.unreadable == {}
    assert await content(log) == {f"k{key}": f"7-{'x' * 20}" for key in range(5)}


async def test_unreadable_batch_is_recorded_for_a_segment_that_was_not_replaced(
    autojump_clock, world
):
    manager = await managed(world)
    log = new_log(manager, delete_retention_ms=60_000)
    append(log, bytearray(malformed(keyed([("k0", "bad")]))))
    cleaner = new_cleaner(manager)
    await cleaner.clean_now(log)
    segment = log.segments.first
    segment.unreadable = {}

    await cleaner.clean_now(log)

    assert log.segments.first is segment
    assert list(segment.unreadable) == [0]


async def test_a_damaged_log_is_uncleanable_and_others_are_compacted(autojump_clock, world, caplog):
    manager = await managed(world)
    bad, good = new_log(manager, C0), new_log(manager, C1)
    fill_log(bad)
    fill_log(good)
    segment = bad.segments.first
    segment.file.truncate(segment.size - 7)
    segment.measure()
    cleaner = new_cleaner(manager)
    before = good.size

    async with trio.open_nursery() as nursery:
        await nursery.start(cleaner.run)
        await trio.sleep(60)
        nursery.cancel_scope.cancel()

    assert good.size < before / 2
    assert list(cleaner.states.uncleanable) == [bad]
    assert "c-0" in cleaner.figures()["reasons"]
    assert f"{0:020}.log" in cleaner.states.uncleanable[bad]
    assert "partition marked uncleanable" in caplog.text
    assert bad.failed is None
    assert not [name for name in bad.directory.names() if name.endswith(".cleaned")]


async def test_number_of_cleaner_threads_changes_while_the_cleaner_runs(autojump_clock, world):
    manager = await managed(world)
    log = new_log(manager)
    fill_log(log)
    before = log.size
    cleaner = new_cleaner(manager, enabled=False)

    async with trio.open_nursery() as nursery:
        await nursery.start(cleaner.run)
        await trio.sleep(60)
        assert (log.size, len(cleaner.cleaners)) == (before, 0)
        cleaner.configure(type(cleaner.settings)(threads=3))
        await trio.sleep(30)
        assert len(cleaner.cleaners) == 3
        nursery.cancel_scope.cancel()

    assert log.size < before / 2


async def test_cleaner_removes_expired_segments_of_a_compacted_log(autojump_clock, world):
    manager = await managed(world)
    both = frozenset({"compact", "delete"})
    log = new_log(manager, cleanup_policy=both, retention_ms=1000, min_cleanable_dirty_ratio=1.0)
    fill_log(log)
    cleaner = new_cleaner(manager)

    async with trio.open_nursery() as nursery:
        await nursery.start(cleaner.run)
        await trio.sleep(60)
        nursery.cancel_scope.cancel()

    assert log.start_offset == log.end_offset
    assert log.size == 0


async def test_cleaner_removes_segments_below_the_start_offset(autojump_clock, world):
    manager = await managed(world)
    log = new_log(manager, min_cleanable_dirty_ratio=1.0)
    fill_log(log)
    log.set_start_offset(20)
    cleaner = new_cleaner(manager)

    await cleaner.apply_retention(log)

    assert 0 < log.segments.first.base_offset <= 20


async def test_a_change_of_settings_restarts_a_run(autojump_clock, world):
    manager = await managed(world)
    log = new_log(manager)
    fill_log(log)
    before = log.size
    cleaner = new_cleaner(manager, io_max_bytes_per_second=0.001)

    async with trio.open_nursery() as nursery:
        await nursery.start(cleaner.run)
        await trio.sleep(60)
        (thread,) = cleaner.cleaners
        assert thread.figures()["partition"] == "c-0"
        assert log.size == before
        cleaner.configure(type(cleaner.settings)())
        await trio.sleep(60)
        nursery.cancel_scope.cancel()

    assert log.size < before / 2
    assert log.writer.claim is None


def counted_looks(manager):
    """Times of the looks at all logs."""
    times, logs_of = [], type(manager).logs

    class Counted(type(manager)):
        @property
        def logs(self):
            times.append(trio.current_time())
            return logs_of.__get__(self)

    manager.__class__ = Counted
    return times


@asynccontextmanager
async def running(cleaner):
    async with trio.open_nursery() as nursery:
        await nursery.start(cleaner.run)
        yield
        nursery.cancel_scope.cancel()


async def until(condition):
    """Return after how many seconds the condition is true, at most a day."""
    began = trio.current_time()
    with trio.fail_after(86_400):
        while not condition():
            await trio.sleep(0.5)
    return trio.current_time() - began


async def test_idle_cleaner_does_not_look_at_logs(autojump_clock, world):
    manager = await managed(world)
    log = new_log(manager)
    fill_log(log)
    cleaner = new_cleaner(manager)

    async with running(cleaner):
        await trio.sleep(60)
        looks = counted_looks(manager)
        await trio.sleep(7 * 86_400)
        assert looks == []
        assert cleaner.figures()["sleeping"] == 1
        assert cleaner.overdue_s == 0


@pytest.mark.parametrize("idle_s", [1, 40, 3600])
async def test_a_log_that_was_written_to_is_compacted_within_the_backoff(
    autojump_clock, world, idle_s
):
    manager = await managed(world)
    log = new_log(manager)
    cleaner = new_cleaner(manager, backoff_ms=15_000)

    async with running(cleaner):
        await trio.sleep(idle_s)
        fill_log(log)
        size = log.size
        assert await until(lambda: log.size < size / 2) < 17


async def test_log_with_constant_appends_is_examined_once_in_each_backoff(autojump_clock, world):
    manager = await managed(world)
    log = new_log(manager, min_cleanable_dirty_ratio=1.0)
    cleaner = new_cleaner(manager, backoff_ms=15_000)

    async with running(cleaner):
        looks = counted_looks(manager)
        for _ in range(600):
            fill_log(log, rounds=1)
            await trio.sleep(1)

    assert 38 <= len(set(looks)) <= 42


async def test_log_is_compacted_soon_after_its_policy_becomes_compact(autojump_clock, world):
    manager = await managed(world)
    log = new_log(manager, cleanup_policy=frozenset({"delete"}), retention_ms=-1)
    fill_log(log)
    size, cleaner = log.size, new_cleaner(manager)

    async with running(cleaner):
        await trio.sleep(3600)
        log.configure(compacted())
        assert await until(lambda: log.size < size / 2) < 17


async def test_a_log_is_compacted_when_its_records_are_committed(autojump_clock, world):
    manager = await managed(world)
    log = new_log(manager)
    cleaner = new_cleaner(manager)

    async with running(cleaner):
        fill_log(log)
        log._high_watermark = 0
        size = log.size
        await trio.sleep(3600)
        assert log.size == size
        log.commit_own()
        assert await until(lambda: log.size < size / 2) < 17


async def test_a_log_is_compacted_when_its_pause_ends(autojump_clock, world):
    manager = await managed(world)
    log = new_log(manager)
    cleaner = new_cleaner(manager)

    async with running(cleaner):
        async with cleaner.states.paused(C0):
            fill_log(log)
            size = log.size
            await trio.sleep(3600)
        assert log.size == size
        assert await until(lambda: log.size < size / 2) < 17


async def test_log_is_compacted_when_its_min_compaction_lag_ends(autojump_clock, world):
    manager = await managed(world)
    log = new_log(manager, min_compaction_lag_ms=3_600_000)
    cleaner = new_cleaner(manager)

    async with running(cleaner):
        fill_log(log)
        size, looks = log.size, counted_looks(manager)
        assert 3600 <= await until(lambda: log.size < size / 2) < 3602
        assert len(set(looks)) < 20


async def test_log_is_compacted_when_its_max_compaction_lag_ends(autojump_clock, world):
    manager = await managed(world)
    log = new_log(manager, max_compaction_lag_ms=3_600_000, min_cleanable_dirty_ratio=1.0)
    cleaner = new_cleaner(manager)

    async with running(cleaner):
        fill_log(log)
        size = log.size
        assert 3600 <= await until(lambda: log.size < size / 2) < 3602


async def test_segment_of_a_compacted_log_is_removed_as_soon_as_retention_ms_ends(
    autojump_clock, world
):
    manager = await managed(world)
    log = new_log(
        manager, cleanup_policy=BOTH, retention_ms=7_200_000, min_cleanable_dirty_ratio=1.0
    )
    cleaner = new_cleaner(manager)

    async with running(cleaner):
        fill_log(log)
        assert 7200 <= await until(lambda: log.size == 0) < 7202


async def test_segments_below_a_raised_start_offset_are_removed_within_the_backoff(
    autojump_clock, world
):
    manager = await managed(world)
    log = new_log(manager, min_cleanable_dirty_ratio=1.0)
    cleaner = new_cleaner(manager)

    async with running(cleaner):
        fill_log(log)
        await trio.sleep(3600)
        log.set_start_offset(20)
        assert await until(lambda: log.segments.first.base_offset > 0) < 17


# Changes of a log during a run


async def test_run_is_abandoned_when_the_policy_changes_to_delete(autojump_clock, world):
    manager = await managed(world)
    log = new_log(manager)
    fill_log(log, rounds=30)
    before, changes = await all_pairs(log), []

    def fault(machine, call, target):
        if call == "create" and target.endswith(".cleaned") and not changes:
            changes.append(target)
            log.configure(compacted(cleanup_policy=frozenset({"delete"}), retention_ms=-1))

    world.universe.fault = fault
    async with running(new_cleaner(manager)):
        await trio.sleep(60)

    assert changes
    assert await all_pairs(log) == before
    assert not [name for name in log.directory.names() if name.endswith(".cleaned")]


async def test_run_ends_after_the_swap_during_which_the_policy_changes_to_delete(
    autojump_clock, world
):
    manager = await managed(world)
    log = new_log(manager)
    fill_log(log, rounds=40)
    size, swaps = log.size, []

    def fault(machine, call, target):
        if call == "rename" and ".log." in target and target.endswith(".cleaned"):
            swaps.append(target)
            log.configure(compacted(cleanup_policy=frozenset({"delete"}), retention_ms=-1))

    world.universe.fault = fault
    values = await content(log)
    async with running(new_cleaner(manager)):
        await trio.sleep(60)

    assert len(swaps) == 1
    assert log.size < size
    assert await content(log) == values
    assert not [name for name in log.directory.names() if name.count(".") > 1]


async def test_deletion_of_a_log_ends_its_run_and_spares_the_new_log_of_its_name(
    autojump_clock, world
):
    manager = await managed(world)
    log = new_log(manager)
    fill_log(log, rounds=30)
    cleaner = new_cleaner(manager, io_max_bytes_per_second=1.0)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(cleaner.clean_now, log)
        await until(lambda: any(name.endswith(".cleaned") for name in log.directory.names()))
        manager.delete(C0)
        new = new_log(manager)
        fill_log(new, rounds=3)
        before, began = await all_pairs(new), trio.current_time()

    ended = trio.current_time() - began
    assert ended < 1  # at this rate the run would have taken an hour
    assert await all_pairs(new) == before
    names = set(new.directory.names()) - {"partition.metadata"}
    assert {name.split(".")[0] for name in names} == {
        f"{segment.base_offset:020}" for segment in new.segments
    }


# Failures


def full_disk(call_of, place):
    """A fault: the disk is full for these calls at this place."""
    return lambda machine, call, target: (
        OSError(28, "full") if call in call_of and place in target else None
    )


async def expired(manager):
    log = new_log(manager, cleanup_policy=BOTH, retention_ms=1000, min_cleanable_dirty_ratio=1.0)
    fill_log(log)
    await trio.sleep(5)
    return log


async def test_retention_is_repeated_after_the_disk_was_full(autojump_clock, world):
    manager = await managed(world)
    log, cleaner = await expired(manager), new_cleaner(manager)
    world.universe.fault = full_disk(("append", "create"), "log-start")

    async with running(cleaner):
        await trio.sleep(600)
        assert log.segments.first.base_offset == 0
        assert not cleaner.states.uncleanable
        assert manager.directories[0].offline is None
        world.universe.fault = lambda *_: None
        assert await until(lambda: log.size == 0) < 17


async def test_run_is_repeated_after_the_disk_was_full_during_the_cleaner_checkpoint(
    autojump_clock, world
):
    manager = await managed(world)
    log, cleaner = new_log(manager), new_cleaner(manager)
    fill_log(log)
    world.universe.fault = full_disk(("append", "create"), CLEANER_OFFSETS)

    async with running(cleaner):
        await trio.sleep(60)
        assert not cleaner.states.uncleanable
        world.universe.fault = lambda *_: None
        await trio.sleep(60)

    assert manager.directories[0].offline is None
    assert manager.directories[0].cleaned(C0) == log.segments.active.base_offset


async def test_io_error_during_retention_takes_the_directory_offline(autojump_clock, world):
    manager = await managed(world)
    log, cleaner = await expired(manager), new_cleaner(manager)
    world.universe.fault = lambda machine, call, target: (
        OSError(5, "broken") if call == "sync" and "log-start" in target else None
    )

    await cleaner.apply_retention(log)

    assert manager.directories[0].offline is not None
    assert not cleaner.states.uncleanable


async def test_a_log_on_a_full_disk_does_not_keep_others_from_compaction(autojump_clock, world):
    for path in ("/full", "/good"):
        await format_directory(world, path, directory_id=path[1:].ljust(22, "A"))
    manager = await started(world, "/full", "/good", config=compacted())
    full, good = new_log(manager, C0), new_log(manager, C1)
    assert [log.directory.path for log in (full, good)] == ["/full/c-0", "/good/c-1"]
    fill_log(full, rounds=20)
    fill_log(good, rounds=10)
    size = good.size
    world.universe.fault = lambda machine, call, target: (
        OSError(28, "full")
        if target.startswith("/full") and call == "create" and target.endswith(".cleaned")
        else None
    )

    async with running(new_cleaner(manager)):
        await trio.sleep(60)

    assert good.size < size / 2
    assert full.failed is None


async def test_offset_gaps_of_a_compaction_are_not_damage_after_the_policy_becomes_delete(
    autojump_clock, world, caplog
):
    manager = await managed(world)
    log = new_log(manager)
    fill_log(log, rounds=30)
    await new_cleaner(manager).clean_now(log)
    before = await all_pairs(log)
    log.configure(compacted(cleanup_policy=frozenset({"delete"}), retention_ms=-1))
    caplog.clear()

    assert await all_pairs(log) == before

    assert not [record for record in caplog.records if record.levelno >= logging.ERROR]


async def test_compacted_segment_without_timestamps_keeps_the_age_of_the_replaced_segments(
    autojump_clock, world
):
    manager = await managed(world)
    log = new_log(manager)
    fill_log(log, rounds=30)
    newest = max(segment.modified_ms() for segment in log.segments)
    await trio.sleep(3600)

    await new_cleaner(manager).clean_now(log)

    assert log.size < 1000
    assert all(segment.modified_ms() <= newest for segment in log.segments if segment.sealed)


async def test_offset_gaps_of_a_run_that_a_policy_change_ended_are_not_damage(
    autojump_clock, world, caplog
):
    manager = await managed(world)
    log = new_log(manager)
    fill_log(log, rounds=30)

    def fault(machine, call, target):
        del machine
        if call == "unlink" and target.endswith(".log.deleted"):  # amid a swap
            log.configure(compacted(cleanup_policy=frozenset({"delete"}), retention_ms=-1))

    world.universe.fault = fault
    assert await new_cleaner(manager).clean_now(log) is None
    await all_pairs(log)

    assert not manager.directories[0].cleaned(C0)
    assert not [record for record in caplog.records if record.levelno >= logging.ERROR]
