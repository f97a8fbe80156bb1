"""Readiness of simulated sockets."""

import pytest

from trio_kafka.testing.simulation import run_simulated

pytestmark = pytest.mark.leaves("its sockets end with their machines")


async def registered(universe):
    here, there = universe.machine("here"), universe.machine("there")
    listener = await here.network.listen("", 0)
    far = await there.network.connect("here", listener.address.port)
    near, selector = await listener.accept(), here.network.selector()
    selector.register(near)
    return near, far, selector


def test_registering_twice_and_unregistering_a_stranger_are_the_systems_errors():
    async def main(universe):
        near, _, selector = await registered(universe)
        with pytest.raises(FileExistsError):
            selector.register(near)
        selector.unregister(near)
        with pytest.raises(FileNotFoundError):
            selector.unregister(near)

    run_simulated(main)


def test_a_closed_socket_leaves_its_selector_with_its_edges():
    async def main(universe):
        near, _, selector = await registered(universe)
        near.close()
        assert selector.poll(0, 64) == []
        with pytest.raises(OSError, match="closed"):
            selector.register(near)

    run_simulated(main)


def test_in_a_mood_a_wait_may_end_for_nothing():
    async def main(universe):
        _, _, selector = await registered(universe)
        found = 0
        for _ in range(2000):
            selector.ring()
            selector.poll(0, 64)
            universe.at(0.0, selector.ring)
            await selector.wait()
            found += not selector.poll(0, 64)
        return found

    assert run_simulated(main, moody=True) > 0
