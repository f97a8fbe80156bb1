"""The machine's clock gives the machine's readings, and a loop that runs by it keeps time."""

import time

import trio

from trio_kafka.world.real import RealWorld
from trio_kafka.world.real.clock import MachineClock


def test_machine_clock_reads_the_clocks_of_python() -> None:
    clock = MachineClock()

    assert clock.wall is time.time
    assert clock.elapsed is time.perf_counter
    assert abs(clock.current_time() - time.perf_counter()) < 1
    assert clock.deadline_to_sleep_time(clock.current_time() + 50) <= 50


def test_tasks_wake_after_their_deadlines_in_order_on_a_machine_clock() -> None:
    woken: list[int] = []

    async def sleep(place: int) -> None:
        began = trio.current_time()
        await trio.sleep(place / 1000)
        assert trio.current_time() - began >= place / 1000
        woken.append(place)

    async def main() -> None:
        async with trio.open_nursery() as nursery:
            for place in (20, 1, 10):
                nursery.start_soon(sleep, place)

    trio.run(main, clock=MachineClock())

    assert woken == [1, 10, 20]


def test_run_in_thread_returns_the_result_on_a_machine_clock() -> None:
    clock = MachineClock()
    world = RealWorld(clock)

    async def main() -> int:
        return await world.run_in_thread(max, 1, 2)

    assert world.clock is clock
    assert trio.run(main, clock=clock) == 2
