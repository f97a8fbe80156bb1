"""Faults of calls by rule: what matches, when it strikes, what the caller sees."""

import errno

import pytest
import trio

from trio_kafka.testing.simulation import run_simulated, simulated_world
from trio_kafka.world.simulated.faults import CallFault, CallFaults
from trio_kafka.world.world import Crashed


@pytest.fixture
def world(autojump_clock):
    return simulated_world()


async def test_fault_rule_matches_by_machine_call_and_target(world):
    faults = world.universe.faults
    fault = faults.add(CallFault(machine="bro*", call="create", target="/d/*.log", error="ENOSPC"))
    root = world.directory("/d", create=True)

    root.create("a.index")
    with pytest.raises(OSError, match="No space left") as caught:
        root.create("a.log")

    assert caught.value.errno == errno.ENOSPC
    assert (fault.seen, fault.hits) == (1, 1)
    fault.remove()
    fault.remove()
    root.create("a.log")


def test_after_every_and_times_of_a_fault_rule_choose_the_calls():
    faults = CallFaults(None)
    fault = faults.add(CallFault(call="sync", error="EIO", after=2, every=3, times=2))

    struck = [faults("m", "sync", "f") is not None for _ in range(12)]

    assert [place for place, hit in enumerate(struck) if hit] == [2, 5]
    assert (fault.seen, fault.hits) == (12, 2)


def test_first_matching_fault_rule_strikes_and_later_rules_count_the_call():
    faults = CallFaults(None)
    first = faults.add(CallFault(error="EIO", times=1))
    second = faults.add(CallFault(error="ENOSPC"))

    assert [faults("m", "sync", "f").errno for _ in range(2)] == [errno.EIO, errno.ENOSPC]
    assert (first.seen, first.hits, second.seen, second.hits) == (2, 1, 2, 1)
    faults.clear()
    assert faults("m", "sync", "f") is None


def test_one_seed_gives_the_same_faults():
    def strikes(seed):
        faults = simulated_world(seed=seed).universe.faults
        faults.add(CallFault(delay_s=(0.1, 0.2), probability=0.5))
        return [faults("m", "sync", "f") for _ in range(20)]

    assert strikes(1) == strikes(1)
    assert strikes(1) != strikes(2)
    assert {strike is None for strike in strikes(1)} == {True, False}


async def test_wait_of_a_fault_rule_ends_after_its_number_of_hits(world):
    fault = world.universe.faults.add(CallFault(call="create", error="EIO"))
    root = world.directory("/d", create=True)

    async def fail_twice():
        for name in ("a", "b"):
            await trio.sleep(1)
            with pytest.raises(OSError, match="Input/output"):
                root.create(name)

    begin = trio.current_time()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(fail_twice)
        await fault.wait(2)

    assert (fault.hits, round(trio.current_time() - begin)) == (2, 2)


async def test_power_loss_fault_strikes_before_the_call(world):
    root = world.directory("/d", create=True)
    file = root.create("a")
    await root.sync()
    world.universe.faults.add(CallFault(call="sync", power_loss=0.0))
    file.append([b"x"])

    with pytest.raises(Crashed):
        await file.sync()

    assert not world.alive
    assert world.universe.machine("broker").directory("/d").open("a").size == 0


def test_delay_fault_on_sync_delays_only_its_caller():
    async def main(universe):
        world = universe.machine("a")
        root = world.directory("/d", create=True)
        file = root.create("a")
        universe.faults.add(CallFault(call="sync*", delay_s=(1.0, 1.0)))
        ticks = []

        async def tick():
            for _ in range(3):
                await trio.sleep(0.2)
                ticks.append(round(trio.current_time(), 3))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(tick)
            await file.sync()
            assert trio.current_time() > 1
            await root.sync()
        assert trio.current_time() > 2
        return ticks

    assert run_simulated(main) == [0.2, 0.4, 0.6]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "want one of error, delay_s and power_loss"),
        ({"error": "EIO", "delay_s": (0, 1)}, "want one of"),
        ({"error": "broken"}, "error='broken': want the name of an errno, such as EIO"),
        ({"delay_s": (2, 1)}, "want a least and a greatest time"),
        ({"error": "EIO", "every": 0}, "want every >= 1"),
        ({"error": "EIO", "probability": 2}, "a probability of 0 to 1"),
    ],
)
def test_invalid_fault_rule_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        CallFault(**options)
