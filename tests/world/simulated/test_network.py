"""Hosts and listeners between simulated machines."""

import pytest
import trio

from trio_kafka.model import Endpoint
from trio_kafka.testing.simulation import run_simulated

pytestmark = pytest.mark.leaves("its sockets end with their machines")


def test_connect_finds_a_host_by_machine_name_listener_name_or_loopback():
    async def main(universe):
        a, b = universe.machine("a"), universe.machine("b")
        everywhere = await a.network.listen("", 1)
        named = await a.network.listen("a.example", 2)
        await b.network.connect("a", 1)
        await b.network.connect("a.example", 2)
        await a.network.connect("localhost", 1)
        for host, port in (("a", 3), ("c", 1), ("localhost", 1)):
            with pytest.raises(ConnectionRefusedError):
                await b.network.connect(host, port)
        return everywhere.accept_nowait().peer.host, named.accept_nowait().local

    assert run_simulated(main) == ("b", Endpoint("a.example", 2))


def test_connect_to_a_full_backlog_waits_for_an_accept():
    async def main(universe):
        a, b = universe.machine("a"), universe.machine("b")
        listener = await a.network.listen("", 1, backlog=1)
        connected = []

        async def connect():
            connected.append(await b.network.connect("a", 1))

        async with trio.open_nursery() as nursery:
            for _ in range(3):
                nursery.start_soon(connect)
            await trio.sleep(0.9)
            before = len(connected)
            await listener.accept()
        return before, len(connected)

    assert run_simulated(main) == (2, 3)


def test_a_machine_whose_process_was_killed_refuses_connections():
    async def main(universe):
        a, b = universe.machine("a"), universe.machine("b")
        await a.network.listen("", 1)
        a.crash(power=False)
        with pytest.raises(ConnectionRefusedError):
            await b.network.connect("a", 1)
        return trio.current_time()

    assert run_simulated(main) < 1


def test_connect_to_a_machine_without_power_waits_until_the_machine_restarts():
    async def main(universe):
        a, b = universe.machine("a"), universe.machine("b")
        await a.network.listen("", 1)
        a.crash()
        universe.at(20, lambda: universe.machine("a"))
        with pytest.raises(ConnectionRefusedError):
            await b.network.connect("a", 1)
        return trio.current_time()

    assert 20 < run_simulated(main) < 40
