"""Segments whose files have their whole length at once (`preallocate`)."""

import pytest

from tests.log.kit import append, batch, header, new_log, offsets, read_all
from trio_kafka.log.append import append_in_thread
from trio_kafka.log.config import LogConfig
from trio_kafka.log.durability.sync import close, sync
from trio_kafka.log.recovery.partition import open_log
from trio_kafka.log.rolling import roll
from trio_kafka.log.truncate import truncate_to
from trio_kafka.model import TopicPartition
from trio_kafka.testing.simulation import run_simulated, run_until_crash

PARTITION = TopicPartition("t", 0)
SEGMENT = 3 * len(batch())
SETTINGS = {"preallocate": True, "segment_bytes": SEGMENT}
FIRST, SECOND = f"{0:020}.log", f"{3:020}.log"


def lengths(log):
    """Of the segments' files, as others would see them who open them."""
    nodes = {k: v for k, v in log.directory._node.names.items() if k.endswith(".log")}
    return {name: max(node.size, node.reserved) for name, node in nodes.items()}


def preallocated(world, **more):
    return new_log(world, **{**SETTINGS, **more})


async def test_preallocated_segment_file_has_segment_bytes_at_once(autojump_clock, world):
    log = preallocated(world)
    append(log, batch())

    assert log.size == len(batch())
    assert lengths(log) == {FIRST: SEGMENT}


async def test_segment_file_without_preallocate_grows_with_its_batches(autojump_clock, world):
    log = preallocated(world, preallocate=False)
    append(log, batch())

    assert lengths(log) == {FIRST: len(batch())}


async def test_unwritten_rest_of_a_segment_file_is_cut_at_roll_and_close(autojump_clock, world):
    log = preallocated(world)
    append(log, batch())
    roll(log)
    for _ in range(2):
        append(log, batch())
    assert [segment.size for segment in log.segments] == [len(batch()), 2 * len(batch())]
    assert lengths(log) == {FIRST: len(batch()), f"{1:020}.log": SEGMENT}

    await close(log)

    assert lengths(log) == {FIRST: len(batch()), f"{1:020}.log": 2 * len(batch())}


async def test_unwritten_rest_of_a_segment_file_is_cut_at_a_roll_in_a_thread(autojump_clock, world):
    log = preallocated(world)
    append(log, batch())
    append(log, batch())
    larger = batch(size=len(batch()))  # the rest of the segment has no room for it

    async with log.writer.turn("append"):
        await append_in_thread(log, memoryview(larger), header(larger), leader_epoch=0)

    second = f"{2:020}.log"
    assert [segment.size for segment in log.segments] == [2 * len(batch()), len(larger)]
    assert lengths(log) == {FIRST: 2 * len(batch()), second: SEGMENT}


async def test_reads_of_a_preallocated_segment_end_before_the_zeros(autojump_clock, world):
    log = preallocated(world)
    for _ in range(5):
        append(log, batch())

    assert offsets(await read_all(log)) == [0, 1, 2, 3, 4]
    assert offsets(await read_all(log, 4)) == [4]


async def test_truncated_log_with_preallocation_is_appended_to(autojump_clock, world):
    log = preallocated(world)
    for _ in range(5):
        append(log, batch())

    await truncate_to(log, 4)
    append(log, batch())

    assert offsets(await read_all(log)) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("power", [False, True])
@pytest.mark.parametrize("count", [0, 1, 2, 3, 4])
def test_a_crash_leaves_zeros_and_recovery_cuts_them(power, count):
    async def main(universe):
        async def life(world):
            log = preallocated(world)
            for _ in range(count):
                append(log, batch())
            await sync(log)
            world.crash(power=power, kept=1.0)

        await run_until_crash(universe.machine("broker"), life, 100.0, power=power)
        world = universe.machine("broker")
        log = await open_log(
            world, world.directory("/t-0"), PARTITION, config=LogConfig(**SETTINGS)
        )

        assert offsets(await read_all(log)) == list(range(count))
        append(log, batch())
        assert offsets(await read_all(log)) == list(range(count + 1))

    run_simulated(main)
