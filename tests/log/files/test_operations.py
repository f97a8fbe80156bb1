import errno

import pytest

from trio_kafka.log.files.operations import ReadBytes, run_in_threads, run_now
from trio_kafka.testing.simulation import simulated_world


def read_twice(file, need=4):
    """The bytes at 0 and at 100."""
    first = bytes((yield ReadBytes(file, 0, need, 4)))
    second = bytes((yield ReadBytes(file, 100, need, 4)))
    return first + second


def filled(world):
    file = world.directory("/data", create=True).create("f")
    file.append([bytes(range(200))])
    return file


async def test_warm_and_cold_reads_give_the_same(autojump_clock, world):
    file = filled(world)

    assert run_now(read_twice(file)) == await run_in_threads(read_twice(file))
    assert run_now(read_twice(file)) == bytes([0, 1, 2, 3, 100, 101, 102, 103])


async def test_a_short_read_before_the_end_is_cold(autojump_clock, world):
    file = filled(world)
    file.chill(102)

    with pytest.raises(BlockingIOError):
        run_now(read_twice(file))
    assert run_now(read_twice(file, need=1))[4:] == bytes([100, 101])
    assert await run_in_threads(read_twice(file)) == bytes([0, 1, 2, 3, 100, 101, 102, 103])


async def test_a_short_read_at_the_end_is_the_end(autojump_clock, world):
    file = filled(world)

    def end():
        return bytes((yield ReadBytes(file, 198, 4, 4)))

    assert run_now(end()) == await run_in_threads(end()) == bytes([198, 199])


async def test_a_large_read_is_never_made_in_the_loop(autojump_clock, world):
    file = filled(world)
    file.append([bytes(1 << 20)])

    def all_of_it():
        return len((yield ReadBytes(file, 0, file.size, file.size)))

    with pytest.raises(BlockingIOError):
        run_now(all_of_it())
    assert await run_in_threads(all_of_it()) == file.size


async def test_where_nothing_is_known_to_be_warm_all_is_cold(autojump_clock):
    world = simulated_world()
    file = filled(world)
    world.universe.fault = lambda machine, call, target: (
        OSError(errno.EOPNOTSUPP, "no") if call == "try_read" else None
    )

    with pytest.raises(BlockingIOError):
        run_now(read_twice(file))
