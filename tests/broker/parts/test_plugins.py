"""Plugins in the life of a broker."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from trio_kafka.broker import StartError
from trio_kafka.plugin import plugin
from trio_kafka.testing.broker import served_broker
from trio_kafka.testing.simulation import simulated_world

seen: list[str] = []


@plugin("early")
@asynccontextmanager
async def early(context: Any) -> AsyncIterator[None]:
    """Uses the broker before any client can, and after none can."""
    parts = context.parts
    seen.append(parts.metadata.image.brokers[parts.node_id].active and "unfenced")
    yield
    await trio.sleep(0.1)
    seen.append("left in order")


async def test_plugins_start_after_the_broker_is_unfenced_and_stop_in_order(
    autojump_clock: MockClock,
) -> None:
    seen.clear()
    async with served_broker(simulated_world(), plugins=[early]) as served:
        steps = list(served.broker.start.durations)

    assert seen == ["unfenced", "left in order"]
    assert steps[-1] == "plugins"
    stopped = list(served.broker.stop.durations)
    assert stopped.index("network") < stopped.index("plugins") < stopped.index("handlers")


async def test_start_with_settings_of_an_unknown_plugin_is_refused(
    autojump_clock: MockClock,
) -> None:
    with pytest.raises(StartError, match="no plugin nobody is installed"):
        async with served_broker(simulated_world(), {"plugin.nobody.x": "1"}):
            pass


async def test_two_brokers_of_one_process_have_separate_plugins(
    autojump_clock: MockClock,
) -> None:
    from tests.broker.kit import APIS
    from tests.plugin_host.plugins import EchoRequest, echo

    before = {api.key for api in APIS}
    first_world, second_world = simulated_world("one"), simulated_world("other")
    async with (
        served_broker(first_world, {"plugin.echo.prefix": "a"}, apis=APIS, plugins=[echo]) as first,
        served_broker(
            second_world, {"plugin.echo.prefix": "b"}, apis=APIS, plugins=[echo]
        ) as second,
    ):
        texts = [(await served.ask(EchoRequest("!"))).text for served in (first, second)]

    assert texts == ["a!", "b!"]
    assert {api.key for api in APIS} == before
