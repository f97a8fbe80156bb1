"""Facts about a plugin: in the tree, and in the list of plugins."""

from trio.testing import MockClock

from tests.plugin_host.plugins import EchoRequest, echo
from trio_kafka.introspect.tree import Node
from trio_kafka.plugin_host.lifecycle import State
from trio_kafka.testing.broker import served_broker
from trio_kafka.testing.simulation import simulated_world


def node_of(root: Node, name: str) -> Node:
    return next(node for _, node in root.walk() if node.name == name)


async def test_the_node_of_a_plugin_shows_state_contributions_and_settings(
    autojump_clock: MockClock,
) -> None:
    settings = {"plugin.echo.token": "hunter2"}
    async with served_broker(simulated_world(), settings, plugins=[echo]) as served:
        await served.ask(EchoRequest("a"))
        node = node_of(served.broker.node, "echo")
        figures = dict(node.figures())
        [generation] = node.children
        inner = dict(generation.figures())
        plugins = dict(node_of(served.broker.node, "plugins").figures())

    assert node.kind == "plugin"
    assert figures.pop("since") > 0
    assert figures == {
        "state": "ready",
        "enabled": True,
        "generation": 1,
        "failures": 0,
        "failed_requests": 0,
        "policy": "isolate",
        "order": 100,
        "error": None,
        "contributions": "api:Echo(10200)",
        "setting.prefix": "",
        "setting.max.length": "100",
        "setting.token": "(hidden)",
    }
    assert (inner["state"], inner["tasks"], inner["in_flight"]) == ("ready", 1, 0)
    assert plugins == {"ready": 1}


async def test_a_disabled_plugin_is_listed_but_not_started(autojump_clock: MockClock) -> None:
    settings = {"plugin.echo.enabled": "false"}
    async with served_broker(simulated_world(), settings, plugins=[echo]) as served:
        hosted = served.broker.plugins.find("echo")
        status = hosted.status()
        listed = {api.key for api in served.broker.parts.apis}

    assert hosted.state is State.DISCOVERED
    assert (status.enabled, status.generation, status.contributions) == (False, 0, [])
    assert EchoRequest.__message__.key not in listed
