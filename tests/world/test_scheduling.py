"""Runs that repeat, and the pin on the two private names of Trio that they need."""

import gc

import pytest
import trio
from trio._core import _run as trio_run

from trio_kafka.world.clock import Deadlock
from trio_kafka.world.scheduling import seeded, simulate


async def order_of_tasks():
    seen = []

    async def note(number):
        seen.append(number)

    async with trio.open_nursery() as nursery:
        for number in range(8):
            nursery.start_soon(note, number)
    return tuple(seen)


def private_state():
    return trio_run._ALLOW_DETERMINISTIC_SCHEDULING, trio_run._r.getstate(), gc.isenabled()


def test_trio_has_the_two_private_names_that_seeded_runs_need():
    assert {"_ALLOW_DETERMINISTIC_SCHEDULING", "_r"} <= vars(trio_run).keys()


def test_seed_determines_the_order_of_tasks():
    orders = {simulate(seed, order_of_tasks) for seed in range(50)}

    assert len(orders) > 40
    assert simulate(3, order_of_tasks) == simulate(3, order_of_tasks)


def test_seeded_run_restores_the_state_of_trio_also_after_a_failure():
    gc.enable()
    before = private_state()

    simulate(1, order_of_tasks)
    with pytest.raises(ZeroDivisionError), seeded(2):
        divmod(1, 0)

    assert private_state() == before


def test_simulate_raises_the_error_of_main():
    async def main():
        await trio.sleep(1)
        raise KeyError("x")

    with pytest.raises(KeyError):
        simulate(0, main)


def test_deadlock_error_names_the_waiting_tasks_and_their_lines():
    async def wait():
        await trio.Event().wait()

    async def main():
        async with trio.open_nursery() as nursery:
            nursery.start_soon(wait, name="fetcher-0-1")
            nursery.start_soon(trio.sleep, 5)

    with pytest.raises(Deadlock, match=r"fetcher-0-1 \(.*test_scheduling.py:\d+\)") as caught:
        simulate(0, main)
    assert "sleep" not in str(caught.value)


def test_run_over_its_time_limit_raises_deadlock_with_the_task_tree():
    async def wait():
        while True:
            await trio.sleep(1)

    async def main():
        async with trio.open_nursery() as nursery:
            nursery.start_soon(wait, name="poller")

    with pytest.raises(Deadlock) as caught:
        simulate(0, main, timeout_s=60.0)

    first, *tree = str(caught.value).splitlines()
    assert first == "not done after 60 s of virtual time:"
    assert [line.split(" (")[0] for line in tree] == [
        "  trio_kafka.world.scheduling.simulate.<locals>.drive",
        "    poller",
    ]
    assert "test_scheduling.py:" in tree[1]


def test_deadlock_is_raised_before_the_time_limit():
    times = []

    async def main():
        try:
            await trio.Event().wait()
        finally:
            times.append(trio.current_time())

    with pytest.raises(Deadlock, match="all tasks wait without a deadline"):
        simulate(0, main, timeout_s=60.0)

    assert times == [0.0]
