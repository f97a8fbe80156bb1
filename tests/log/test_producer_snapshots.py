import pytest

from tests.log.kit import (
    PARTITION,
    append,
    batch,
    content_of,
    fill,
    new_log,
    sample,
    sample_log,
)
from trio_kafka.log.durability.sync import close, sync
from trio_kafka.log.files.operations import run_now
from trio_kafka.log.producer_snapshot_format import encode
from trio_kafka.log.producer_snapshots import (
    drop_snapshots,
    drop_strays,
    load_producers,
    snapshots,
    write_snapshot,
)
from trio_kafka.log.recovery.partition import open_log
from trio_kafka.log.recovery.segment_loader import Recovery
from trio_kafka.log.rolling import roll


def snapshot_of(log, offset):
    """A file that is not durable yet."""
    files = log.segments.active.files
    return run_now(write_snapshot(log.directory, files, offset, producers=log.producers))


def filled(world):
    log = new_log(world, segment_bytes=3 * len(batch()))
    for number in range(10):
        append(log, batch(producer_id=number % 2, producer_epoch=0, base_sequence=number // 2))
    return log


@pytest.mark.parametrize("kept", [(), (3,), (3, 6), (3, 6, 9)])
async def test_producers_are_the_same_with_any_set_of_snapshots(autojump_clock, world, kept):
    log = filled(world)
    for offset in await snapshots(log.directory):
        if offset not in kept:
            await log.directory.unlink(f"{offset:020}.snapshot")

    producers = await load_producers(log.directory, log.segments, 10, end_offset=10, rebuilt=set())

    assert {producer.producer_id: producer.last_sequence for producer in producers} == {0: 4, 1: 4}
    assert sorted(await snapshots(log.directory)) == list(kept)


async def test_a_torn_snapshot_is_removed_and_passed_over(autojump_clock, world):
    log = filled(world)
    file = log.directory.open(f"{9:020}.snapshot")
    file.truncate(file.size - 1)

    producers = await load_producers(log.directory, log.segments, 10, end_offset=10, rebuilt=set())

    assert {producer.producer_id: producer.last_sequence for producer in producers} == {0: 4, 1: 4}
    assert await snapshots(log.directory) == [3, 6]


async def test_producer_snapshots_above_the_log_end_are_dropped(autojump_clock, world):
    log = filled(world)

    await drop_snapshots(log.directory, 6)

    assert await snapshots(log.directory) == [3, 6]


async def test_snapshot_rebuilt_from_batches_contains_the_rows_of_apache_kafka(
    autojump_clock, world
):
    log = await sample_log(world, "epochs", "epochs-0", drop=".snapshot")
    log.unsynced.wrote(
        run_now(
            write_snapshot(
                log.directory, log.segments.active.files, log.end_offset, producers=log.producers
            )
        )
    )

    name = f"{15:020}.snapshot"
    ours = await content_of(log.directory, name)
    kafkas = sample("epochs")["epochs-0"][name]
    rows = [
        {content[at : at + 46] for at in range(10, len(content), 46)} for content in (ours, kafkas)
    ]
    assert len(rows[1]) == 2
    assert rows[1] <= rows[0]  # the node had been started again and forgotten old producers


async def test_producers_of_an_empty_log_are_loaded_from_its_snapshot(autojump_clock, world):
    log = new_log(world)
    await fill(log.directory, {f"{0:020}.snapshot": encode(log.producers)})

    assert (
        len(await load_producers(log.directory, log.segments, 0, end_offset=0, rebuilt=set())) == 0
    )


@pytest.mark.parametrize(
    ("there", "bases", "kept"),
    [
        ([0, 3, 6, 8], [0, 3, 6], [0, 3, 6, 8]),
        ([3, 5, 6, 8, 9], [0, 3, 6], [3, 6, 9]),
        ([3, 5], [0, 3, 6], [3]),  # a segment begins behind it
        ([2, 4], [], [4]),
        ([], [0], []),
    ],
)
async def test_only_the_last_snapshot_and_snapshots_at_segment_bases_are_kept(
    autojump_clock, world, there, bases, kept
):
    log = new_log(world)
    for offset in there:
        run_now(
            write_snapshot(
                log.directory, log.segments.active.files, offset, producers=log.producers
            )
        ).close()

    await drop_strays(log.directory, bases)

    assert await snapshots(log.directory) == kept


async def test_each_close_leaves_one_snapshot_at_the_end_offset(autojump_clock, world):
    log = new_log(world, "/t-0")
    for number in range(3):
        append(log, batch(producer_id=7, producer_epoch=0, base_sequence=number))
        await close(log)
        recovery = Recovery(clean=True)
        log = await open_log(world, log.directory, PARTITION, config=log.config, recovery=recovery)
        assert await snapshots(log.directory) == [number + 1]
        assert log.producers.get(7).last_sequence == number


async def test_expired_producers_are_loaded_from_batches_and_not_from_a_snapshot(
    autojump_clock, world
):
    log = new_log(world)
    old = {"producer_epoch": 0, "base_sequence": 0}
    append(log, batch(timestamp=100, producer_id=1, **old))
    append(log, batch(timestamp=101, producer_id=2, **old))
    roll(log)
    append(log, batch(timestamp=100, producer_id=3, **old))
    append(log, batch(timestamp=100, producer_id=1, producer_epoch=0, base_sequence=1))

    async def load(silent_since):
        return await load_producers(
            log.directory, log.segments, 4, end_offset=4, rebuilt=set(), silent_since=silent_since
        )

    assert {producer.producer_id: producer.last_sequence for producer in await load(None)} == {
        1: 1,
        2: 0,
        3: 0,
    }
    result = await load(100)
    assert {producer.producer_id: len(producer.batches) for producer in result} == {
        1: 1,
        2: 1,
        3: 1,
    }
    assert sorted(producer.producer_id for producer in await load(101)) == [1, 3]


async def test_last_five_batches_of_a_producer_are_duplicates_after_a_crash(autojump_clock, world):
    log = new_log(world)
    for number in range(7):
        append(log, batch(2, producer_id=7, producer_epoch=0, base_sequence=2 * number))
    await sync(log)
    log.abandon()

    log = await open_log(
        world, log.directory, PARTITION, config=log.config, recovery=Recovery(clean=False)
    )

    for number in range(2, 7):
        sent = batch(2, producer_id=7, producer_epoch=0, base_sequence=2 * number)
        assert append(log, sent).first_offset == 2 * number
    assert log.end_offset == 14


async def test_close_of_an_idle_log_writes_no_snapshot(autojump_clock, world):
    log = new_log(world)
    recovery = Recovery(clean=True)
    await close(log)
    assert await snapshots(log.directory) == []

    log = await open_log(world, log.directory, PARTITION, config=log.config, recovery=recovery)
    append(log, batch(producer_id=7, producer_epoch=0, base_sequence=0))
    await close(log)
    assert await snapshots(log.directory) == [1]

    log = await open_log(world, log.directory, PARTITION, config=log.config, recovery=recovery)
    log.directory.open(f"{1:020}.snapshot").truncate(0)  # so that writing it again is noticed
    await close(log)
    assert await content_of(log.directory, f"{1:020}.snapshot") == b""


async def test_clean_close_after_a_crash_writes_the_snapshot_again(autojump_clock, world):
    log = new_log(world)
    append(log, batch(producer_id=7, producer_epoch=0, base_sequence=0))
    roll(log)
    await sync(log)
    log.abandon()

    recovery = Recovery(clean=False, recovery_point=1)
    log = await open_log(world, log.directory, PARTITION, config=log.config, recovery=recovery)
    assert log.segments.active.base_offset == 1
    log.directory.open(f"{1:020}.snapshot").truncate(0)
    await close(log)

    content = await content_of(log.directory, f"{1:020}.snapshot")
    assert content == encode(log.producers)


async def test_close_right_after_a_roll_writes_no_second_snapshot(autojump_clock, world):
    log = new_log(world)
    append(log, batch(producer_id=7, producer_epoch=0, base_sequence=0))
    roll(log)
    log.directory.open(f"{1:020}.snapshot").truncate(0)
    await close(log)
    assert (await content_of(log.directory, f"{1:020}.snapshot")) == b""  # not written twice

    log = await open_log(
        world, log.directory, PARTITION, config=log.config, recovery=Recovery(clean=True)
    )
    assert log.producers.get(7).last_sequence == 0  # of the batches: what is torn is passed over
    await close(log)
    assert (await content_of(log.directory, f"{1:020}.snapshot")) == encode(log.producers)
