import trio

from tests.log.cleaner.logs import C0, fill_log, managed, new_cleaner, new_log
from trio_kafka.log.cleaner.attempt import Failure
from trio_kafka.log.cleaner.look import Look, examine_one, look_at
from trio_kafka.log.cleaner.states import CleaningStates
from trio_kafka.log.files.checkpoints import CLEANER_OFFSETS, read_offsets
from trio_kafka.model import TopicPartition

C1 = TopicPartition("c", 1)


async def test_log_with_the_highest_dirty_ratio_is_chosen(autojump_clock, world):
    manager = await managed(world)
    less, more = new_log(manager, C0), new_log(manager, C1)
    cleaner = new_cleaner(manager)
    for log in (less, more):
        fill_log(log, rounds=3)
        await cleaner.clean_now(log)
    fill_log(less, rounds=2)
    fill_log(more, rounds=12)

    look = await look_at(manager, cleaner.states)

    assert look.chosen is not None
    assert look.chosen.log is more
    assert look.ratio == look.chosen.ratio
    assert (look.due_ms, look.retry) == (None, False)


async def test_log_during_retention_is_not_chosen_and_examined_again_later(autojump_clock, world):
    manager = await managed(world)
    log, states = new_log(manager), CleaningStates()
    fill_log(log)

    with states.retaining(log):
        look = await look_at(manager, states)

    assert (look.chosen, look.retry) == (None, True)


async def test_logs_that_are_uncleanable_or_paused_are_not_chosen(autojump_clock, world):
    manager = await managed(world)
    damaged, paused, states = new_log(manager, C0), new_log(manager, C1), CleaningStates()
    fill_log(damaged)
    fill_log(paused)
    states.uncleanable[damaged] = "damage"

    async with states.paused(C1):
        look = await look_at(manager, states)

    assert (look.chosen, look.retry) == (None, False)


async def test_log_notifies_watchers_once_when_its_awaited_commit_happens(autojump_clock, world):
    manager = await managed(world)
    log, states = new_log(manager), CleaningStates()
    fill_log(log)
    log._high_watermark = 0
    look = await look_at(manager, states)
    assert look.chosen is None
    rings = []

    with manager.watched(rings.append):
        log.high_watermark = 1
        assert rings == []
        log.high_watermark = log.end_offset
        log.high_watermark = log.end_offset

    assert rings == [log]


async def test_examination_that_found_no_descriptor_is_repeated(autojump_clock, world):
    manager = await managed(world, min_compaction_lag_ms=1)
    fill_log(new_log(manager, min_compaction_lag_ms=1))
    await manager.close()
    again = await managed(world, fresh=False, min_compaction_lag_ms=1)
    world.universe.fault = lambda machine, call, target: (
        OSError(24, "no descriptor") if call == "open" else None
    )

    look = await look_at(again, CleaningStates())

    assert look.retry
    assert again.directories[0].offline is None


async def test_examination_of_a_deleted_log_is_a_final_failure(autojump_clock, world):
    manager = await managed(world)
    log = new_log(manager)
    manager.delete(C0)

    assert await examine_one(manager, CleaningStates(), log) is Failure.FINAL


async def test_a_checkpoint_that_contradicts_the_log_is_written_anew(autojump_clock, world):
    manager = await managed(world)
    log = new_log(manager)
    fill_log(log)
    (directory,) = manager.directories
    await directory.write_cleaned(log, log.end_offset + 100)

    await examine_one(manager, CleaningStates(), log)

    assert (await read_offsets(directory.root, CLEANER_OFFSETS))[C0] == 0


async def test_an_expired_segment_that_is_not_committed_waits_for_a_commit(autojump_clock, world):
    manager = await managed(world)
    log, look = new_log(manager), Look()
    fill_log(log)
    log._high_watermark = 3

    look.see_expiry(log, log.now_ms() - 1)

    assert log.awaited_commit == 4
    assert look.due_ms is None


async def test_next_look_is_due_at_the_earliest_expiry(autojump_clock, world):
    manager = await managed(world)
    log, look = new_log(manager), Look()
    now = log.now_ms()
    await trio.lowlevel.checkpoint()

    for due_ms in (None, now + 30, now + 10, now + 20):
        look.see_expiry(log, due_ms)
    look.see_expiry(log, Failure.PASSING)

    assert (look.due_ms, look.retry) == (now + 10, True)
