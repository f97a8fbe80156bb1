"""Scans in the broker: where a walk ends, and that it sees what a blocking program sees."""

import pytest

from tests.log.kit import batch
from tests.log.test_batch_lookup import filled
from trio_kafka.log.files.operations import Pause, ReadBytes, run_in_threads, run_now
from trio_kafka.log.scan.batches import BatchScan
from trio_kafka.log.scan.walk import STOP, searching, walk, walking
from trio_kafka.log.scan.whole_batch_search import WholeBatchSearch


async def test_walk_ends_at_the_batch_for_which_the_callback_returns_stop(autojump_clock, world):
    file, starts = await filled(world)
    seen = []

    def see(position, header):
        seen.append(header.base_offset)
        return STOP if position == starts[2] else None

    assert run_now(walk(file, 0, see)) == starts[2]
    assert seen == [0, 2, 4]


@pytest.mark.parametrize("tail", [b"", bytes(10), bytes(500), bytes(batch(base_offset=12))[:-1]])
async def test_walk_ends_after_the_last_whole_batch(autojump_clock, world, tail):
    file, starts = await filled(world, tail)
    seen = []

    end = run_now(walk(file, 0, lambda position, header: seen.append((position, header))))

    assert [position for position, _ in seen] == starts
    assert end == file.size - len(tail)


async def test_walk_ends_with_the_batch_that_contains_its_end_position(autojump_clock, world):
    file, starts = await filled(world)
    seen = []

    end = run_now(walk(file, starts[1], lambda at, _: seen.append(at), end=starts[2] + 1))

    assert seen == starts[1:3]
    assert end == starts[3]


async def test_a_walk_in_threads_sees_the_same_batches(autojump_clock, world):
    file, starts = await filled(world)
    seen = []

    end = await run_in_threads(walk(file, 0, lambda at, _: seen.append(at)))

    assert (seen, end) == (starts, file.size)


async def test_walk_pauses_after_every_few_batches(autojump_clock, world):
    file, starts = await filled(world)
    work = walking(file, BatchScan(size=file.size), lambda *_: None, pause_every=2)
    pauses = 0

    step = next(work)
    with pytest.raises(StopIteration) as ended:
        while True:
            pauses += isinstance(step, Pause)
            if isinstance(step, ReadBytes):
                content = bytearray(step.size)
                await step.file.read(step.position, content)
                step = work.send(memoryview(content))
            else:
                step = next(work)

    assert (ended.value.value, pauses) == (file.size, len(starts) // 2)


async def test_a_search_in_threads_finds_the_next_whole_batch(autojump_clock, world):
    file, starts = await filled(world)

    work = WholeBatchSearch(file.size).find(starts[1] + 1, 0)

    assert await run_in_threads(searching(file, work)) == starts[2]
