import pytest

from tests.log.cleaner.logs import C0, fill_log, keyed, managed, new_log, write
from tests.log.kit import append, produced
from trio_kafka.errors import LogDirError
from trio_kafka.log.cleaner.cleaner import CleaningPlan, clean_log, plan
from trio_kafka.log.cleaner.job import CleanedGroup, LastRecord
from trio_kafka.log.cleaner.runner import Progress
from trio_kafka.log.cleaner.selection import examine
from trio_kafka.log.cleaner.settings import CleanerSettings
from trio_kafka.log.files.checkpoints import RECOVERY_POINTS, read_offsets
from trio_kafka.log.index.aborted_transactions import AbortedTransaction


async def dirty_log(world, **settings):
    manager = await managed(world, **settings)
    log = new_log(manager, **settings)
    fill_log(log)
    return manager, await examine(log, None, log.now_ms())


async def test_plan_of_a_run_holds_the_segments_producers_and_settings_of_its_log(
    autojump_clock, world
):
    _, dirty = await dirty_log(world, delete_retention_ms=7, index_interval_bytes=1)
    log = dirty.log
    log.producers.note(produced(5, 3, offset=12, delta=2))
    log.producers.note_marker(produced(6, 1, offset=20), 0)
    aborted = AbortedTransaction(producer_id=6, first_offset=3, last_offset=9, last_stable_offset=9)
    log.segments.active.transactions.append(aborted)

    planned = await plan(dirty, CleanerSettings(dedupe_buffer_bytes=999, threads=3), ".x.cleaned")

    job, rules = planned.job, planned.job.rules
    sealed = [segment for segment in log.segments if segment.sealed]
    assert planned.segments == tuple(sealed)
    assert planned.end_offset == log.segments.active.base_offset
    assert [segment.base_offset for segment in job.segments] == [
        segment.base_offset for segment in sealed
    ]
    assert all(segment.size for segment in job.segments)
    assert all(segment.index_size and segment.time_index_size for segment in job.segments)
    assert (job.first_dirty_offset, job.first_uncleanable_offset) == (0, planned.end_offset)
    assert (rules.delete_retention_ms, rules.dedupe_buffer_bytes) == (7, 333)
    assert rules.active_producers == {5: LastRecord(14, 3), 6: LastRecord(None, 1)}
    assert job.aborted == (aborted,)
    assert (job.suffix, len(job.salt), job.columnar) == (".x.cleaned", 16, False)


async def test_segments_and_end_offset_of_a_cleaned_group_are_found(autojump_clock, world):
    _, dirty = await dirty_log(world)
    planned = await plan(dirty, CleanerSettings(), ".cleaned")
    first, second, third, *_, last = planned.segments

    def group(*segments):
        return CleanedGroup(
            base_offset=segments[0].base_offset,
            replaced=tuple(segment.base_offset for segment in segments),
            size=0,
            max_timestamp=-1,
            max_timestamp_offset=0,
            transactions=0,
            unchanged=False,
        )

    assert planned.replaced_by(group(first, second)) == (first, second)
    assert planned.end_of(group(first, second)) == third.base_offset
    assert planned.end_of(group(last)) == planned.end_offset


async def test_run_raises_the_recovery_point_above_the_segments_that_are_replaced(
    autojump_clock, world
):
    manager, dirty = await dirty_log(world)
    (directory,) = manager.directories
    assert dirty.log.recovery_point == 0

    cleaned = await clean_log(dirty, directory, CleanerSettings(), progress=Progress())

    assert cleaned is not None
    points = await read_offsets(directory.root, RECOVERY_POINTS)
    assert points[C0] >= dirty.first_uncleanable_offset
    assert directory.cleaned(C0) == cleaned.end_offset


async def test_next_run_compacts_the_records_for_which_the_key_map_had_no_room(
    autojump_clock, world
):
    manager = await managed(world)
    log = new_log(manager)
    for number in range(200):
        append(log, keyed([(f"k{number}", "v")]))
    (directory,) = manager.directories
    settings = CleanerSettings(dedupe_buffer_bytes=2400)
    dirty = await examine(log, None, log.now_ms())

    first = await clean_log(dirty, directory, settings, progress=Progress())
    dirty = await examine(log, directory.cleaned(C0), log.now_ms())
    second = await clean_log(dirty, directory, settings, progress=Progress())

    assert 0 < first.end_offset < second.end_offset < log.end_offset
    assert directory.cleaned(C0) == second.end_offset


@pytest.mark.parametrize("call", ["create", "append", "read", "rename", "sync_directory", "unlink"])
async def test_io_error_during_a_run_takes_the_directory_offline(autojump_clock, world, call):
    manager, dirty = await dirty_log(world)
    (directory,) = manager.directories

    def fault(machine, name, target):
        broken = name == call and "c-0" in target and "checkpoint" not in target
        return OSError(5, "broken") if broken else None

    world.universe.fault = fault
    with pytest.raises(LogDirError):
        await clean_log(dirty, directory, CleanerSettings(), progress=Progress())

    assert directory.offline is not None


async def test_log_without_cleanable_bytes_is_not_due_and_can_be_planned(autojump_clock, world):
    manager, dirty = await dirty_log(world)
    (directory,) = manager.directories
    log = dirty.log
    await clean_log(dirty, directory, CleanerSettings(), progress=Progress())
    names, size = set(log.directory.names()), log.size
    write(log, ("k0", "last"))

    dirty = await examine(log, directory.cleaned(C0), log.now_ms())

    assert (dirty.cleanable_bytes, dirty.due) == (0, False)
    assert log.directory.names()
    assert names <= set(log.directory.names())
    assert size < log.size
    assert isinstance(await plan(dirty, CleanerSettings(), ".cleaned"), CleaningPlan)
