"""Links to all brokers: made on demand, chosen by load, forgotten."""

import pytest
import trio
from trio.testing import MockClock

from tests.clients.links.kit import metrics
from tests.peers.kit import PORT, Node, running
from trio_kafka.clients.client import running as tasks_running
from trio_kafka.clients.errors import RetriableError
from trio_kafka.clients.links.calls import Call
from trio_kafka.clients.links.links import BrokerLinks
from trio_kafka.clients.settings.common import ClientSettings
from trio_kafka.model import Endpoint
from trio_kafka.testing.sample_apis import EchoRequest
from trio_kafka.world.simulated import Universe


def links_of(universe: Universe, *hosts: str) -> BrokerLinks:
    addresses = {number: Endpoint(host, PORT) for number, host in enumerate(hosts, 1)}
    return BrokerLinks(
        world=universe.machine("here"),
        settings=ClientSettings(bootstrap_servers=("there:1",)),
        address_of=addresses.get,
        metrics=metrics(),
    )


async def test_link_of_a_node_is_made_once_and_runs(autojump_clock: MockClock) -> None:
    universe = Universe(0)
    links = links_of(universe, "there")
    changes: list[float] = []
    links.watchers.append(lambda: changes.append(trio.current_time()))
    async with running(Node(), universe.machine("there")), tasks_running({"links": links.run}):
        assert links[1] is links[1]
        assert (await links[1].ask(EchoRequest("a"), timeout_s=5.0)).text == "a"

    assert changes
    assert links.figures()["links"] == 1


async def test_node_that_does_not_exist_is_an_error_of_its_calls(
    autojump_clock: MockClock,
) -> None:
    links = links_of(Universe(0))
    async with tasks_running({"links": links.run}):
        with pytest.raises(RetriableError, match="not part of the cluster"):
            await links[7].ask(EchoRequest("a"), timeout_s=5.0)


async def test_connected_link_with_few_requests_is_chosen_and_none_in_its_backoff(
    autojump_clock: MockClock,
) -> None:
    universe = Universe(0)
    universe.machine("dead")
    links = links_of(universe, "there", "dead")
    async with running(Node(), universe.machine("there")), tasks_running({"links": links.run}):
        assert links.least_loaded([], 0.0) is None
        await links[1].ask(EchoRequest("a"), timeout_s=5.0)
        assert {links.least_loaded([1, 2], trio.current_time()) for _ in range(20)} == {1}
        with pytest.raises(RetriableError):
            await links[2].ask(EchoRequest("a"), timeout_s=50.0)
        assert links.least_loaded([2], trio.current_time()) is None
        assert links.least_loaded([2], trio.current_time() + 60) == 2


async def test_links_to_other_nodes_are_closed(autojump_clock: MockClock) -> None:
    universe = Universe(0)
    node = Node()
    links = links_of(universe, "there")
    async with running(node, universe.machine("there")), tasks_running({"links": links.run}):
        await links[1].ask(EchoRequest("a"), timeout_s=5.0)
        links.keep([1])
        assert len(links.links) == 1
        links.keep([])
        await trio.sleep(1)
        assert node.lost == 1
        assert len(links.links) == 0


async def test_calls_to_a_broker_that_has_left_the_cluster_may_be_repeated(
    autojump_clock: MockClock,
) -> None:
    universe = Universe(0)
    node = Node()
    node.answers[EchoRequest] = lambda _: None
    links = links_of(universe, "there")
    links.limit = 1
    results: list[object] = []
    async with running(node, universe.machine("there")), tasks_running({"links": links.run}):
        for _ in range(2):
            links[1].submit(Call(request=EchoRequest("a"), done=results.append, timeout_s=30.0))
        await trio.sleep(1)
        links.keep([])
        await trio.sleep(1)

    assert [type(result) for result in results] == [RetriableError, RetriableError]
    assert [getattr(result, "sent", None) for result in results] == [True, False]
