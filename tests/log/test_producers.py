import pytest

from tests.log.kit import append, batch, content_of, fill, new_log, sample, sample_log
from trio_kafka.log.producer_snapshot import encode
from trio_kafka.log.producers import drop_snapshots, load_producers, snapshots, write_snapshot


def filled(world):
    log = new_log(world, segment_bytes=3 * len(batch()))
    for number in range(10):
        append(log, batch(producer_id=number % 2, producer_epoch=0, base_sequence=number // 2))
    return log


@pytest.mark.parametrize("kept", [(), (3,), (3, 6), (3, 6, 9)])
async def test_producers_are_the_same_from_any_snapshot(autojump_clock, world, kept):
    log = filled(world)
    for offset in snapshots(log.directory):
        if offset not in kept:
            await log.directory.unlink(f"{offset:020}.snapshot")

    found = await load_producers(log.directory, log.segments, 10, 10, set())

    assert {one.producer_id: one.last_sequence for one in found} == {0: 4, 1: 4}
    assert sorted(snapshots(log.directory)) == list(kept)


async def test_a_torn_snapshot_is_passed_over(autojump_clock, world):
    log = filled(world)
    file = log.directory.open(f"{9:020}.snapshot")
    file.truncate(file.size - 1)

    found = await load_producers(log.directory, log.segments, 10, 10, set())

    assert {one.producer_id: one.last_sequence for one in found} == {0: 4, 1: 4}


async def test_a_snapshot_of_what_the_log_does_not_reach_is_dropped(autojump_clock, world):
    log = filled(world)

    await drop_snapshots(log.directory, 6)

    assert snapshots(log.directory) == [3, 6]


async def test_kafkas_last_snapshot_is_what_its_batches_say(autojump_clock, world):
    log = await sample_log(world, "epochs", "epochs-0", drop=".snapshot")
    log.unsynced.wrote(
        write_snapshot(log.directory, log.segments.active.files, log.end_offset, log.producers)
    )

    name = f"{15:020}.snapshot"
    ours = await content_of(log.directory, name)
    kafkas = sample("epochs")["epochs-0"][name]
    rows = [
        {content[at : at + 46] for at in range(10, len(content), 46)} for content in (ours, kafkas)
    ]
    assert len(rows[1]) == 2
    assert rows[1] <= rows[0]  # the node had been started again and forgotten old producers


async def test_a_snapshot_for_an_empty_log_is_enough(autojump_clock, world):
    log = new_log(world)
    await fill(log.directory, {f"{0:020}.snapshot": encode(log.producers)})

    assert len(await load_producers(log.directory, log.segments, 0, 0, set())) == 0
