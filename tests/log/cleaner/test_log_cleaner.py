import logging

import trio

from tests.log.cleaner.logs import (
    C0,
    all_pairs,
    compacted,
    content,
    fill_log,
    managed,
    new_cleaner,
    new_log,
    write,
)
from tests.log.kit import content_of
from trio_kafka.log.durability.sync import sync
from trio_kafka.log.files.checkpoints import CLEANER_OFFSETS
from trio_kafka.model import TopicPartition

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


async def test_a_start_finds_the_compacted_log(autojump_clock, world):
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


async def test_a_kill_after_a_run_loses_nothing(autojump_clock, world):
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


async def test_the_dirtiest_log_is_first(autojump_clock, world):
    manager = await managed(world)
    less, more = new_log(manager, C0), new_log(manager, C1)
    cleaner = new_cleaner(manager)
    for log in (less, more):
        fill_log(log, rounds=3)
        await cleaner.clean_now(log)
    fill_log(less, rounds=2)
    fill_log(more, rounds=12)

    found = await cleaner._find_dirtiest()

    assert found is not None
    assert found.log is more
    assert cleaner.dirtiest_ratio == found.ratio


async def test_a_tombstone_leaves_after_its_time(autojump_clock, world):
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


async def test_a_damaged_log_is_set_aside_and_others_are_compacted(autojump_clock, world, caplog):
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
    assert list(cleaner.states.set_aside) == [bad]
    assert "c-0" in cleaner.figures()["reasons"]
    assert f"{0:020}.log" in cleaner.states.set_aside[bad]
    assert "partition set aside as uncleanable" in caplog.text
    assert bad.failed is None
    assert not [name for name in bad.directory.names() if name.endswith(".cleaned")]


async def test_settings_take_effect_while_it_runs(autojump_clock, world):
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


async def test_retention_of_a_compacted_log_is_the_cleaners_work(autojump_clock, world):
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


async def test_segments_below_the_start_offset_go(autojump_clock, world):
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
        (one,) = cleaner.cleaners
        assert one.figures()["partition"] == "c-0"
        assert log.size == before
        cleaner.configure(type(cleaner.settings)())
        await trio.sleep(60)
        nursery.cancel_scope.cancel()

    assert log.size < before / 2
    assert log.writer.claim is None


async def test_an_idle_cleaner_looks_less_often_until_a_log_changes(autojump_clock, world):
    manager = await managed(world)
    log = new_log(manager)
    cleaner = new_cleaner(manager)
    looks = []
    find = cleaner._find_dirtiest

    async def counted():
        looks.append(trio.current_time())
        return await find()

    cleaner._find_dirtiest = counted
    async with trio.open_nursery() as nursery:
        await nursery.start(cleaner.run)
        await trio.sleep(7 * 86_400)
        assert 2000 < len(looks) < 2100
        looks.clear()
        for _ in range(60):
            write(log, ("a", "1"))
            await trio.sleep(10)
        assert len(looks) >= 20
        nursery.cancel_scope.cancel()


async def test_gaps_of_a_compaction_are_no_damage_when_the_policy_is_delete_again(
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

    assert not [one for one in caplog.records if one.levelno >= logging.ERROR]


async def test_a_compacted_segment_without_timestamps_is_as_old_as_those_it_replaces(
    autojump_clock, world
):
    manager = await managed(world)
    log = new_log(manager)
    fill_log(log, rounds=30)
    newest = max(segment.modified_ms() for segment in log.segments)
    await trio.sleep(3600)

    await new_cleaner(manager).clean_now(log)

    assert log.size < 1000
    assert all(one.modified_ms() <= newest for one in log.segments if one.sealed)


async def test_gaps_of_a_run_that_a_change_of_policy_ends_are_no_damage(
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
    assert not [one for one in caplog.records if one.levelno >= logging.ERROR]
