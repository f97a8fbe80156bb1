"""One life of one simulated machine."""

import threading

import pytest
import trio

from trio_kafka.testing.simulation import run_simulated
from trio_kafka.world.clock import EPOCH
from trio_kafka.world.world import Crashed


def test_run_in_thread_of_a_simulated_machine_runs_in_the_main_thread():
    async def main(universe):
        result = await universe.machine("m").run_in_thread(threading.current_thread)
        return result is threading.main_thread(), trio.current_time() > 0

    assert run_simulated(main) == (True, True)


def test_a_job_runs_in_slices_and_the_machine_may_crash_between_them():
    steps = []

    def job(directory):
        for number in range(1000):
            directory.create(f"{number}")
            steps.append(number)
            yield

    async def main(universe):
        world = universe.machine("m")
        world.directory("/d", create=True)
        universe.at(0.02, lambda: setattr(world, "alive", False))
        with pytest.raises(Crashed):
            await world.run_in_process(job, "/d")

    run_simulated(main)

    assert 10 < len(steps) < 300


def test_wall_time_is_virtual_and_random_bytes_differ_after_a_restart():
    async def main(universe):
        world = universe.machine("m")
        await trio.sleep(100)
        first = world.random_bytes(16)
        world.crash()
        return world.clock.wall(), first, universe.machine("m").random_bytes(16)

    wall, first, second = run_simulated(main)

    assert wall == EPOCH + 100
    assert first != second
    assert run_simulated(main) == (wall, first, second)
