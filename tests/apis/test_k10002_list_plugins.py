from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import trio
from trio.testing import MockClock

from tests.plugin_host.plugins import EchoRequest, EchoResponse, echo
from trio_kafka.plugin import Context, ErrorCode, KafkaError, PluginContext, api, plugin
from trio_kafka.protocol.messages.k10002_list_plugins import ListPluginsRequest, PluginSetting
from trio_kafka.testing.broker import served_broker
from trio_kafka.testing.simulation import simulated_world


async def test_plugins_are_listed_with_secret_settings_hidden(autojump_clock: MockClock) -> None:
    settings = {"plugin.echo.token": "hunter2", "plugin.echo.policy": "restart"}
    async with served_broker(simulated_world(), settings, plugins=[echo]) as served:
        [row] = (await served.ask(ListPluginsRequest())).plugins

    assert (row.name, row.doc, row.state) == ("echo", "Answers what it was sent.", "ready")
    assert (row.policy, row.order, row.generation, row.error) == ("restart", 100, 1, None)
    assert row.contributions == ["api:Echo(10200)"]
    assert PluginSetting("token", "(hidden)") in row.settings
    assert row.since_ms > 0


async def test_a_named_plugin_is_listed_alone_and_an_unknown_name_is_an_error(
    autojump_clock: MockClock,
) -> None:
    async with served_broker(simulated_world(), plugins=[echo]) as served:
        result = await served.ask(ListPluginsRequest("echo"))
        missing = await served.ask(ListPluginsRequest("ecko"))

    assert [row.name for row in result.plugins] == ["echo"]
    assert missing.error_code == ErrorCode.RESOURCE_NOT_FOUND
    assert missing.error_message == "no plugin 'ecko'"
    assert missing.plugins == []


async def test_a_failed_plugin_is_listed_with_its_error(autojump_clock: MockClock) -> None:
    settings = {"plugin.echo.max.length": "0"}
    async with served_broker(simulated_world(), settings, plugins=[echo]) as served:
        [row] = (await served.ask(ListPluginsRequest())).plugins

    assert (row.state, row.failures, row.generation) == ("failed", 1, 0)
    assert "0 is too small" in row.error


async def test_failed_requests_of_a_plugin_are_counted_over_all_generations(
    autojump_clock: MockClock,
) -> None:
    @plugin("broken")
    @asynccontextmanager
    async def broken(context: PluginContext[Any]) -> AsyncIterator[None]:
        @api(EchoRequest)
        def fail(request: EchoRequest, _: Context) -> EchoResponse:
            if request.text == "refuse":
                raise KafkaError(ErrorCode.INVALID_REQUEST, "no")
            raise ValueError("a bug")

        context.add_api(fail)
        yield

    settings = {"plugin.broken.policy": "restart", "plugin.broken.failures": "3"}
    async with served_broker(simulated_world(), settings, plugins=[broken]) as served:
        await served.ask(EchoRequest("a"))
        await served.ask(EchoRequest("refuse"))
        await served.ask(EchoRequest("b"))
        [before] = (await served.ask(ListPluginsRequest())).plugins
        await served.ask(EchoRequest("c"))
        await trio.sleep(3)
        [after] = (await served.ask(ListPluginsRequest())).plugins

    assert (before.failed_requests, before.failures, before.state) == (2, 0, "ready")
    assert (after.failed_requests, after.failures, after.generation) == (3, 1, 2)
