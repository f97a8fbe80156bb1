import errno

import pytest

from trio_kafka.log.files.operations import (
    AppendBytes,
    CreateFile,
    ReadBytes,
    run_in_threads,
    run_now,
)
from trio_kafka.testing.simulation import fault_on, simulated_world


def read_twice(file, need=4):
    """The bytes at 0 and at 100."""
    first = bytes((yield ReadBytes(file, 0, need, 4)))
    second = bytes((yield ReadBytes(file, 100, need, 4)))
    return first + second


def filled(world):
    file = world.directory("/data", create=True).create("f")
    file.append([bytes(range(200))])
    return file


async def test_reads_in_the_loop_and_in_threads_return_the_same_bytes(autojump_clock, world):
    file = filled(world)

    assert run_now(read_twice(file)) == await run_in_threads(read_twice(file))
    assert run_now(read_twice(file)) == bytes([0, 1, 2, 3, 100, 101, 102, 103])


async def test_short_read_before_the_end_of_the_file_raises_blocking_io_error(
    autojump_clock, world
):
    file = filled(world)
    file.chill(102)

    with pytest.raises(BlockingIOError):
        run_now(read_twice(file))
    assert run_now(read_twice(file, need=1))[4:] == bytes([100, 101])
    assert await run_in_threads(read_twice(file)) == bytes([0, 1, 2, 3, 100, 101, 102, 103])


async def test_short_read_at_the_end_of_the_file_returns_the_rest(autojump_clock, world):
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


async def test_reads_in_the_loop_block_if_the_page_cache_cannot_be_queried(autojump_clock):
    world = simulated_world()
    file = filled(world)
    world.universe.fault = lambda machine, call, target: (
        OSError(errno.EOPNOTSUPP, "no") if call == "try_read" else None
    )

    with pytest.raises(BlockingIOError):
        run_now(read_twice(file))


async def test_the_error_of_an_operation_is_thrown_into_the_generator(autojump_clock, world):
    file, seen = filled(world), []
    world.universe.fault = fault_on("append", OSError(errno.EIO, "broken"))

    def writes():
        try:
            yield AppendBytes(file, b"x")
        except OSError as error:
            seen.append(error.errno)
            return "failed"

    assert run_now(writes()) == await run_in_threads(writes()) == "failed"
    assert seen == [errno.EIO] * 2


@pytest.mark.parametrize("content", [b"", b"new"])
async def test_a_file_is_created_or_replaced_with_its_content(autojump_clock, world, content):
    root = world.directory("/data", create=True)

    def creates(name, replace):
        return (yield CreateFile(root, name, content, replace))

    for name in ("now", "thread"):
        root.create(name).append([b"long before"])
    for file in (
        run_now(creates("now", True)),
        await run_in_threads(creates("thread", True)),
        run_now(creates("new", True)),
    ):
        assert file.size == len(content)
    with pytest.raises(FileExistsError):
        run_now(creates("now", False))


async def test_created_file_is_closed_when_its_content_cannot_be_written(autojump_clock, world):
    root = world.directory("/data", create=True)
    world.universe.fault = fault_on("append", OSError(errno.EIO, "broken"))

    def creates():
        return (yield CreateFile(root, "f", b"content", True))

    with pytest.raises(OSError, match="broken"):
        run_now(creates())
    assert world.descriptors.files == 0
