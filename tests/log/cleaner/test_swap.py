"""The swap of compacted segments: readers, crashes at each call, changes of the log meanwhile."""

from functools import partial

import pytest
import trio

from tests.lanes import offset_below
from tests.log.cleaner.kit import rules
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
from tests.log.kit import append, fill, read, read_all
from trio_kafka.errors import LogDirError
from trio_kafka.log.cleaner.job import CleanedGroup, CleaningJob
from trio_kafka.log.cleaner.swap import SupersededError, swap_in
from trio_kafka.log.durability.sync import sync
from trio_kafka.log.producer_snapshots import snapshots_among
from trio_kafka.log.truncate import truncate_to
from trio_kafka.testing.simulation import run_simulated, run_until_crash
from trio_kafka.world.simulated.faults import PowerLoss
from trio_kafka.world.world import Crashed

Model = dict[str, str | None]


def mixed(number: int) -> list[tuple[str, str | None]]:
    """Keys that are written again and again, some of them removed, some of them rare."""
    pairs: list[tuple[str, str | None]] = [
        (f"k{index % 4}", f"{index}-{'x' * 30}") for index in range(number)
    ]
    pairs[number // 5 :: 7] = [("k1", None)] * len(pairs[number // 5 :: 7])
    pairs[1] = ("rare", "once")
    pairs[2] = ("gone", "once")
    pairs[-9] = ("gone", None)
    return pairs


def living(pairs: list[tuple[str, str | None]]) -> Model:
    """The last value of each key that has one."""
    return {key: value for key, value in dict(pairs).items() if value is not None}


def without_tombstones(model: Model) -> Model:
    return {key: value for key, value in model.items() if value is not None}


async def prepared(world, *, delete_retention_ms=0):
    manager = await managed(world, delete_retention_ms=delete_retention_ms)
    log = new_log(manager, delete_retention_ms=delete_retention_ms)
    write(log, *mixed(60))
    return manager, log


async def test_a_lease_on_a_replaced_segment_stays_readable(autojump_clock, world):
    manager, log = await prepared(world)
    lease = read(log, 0, 100, log.high_watermark)
    before = await lease.lease.read(0, 100)

    await new_cleaner(manager).clean_now(log)

    assert await lease.lease.read(0, 100) == before
    lease.release()


@pytest.mark.slow
async def test_concurrent_reads_see_the_same_values_during_swaps(autojump_clock, world):
    manager, log = await prepared(world)
    result = []

    async def keep_reading():
        while True:
            result.append(without_tombstones(await content(log)))
            await trio.sleep(0.01)

    async with trio.open_nursery() as nursery:
        for _ in range(3):
            nursery.start_soon(keep_reading)
        for _ in range(3):
            await new_cleaner(manager).clean_now(log)
        nursery.cancel_scope.cancel()

    assert len(result) > 10
    assert all(values == living(mixed(60)) for values in result)
    assert log.failed is None


async def test_run_is_discarded_when_the_log_is_truncated_meanwhile(autojump_clock, world):
    manager, log = await prepared(world)
    await sync(log)
    cleaner = new_cleaner(manager)
    done = []

    async def clean():
        done.append(await cleaner.clean_now(log))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(clean)
        while log.writer.claim is None:
            await trio.sleep(0.0001)
        await truncate_to(log, 20)

    assert done == [None]
    assert [record.offset for record in await read_all(log)] == list(range(20))
    assert not cleaner.states.uncleanable
    assert not [name for name in log.directory.names() if name.endswith(".cleaned")]


@pytest.mark.parametrize("after_s", [0.0, 0.002, 0.01, 0.02, 0.03, 0.05])
async def test_deletion_of_the_log_at_any_moment_ends_the_run(autojump_clock, world, after_s):
    manager, log = await prepared(world)
    cleaner = new_cleaner(manager)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(cleaner.clean_now, log)
        while log.writer.claim is None:
            await trio.sleep(0.0001)
        await trio.sleep(after_s)
        manager.delete(C0)
        again = new_log(manager)
        write(again, ("new", "1"))

    assert await all_pairs(again) == [(0, "new", "1")]
    assert not manager.directories[0].offline
    assert not cleaner.states.uncleanable
    names = set(again.directory.names()) - {"partition.metadata"}
    assert {name.split(".")[0] for name in names} == {f"{0:020}"}


async def test_appends_succeed_during_a_run(autojump_clock, world):
    manager, log = await prepared(world)
    before = len(mixed(60))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(new_cleaner(manager).clean_now, log)
        for number in range(40):
            write(log, (f"later{number}", "1"))
            await trio.sleep(0.001)

    assert log.end_offset == before + 40
    assert len(without_tombstones(await content(log))) == len(living(mixed(60))) + 40


async def test_log_fails_when_the_sync_of_compacted_files_fails(autojump_clock, world):
    manager, log = await prepared(world)

    def fault(machine, call, target):
        broken = call == "sync" and target.endswith(".cleaned")
        return OSError(5, "broken") if broken else None

    world.universe.fault = fault
    assert await new_cleaner(manager).clean_now(log) is None

    assert isinstance(log.failed, LogDirError)


async def test_full_disk_ends_the_run_and_the_log_does_not_fail(autojump_clock, world, caplog):
    manager, log = await prepared(world)

    def fault(machine, call, target):
        full = call in ("append", "create") and target.endswith(".cleaned")
        return OSError(28, "full") if full else None

    world.universe.fault = fault
    cleaner = new_cleaner(manager)
    assert await cleaner.clean_now(log) is None
    world.universe.fault = lambda *_: None

    assert log.failed is None
    assert "cleaning abandoned" in caplog.text
    assert await cleaner.clean_now(log) is not None


@pytest.mark.slow
@pytest.mark.parametrize("kept", [0.0, 0.5, 1.0])
def test_power_loss_at_any_call_of_a_run_keeps_the_last_values(kept, size):
    pairs = mixed(60)
    calls = 0

    async def lives(universe, number):
        nonlocal calls
        world = universe.machine("broker")
        seen = 0
        on = False

        def fault(machine, call, target):
            nonlocal seen
            if not on:
                return None
            seen += 1
            return PowerLoss(kept) if seen == number else None

        universe.fault = fault

        async def life(world):
            nonlocal on
            manager, log = await prepared(world)
            cleaner = new_cleaner(manager)
            await cleaner.clean_now(log)  # sets the horizon of tombstones
            await trio.sleep(1)
            write(log, ("end", "1"))
            await sync(log)
            on = True
            await cleaner.clean_now(log)
            on = False

        try:
            await run_until_crash(world, life, 1000.0, kept=kept)
        except* Crashed:
            pass
        calls = max(calls, seen)
        universe.fault = lambda *_: None
        again = await managed(universe.machine("broker"), fresh=False)
        log = again.get(C0)
        result = without_tombstones(await content(log))
        await new_cleaner(again).clean_now(log)
        return log, result, without_tombstones(await content(log))

    expected = living([*pairs, ("end", "1")])
    step = size(29, 1)
    number = 0  # without a loss, which counts the calls
    while number <= calls:
        log, result, later = run_simulated(partial(lives, number=number), number)
        assert (log.start_offset, log.end_offset) == (0, 61), number
        assert result == expected, number
        assert later == expected, number
        number += step if number else 1 + offset_below(step)
    assert calls > 100


@pytest.mark.slow
def test_crashes_neither_lose_a_value_nor_restore_a_removed_value(seeds):
    async def lives(universe):
        pairs: list[tuple[str, str | None]] = []
        synced = runs = 0
        chance = universe.time_chance

        async def life(world):
            nonlocal synced, runs
            how = {
                "delete_retention_ms": 50,
                "min_cleanable_dirty_ratio": 0.1,
                "segment_bytes": 1000,
            }
            manager = await managed(world, fresh=not world.life, **how)
            log = new_log(manager, **how)
            del pairs[log.end_offset :]
            cleaner = new_cleaner(manager, backoff_ms=10, threads=2)
            async with trio.open_nursery() as nursery:
                await nursery.start(manager.run)
                await nursery.start(cleaner.run)
                while True:
                    for _ in range(chance.randrange(1, 9)):
                        key = f"k{chance.randrange(6)}"
                        value = None if chance.random() < 0.2 else f"{len(pairs)}-{'x' * 30}"
                        pairs.append((key, value))
                        write(log, (key, value))
                    if chance.random() < 0.5:
                        end = log.end_offset
                        await sync(log)
                        synced = max(synced, end)
                        runs += sum(cleaner_thread.runs for cleaner_thread in cleaner.cleaners)
                        for thread in cleaner.cleaners:
                            thread.runs = 0
                    await trio.sleep(chance.uniform(0, 0.1))

        for _ in range(4):
            power = chance.random() < 0.7
            after_s = chance.uniform(0.1, 3.0)
            await run_until_crash(universe.machine("broker"), life, after_s, power=power)
            world = universe.machine("broker")
            manager = await managed(world, fresh=False)
            log = manager.get(C0)
            if log is None:
                assert not synced
                pairs.clear()
            else:
                assert log.end_offset >= synced
                if log.start_offset:  # the name of the first segment was never durable
                    assert not synced
                    return runs
                result = without_tombstones(await content(log))
                assert result == living(pairs[: log.end_offset]), (result, pairs)
                del pairs[log.end_offset :]
                synced = log.end_offset
            world.crash(power=False)
        return runs

    runs = [run_simulated(lives, seed, moody=not seed % 3) for seed in seeds(6, 300)]

    assert sum(runs) > 2 * len(runs)


async def handmade(world, *, size=0):
    """Four sealed segments, and a new one for the first three: the first batch, or nothing."""
    manager = await managed(world)
    log = new_log(manager)
    fill_log(log, keys=3, rounds=4)
    await sync(log)
    old = tuple(log.segments)[:3]
    assert all(segment.sealed for segment in old)
    first = bytearray(size)
    if size:
        await old[0].file.read(0, first)
    job = CleaningJob(
        rules=rules(),
        segments=(),
        first_dirty_offset=0,
        first_uncleanable_offset=0,
        suffix=".x.cleaned",
    )
    contents = {".log": bytes(first), ".index": b"", ".timeindex": b""}
    await fill(log.directory, {job.name(0, kind): data for kind, data in contents.items()})
    group = CleanedGroup(
        base_offset=0,
        replaced=tuple(segment.base_offset for segment in old),
        size=size,
        max_timestamp=-1,
        max_timestamp_offset=0,
        transactions=0,
        unchanged=False,
    )
    return manager, log, job, group, old


def changes_of_names(world):
    """Renames by their new suffix, and syncs of names, in order."""
    result = []
    for line in world.universe.trace:
        *_, call, path, _ = line.split()
        if call == "sync_directory":
            result.append("sync")
        elif call == "rename" and "/c-0" in path:
            result.append(path.rpartition("/")[2])
    return result


@pytest.mark.parametrize("empty", [True, False])
async def test_swap_renames_files_in_an_order_that_recovery_can_complete(
    autojump_clock, world, empty
):
    size = 0 if empty else len(keyed([("k0", "0-" + "x" * 20)]))
    _, log, job, group, old = await handmade(world, size=size)
    generation = log.writer.generation
    second, third = (f"{segment.base_offset:020}" for segment in old[1:])
    world.universe.trace.clear()

    await swap_in(log, job, group, old=old, end_offset=old[2].base_offset)

    result = changes_of_names(world)
    new, first = f"{0:020}", f"{0:020}"
    indexes = [f"{new}.index.x.cleaned", f"{new}.timeindex.x.cleaned"]
    swapped = [f"{new}.index.swap", f"{new}.timeindex.swap"]
    assert result == [
        *indexes,
        *(["sync"] if empty else []),  # then the log file, whose name decides
        f"{new}.log.x.cleaned",
        "sync",
        *(f"{first}{kind}" for kind in (".index", ".timeindex", ".log")),
        "sync",
        *(f"{second}{kind}" for kind in (".index", ".timeindex", ".log")),
        "sync",  # from the lowest on, each durably
        *(f"{third}{kind}" for kind in (".index", ".timeindex", ".log")),
        "sync",
        *swapped,
        "sync",
        f"{new}.log.swap",
        "sync",
    ]
    assert log.writer.generation > generation
    assert log.segments.first.size == size


async def test_result_of_a_run_is_discarded_if_its_segments_have_changed(autojump_clock, world):
    _, log, job, group, old = await handmade(world)
    await truncate_to(log, old[2].base_offset + 1)
    pairs = await all_pairs(log)

    with pytest.raises(SupersededError):
        await swap_in(log, job, group, old=old, end_offset=old[2].base_offset)

    assert await all_pairs(log) == pairs


async def test_result_of_a_run_above_the_recovery_point_is_discarded(autojump_clock, world):
    _, log, job, group, old = await handmade(world)

    with pytest.raises(SupersededError, match="not durable"):
        await swap_in(log, job, group, old=old, end_offset=log.recovery_point + 1)


@pytest.mark.parametrize("number", range(1, 8))
async def test_swap_renames_no_file_after_the_log_is_deleted(autojump_clock, world, number):
    manager, log, job, group, old = await handmade(world)
    syncs = 0

    def fault(machine, call, target):
        nonlocal syncs
        if call == "sync_directory" and target == "/data/c-0" and not log.closed:
            syncs += 1
            if syncs == number:
                manager.delete(C0)  # its name may be that of another log at once
                world.universe.trace.clear()
        return

    world.universe.fault = fault
    try:
        await swap_in(log, job, group, old=old, end_offset=old[2].base_offset)
    except SupersededError:
        assert number <= 7

    assert log.closed
    assert [name for name in changes_of_names(world) if name != "sync"] == []
    assert not manager.directories[0].offline


async def test_producer_snapshots_inside_a_new_segment_are_removed(autojump_clock, world):
    """A start needs one at the begin of each segment, and loads the state from the last."""
    manager = await managed(world)
    log = new_log(manager, segment_bytes=1200)
    log.configure(compacted(segment_bytes=400))
    for number in range(30):
        fields = {"producer_id": 7, "producer_epoch": 0, "base_sequence": number}
        append(log, keyed([(f"k{number % 3}", "x" * 20)], **fields))
    log.configure(compacted(segment_bytes=1200))  # several of them fit into a new one
    await sync(log)

    await new_cleaner(manager).clean_now(log)

    bases = [segment.base_offset for segment in log.segments]
    assert len(bases) < 10
    assert set(snapshots_among(log.directory.names())) == set(bases[1:])
    await manager.close()
    again = (await managed(world, fresh=False, segment_bytes=1200)).get(C0)
    (producer,) = again.producers
    assert producer.batches[-1].last_offset == 29


async def test_full_disk_at_the_sync_of_new_files_ends_the_run_and_the_log_does_not_fail(
    autojump_clock, world
):
    manager, log = await prepared(world)
    values = await content(log)
    world.universe.fault = lambda machine, call, target: (
        OSError(28, "full") if call == "sync" and target.endswith(".cleaned") else None
    )
    cleaner = new_cleaner(manager)

    assert await cleaner.clean_now(log) is None

    world.universe.fault = lambda *_: None
    assert (log.failed, manager.directories[0].offline) == (None, None)
    assert not cleaner.states.uncleanable
    assert not [name for name in log.directory.names() if name.endswith(".cleaned")]
    assert await cleaner.clean_now(log) is not None
    assert without_tombstones(await content(log)) == without_tombstones(values)


async def test_result_of_a_run_is_discarded_if_the_log_is_no_longer_compacted(
    autojump_clock, world
):
    _, log, job, group, old = await handmade(world)
    pairs = await all_pairs(log)
    log.configure(compacted(cleanup_policy=frozenset({"delete"}), retention_ms=-1))

    with pytest.raises(SupersededError, match="policy"):
        await swap_in(log, job, group, old=old, end_offset=old[2].base_offset)

    assert await all_pairs(log) == pairs
