"""Clock and events that machines of one run share: events in order, time that calls take."""

import pytest
import trio

from trio_kafka.testing.simulation import fault_on, run_simulated
from trio_kafka.world.simulated import Universe


def test_events_at_the_same_time_run_in_the_order_of_their_scheduling():
    async def main(universe):
        seen = []
        for number in range(5):
            universe.at(1.0, lambda number=number: seen.append(number))
        await trio.sleep(2)
        return seen

    assert run_simulated(main) == [0, 1, 2, 3, 4]


async def test_slow_call_without_a_skipping_clock_raises_type_error(autojump_clock):
    universe = Universe()
    world = universe.machine("m")
    universe.fault = fault_on("directory", 0.5)

    with pytest.raises(TypeError, match="need a SkippingClock"):
        world.directory("/")
