"""Simulated worlds for tests."""

import pytest
import trio

from trio_kafka.testing.simulation import fault_on, run_simulated, run_until_crash, simulated_world
from trio_kafka.world.world import Crashed


def test_simulated_run_returns_the_result_of_main_in_virtual_time():
    async def main(universe):
        await trio.sleep(1e6)
        return universe.seed, trio.current_time()

    assert run_simulated(main, seed=3) == (3, 1e6)


async def test_a_simulated_world_works_inside_a_test(autojump_clock):
    world = simulated_world("a")
    other = world.universe.machine("b")
    listener = await world.network.listen("", 0)

    far = await other.network.connect("a", listener.address.port)
    near = await listener.accept()

    assert near.peer == far.local
    near.close()
    far.close()
    listener.close()


@pytest.mark.parametrize("after_s", [1.0, 5.0])
async def test_crash_ends_a_life_and_its_clean_up_does_not_change_the_world(
    autojump_clock, after_s
):
    world = simulated_world()
    seen = []

    async def live(world):
        root = world.directory("/d", create=True)
        try:
            await trio.sleep(3)
            root.create("ended")
            await root.sync()
        finally:
            seen.append(world.alive)
            root.create("clean-up")

    await run_until_crash(world, live, after_s, kept=0.0)

    names = world.universe.machine("broker").directory("/d").names()
    assert (seen, names) == (([False], []) if after_s < 3 else ([True], ["ended"]))


async def test_error_raised_in_a_life_is_raised_by_the_run(autojump_clock):
    async def live(world):
        await trio.sleep(0)
        raise KeyError

    with pytest.RaisesGroup(KeyError):
        await run_until_crash(simulated_world(), live, 1.0)


async def test_crash_caused_by_a_life_itself_ends_the_life(autojump_clock):
    async def live(world):
        await trio.sleep(0.1)
        world.crash()
        with pytest.raises(Crashed):
            world.directory("/")
        world.directory("/")

    world = simulated_world()
    await run_until_crash(world, live, 1.0)

    assert not world.alive


async def test_fault_applies_only_to_its_call_and_to_names_that_contain_its_target(autojump_clock):
    world = simulated_world()
    root = world.directory("/d", create=True)
    world.universe.fault = fault_on("create", OSError("told to"), "a.")

    root.create("b.log")
    with pytest.raises(OSError, match="told to"):
        root.create("a.log")

    assert root.names() == ["b.log"]
