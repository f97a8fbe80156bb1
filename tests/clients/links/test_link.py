"""Links to one broker: connections on demand, back-off, cancelled asks."""

import itertools

import pytest
import trio
from trio.testing import MockClock

from tests.clients.links.kit import link_to, running_link
from tests.peers.kit import Node, running
from trio_kafka.clients.errors import RetriableError, TimedOutError
from trio_kafka.testing.sample_apis import EchoRequest
from trio_kafka.world.simulated import Universe


async def test_link_connects_when_it_is_first_used(autojump_clock: MockClock) -> None:
    universe = Universe(0)
    node = Node()
    async with (
        running(node, universe.machine("there")),
        running_link(link_to(universe.machine("here"))) as link,
    ):
        await trio.sleep(1)
        assert node.connections == 0
        link.connect_soon()
        await trio.sleep(1)
        assert (node.connections, link.is_connected, link.has_room) == (1, True, True)
        assert link.figures()["connections"] == 1


async def test_failed_connection_ends_the_calls_as_unsent(autojump_clock: MockClock) -> None:
    universe = Universe(0)
    universe.machine("there")
    async with running_link(link_to(universe.machine("here"))) as link:
        with pytest.raises(RetriableError, match=r"at broker 2 \(there:9092\): Echo") as caught:
            await link.ask(EchoRequest("a"), timeout_s=60.0)
    assert not caught.value.sent


async def test_pauses_between_connections_grow_and_end_with_a_success(
    autojump_clock: MockClock,
) -> None:
    universe = Universe(0)
    link = link_to(
        universe.machine("here"), reconnect_backoff_ms=1000, reconnect_backoff_max_ms=4000
    )
    machine = universe.machine("there")
    starts = []
    async with running_link(link):
        for _ in range(5):
            with pytest.raises(RetriableError):
                await link.ask(EchoRequest("a"), timeout_s=60.0)
            starts.append(trio.current_time())
        pauses = [after - before for before, after in itertools.pairwise(starts)]
        async with running(Node(), machine):
            await link.ask(EchoRequest("a"), timeout_s=60.0)
            assert link.reconnection.failures == 0

    for pause, expected in zip(pauses, [1.0, 2.0, 4.0, 4.0], strict=True):
        assert 0.8 * expected <= pause <= 1.25 * expected


async def test_machine_that_is_down_ends_the_calls_after_the_time_for_a_connection(
    autojump_clock: MockClock,
) -> None:
    universe = Universe(0)
    universe.machine("there")
    universe.cut("here", "there")
    link = link_to(universe.machine("here"), socket_connection_setup_timeout_ms=2000)
    async with running_link(link):
        start = trio.current_time()
        with pytest.raises(TimedOutError, match="no connection in time"):
            await link.ask(EchoRequest("a"), timeout_s=60.0)
    assert 1.6 <= trio.current_time() - start <= 2.5


async def test_ask_ends_at_its_own_deadline_before_a_connection(autojump_clock: MockClock) -> None:
    universe = Universe(0)
    universe.machine("there")
    universe.cut("here", "there")
    async with running_link(link_to(universe.machine("here"))) as link:
        with pytest.raises(TimedOutError, match="Echo: no response in time") as caught:
            await link.ask(EchoRequest("a"), timeout_s=0.5)
        assert not caught.value.sent
        assert link.in_flight == 0


async def test_cancelled_ask_leaves_the_connection_to_the_others(
    autojump_clock: MockClock,
) -> None:
    universe = Universe(0)
    node = Node()
    async with (
        running(node, universe.machine("there")),
        running_link(link_to(universe.machine("here"))) as link,
    ):
        await link.ask(EchoRequest("open"), timeout_s=5.0)
        with trio.move_on_after(0):
            await link.ask(EchoRequest("cancelled"), timeout_s=5.0)
        assert (await link.ask(EchoRequest("next"), timeout_s=5.0)).text == "next"
    assert node.connections == 1
    assert node.echoes == ["open", "cancelled", "next"]


async def test_retired_link_ends(autojump_clock: MockClock) -> None:
    universe = Universe(0)
    link = link_to(universe.machine("here"))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(link.run)
        link.retire()
