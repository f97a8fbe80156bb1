"""Plugins in a whole broker, in the simulated world."""

import pytest
from trio.testing import MockClock

from tests.plugin_host.plugins import EchoRequest, echo
from trio_kafka.broker import StartError
from trio_kafka.plugin_host.lifecycle import State
from trio_kafka.testing.broker import served_broker
from trio_kafka.testing.simulation import simulated_world


async def test_a_plugin_serves_an_api_according_to_its_settings(autojump_clock: MockClock) -> None:
    settings = {"plugin.echo.prefix": ">", "plugin.echo.max.length": "5"}
    async with served_broker(simulated_world(), settings, plugins=[echo]) as served:
        answer = await served.ask(EchoRequest("hello"))
        refused = await served.ask(EchoRequest("hello!"))
        counted = served.broker.counters.value("echo_asked", plugin="echo")
        hosted = served.broker.plugins.find("echo")

        assert (answer.error_code, answer.text) == (0, ">hello")
        assert (refused.error_code, refused.error_message) == (42, "too long")
        assert counted == 1
        assert hosted.state is State.READY
        assert hosted.contributions == ["api:Echo(10200)"]

    assert hosted.state is State.STOPPED


async def test_settings_of_a_plugin_that_is_not_installed_prevent_the_start(
    autojump_clock: MockClock,
) -> None:
    with pytest.raises(StartError, match="no plugin ecko is installed: did you mean echo"):
        async with served_broker(simulated_world(), {"plugin.ecko.prefix": ">"}, plugins=[echo]):
            pass
