"""Links by node id."""

from contextlib import ExitStack

import pytest
import trio
from trio.testing import MockClock

from tests.peers.kit import PORT, Node, link_from, running
from trio_kafka.introspect.tree import Node as TreeNode
from trio_kafka.model import Endpoint
from trio_kafka.peers.errors import PeerError
from trio_kafka.peers.links import Links
from trio_kafka.testing.sample_apis import EchoRequest
from trio_kafka.testing.simulation import simulated_world
from trio_kafka.world.simulated import SimulatedWorld


def links_from(world: SimulatedWorld, tree: TreeNode | None = None) -> Links:
    """Links to the machines `node-2`, `node-3`, ..."""
    return Links(
        "links",
        lambda node: link_from(
            world, name=f"node {node}", address=lambda: Endpoint(f"node-{node}", PORT)
        ),
        tree=tree,
    )


async def test_each_node_has_one_link_which_asks_that_node(autojump_clock: MockClock) -> None:
    here, nodes = simulated_world("here"), {2: Node(), 3: Node()}
    machines = {node: here.universe.machine(f"node-{node}") for node in nodes}
    async with running(nodes[2], machines[2]), running(nodes[3], machines[3]):
        with links_from(here) as links:
            for number in (2, 3, 2):
                deadline = trio.current_time() + 5
                response = await links[number].ask(EchoRequest(f"to {number}"), deadline=deadline)
                assert response.text == f"to {number}"

    assert nodes[2].echoes == ["to 2", "to 2"]
    assert nodes[3].echoes == ["to 3"]
    assert nodes[2].connections == 1


async def test_end_of_the_block_closes_all_connections(autojump_clock: MockClock) -> None:
    here, node = simulated_world("here"), Node()
    async with running(node, here.universe.machine("node-2")):
        with links_from(here) as links:
            await links[2].ask(EchoRequest(), deadline=trio.current_time() + 5)
        await trio.sleep(0.1)

        assert node.lost == 1
        with pytest.raises(RuntimeError, match="link to node 2: its links are closed"):
            links[2]


async def test_link_to_this_node_itself_is_the_given_link(
    autojump_clock: MockClock,
) -> None:
    here = simulated_world("here")
    own = link_from(here)

    with Links("links", lambda _: link_from(here), own={1: own}) as links:
        assert links[1] is own
        assert links[2] is not own
        assert links[2] is links[2]


async def test_links_to_nodes_that_have_left_the_cluster_are_closed(
    autojump_clock: MockClock,
) -> None:
    here, node = simulated_world("here"), Node()
    tree = TreeNode("broker", "broker")
    async with running(node, here.universe.machine("node-2")):
        with links_from(here, tree) as links:
            await links[2].ask(EchoRequest(), deadline=trio.current_time() + 5)
            links.keep([2])
            assert links[2].is_connected  # type: ignore[attr-defined]
            links.keep([3])
            await trio.sleep(0.1)

            assert node.lost == 1
            assert tree.children[0].figures() == {"links": 0, "connected": 0}


async def test_tree_shows_each_link_with_its_figures(autojump_clock: MockClock) -> None:
    here, tree = simulated_world("here"), TreeNode("broker", "broker")
    here.universe.machine("node-2")
    with ExitStack() as stack:
        links = stack.enter_context(links_from(here, tree))
        with pytest.raises(PeerError):
            await links[2].ask(EchoRequest(), deadline=trio.current_time() + 5)
        (node,) = tree.children
        (link,) = node.children

        assert (node.name, node.figures()) == ("links", {"links": 1, "connected": 0})
        assert (link.name, link.kind) == ("node 2", "connection")
        assert link.figures()["failures"] == 1
    assert tree.children == ()
