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


def test_registering_twice_and_unregistering_twice_raise_the_errors_of_epoll():
    async def main(universe):
        near, _, selector = await registered(universe)
        with pytest.raises(FileExistsError):
            selector.register(near)
        selector.unregister(near)
        with pytest.raises(FileNotFoundError):
            selector.unregister(near)

    run_simulated(main)


def test_closed_socket_is_removed_from_its_selector_with_its_edges():
    async def main(universe):
        near, _, selector = await registered(universe)
        near.close()
        assert selector.poll(0, 64) == []
        with pytest.raises(OSError, match="closed"):
            selector.register(near)

    run_simulated(main)


def test_selector_wait_of_a_moody_universe_may_end_without_edges():
    async def main(universe):
        _, _, selector = await registered(universe)
        result = 0
        for _ in range(2000):
            selector.ring()
            selector.poll(0, 64)
            universe.at(0.0, selector.ring)
            await selector.wait()
            result += not selector.poll(0, 64)
        return result

    assert run_simulated(main, moody=True) > 0
