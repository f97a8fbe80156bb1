"""The contract of a world itself: time, chance, threads and processes; both worlds are worlds."""

import pytest
import trio

from trio_kafka.world.clock import SkippingClock
from trio_kafka.world.protocols import BROKEN, PEER_DONE, READ, WRITE, check_name
from trio_kafka.world.real import RealWorld
from trio_kafka.world.simulated import Universe
from trio_kafka.world.world import World


def count_bytes(directory, name, times):
    """A job: reads a sealed file, in steps."""
    total = 0
    buffer = bytearray(100)
    for _ in range(times):
        file = directory.open(name)
        total += file.try_read(0, buffer)
        file.close()
        yield
    return total


def pause_until(directory, seconds):
    """A job that says when to go on."""
    yield None
    yield seconds


def fail(directory):
    """A job that finds something."""
    yield
    directory.open("missing")


async def test_run_in_thread_returns_the_result_or_raises_the_error(worlds, clock):
    assert await worlds.here.run_in_thread(max, 1, 2) == 2
    with pytest.raises(ZeroDivisionError):
        await worlds.here.run_in_thread(divmod, 1, 0)


async def test_run_beside_returns_the_result_or_raises_the_error(worlds, clock):
    assert await worlds.here.run_beside(max, 1, 2) == 2
    with pytest.raises(ZeroDivisionError):
        await worlds.here.run_beside(divmod, 1, 0)


async def test_cancelled_run_beside_returns_no_result(worlds, clock):
    with trio.CancelScope() as scope:
        scope.cancel()
        await worlds.here.run_beside(max, 1, 2)

    assert scope.cancelled_caught


@pytest.mark.slow
async def test_run_in_process_returns_the_result_or_raises_the_error(worlds, clock):
    file = worlds.create("f", b"12345")
    await file.sync()

    assert await worlds.here.run_in_process(count_bytes, worlds.path, "f", 3) == 15
    with pytest.raises(FileNotFoundError):
        await worlds.here.run_in_process(fail, worlds.path)


def write_when_it_may(directory):
    """A job that makes a file when there is a file `go`."""
    directory.create("begun").close()
    while not directory.exists("go"):
        yield
    directory.create("made").close()


@pytest.mark.slow
async def test_process_job_keeps_its_directory_when_the_directory_is_renamed(worlds, clock):
    before = worlds.root.directory("a", create=True)

    with trio.fail_after(30):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(worlds.here.run_in_process, write_when_it_may, before.path)
            while not before.exists("begun"):
                await trio.sleep(0.001)
            worlds.root.move(before, "b")
            after = worlds.root.directory("a", create=True)
            before.create("go").close()

    assert before.names() == ["begun", "go", "made"]
    assert after.names() == []


@pytest.mark.slow
async def test_process_job_continues_at_the_time_that_the_job_yields(worlds, clock):
    began = worlds.here.clock.elapsed()

    await worlds.here.run_in_process(pause_until, worlds.path, 0.05)

    assert worlds.here.clock.elapsed() - began >= 0.05


async def test_wall_and_monotonic_time_move_together_and_elapsed_does_not_go_back(worlds, clock):
    wall, now = worlds.here.clock.wall(), trio.current_time()
    elapsed = worlds.here.clock.elapsed()

    clock.skip(3600)

    assert 3600 <= worlds.here.clock.wall() - wall < 3601
    assert 3600 <= trio.current_time() - now < 3601
    assert worlds.here.clock.elapsed() >= elapsed


async def test_advance_passes_the_requested_time_and_meets_each_deadline(worlds, clock, nursery):
    met = []

    async def job():
        while True:
            await trio.sleep(60)
            met.append(trio.current_time())

    nursery.start_soon(job)
    await trio.sleep(0.001)
    wall = worlds.here.clock.wall()

    steps = await clock.advance(3601)

    assert 3600 < worlds.here.clock.wall() - wall < 3603
    assert len(met) == 60
    assert 60 <= steps <= 62


async def test_random_bytes_have_the_requested_length(worlds, clock):
    assert len(worlds.here.random_bytes(16)) == 16
    assert 0 <= worlds.here.random.random() < 1


def test_event_masks_equal_the_masks_of_epoll():
    import select

    assert READ == select.EPOLLIN
    assert WRITE == select.EPOLLOUT
    assert BROKEN == select.EPOLLERR | select.EPOLLHUP
    assert PEER_DONE == select.EPOLLRDHUP


def test_real_and_simulated_worlds_report_whether_the_world_is_simulated():
    def is_simulated(world: World) -> bool:
        return world.simulated

    assert not is_simulated(RealWorld(SkippingClock()))
    assert is_simulated(Universe().machine("m"))


@pytest.mark.parametrize("name", ["a", "00000000000000000000.log", ".lock", "t-0.x-delete", "..."])
def test_check_name_returns_a_valid_name(name):
    assert check_name(name) == name


@pytest.mark.parametrize("name", ["", ".", "..", "/", "a/", "/a", "a/../b", "a\0"])
def test_check_name_refuses_names_that_lead_to_another_directory(name):
    with pytest.raises(ValueError, match="want one without slashes"):
        check_name(name)
