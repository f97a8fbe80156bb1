from trio.testing import MockClock

from tests.hosting.plugins import EchoRequest, echo
from trio_kafka.errors import ErrorCode
from trio_kafka.protocol.messages.k10003_reload_plugin import ReloadPluginRequest
from trio_kafka.testing.broker import served_broker
from trio_kafka.testing.simulation import simulated_world


async def test_a_plugin_is_reloaded(autojump_clock: MockClock) -> None:
    settings = {"plugin.echo.prefix": ">"}
    async with served_broker(simulated_world(), settings, plugins=[echo]) as served:
        answer = await served.ask(ReloadPluginRequest("echo"))
        text = (await served.ask(EchoRequest("a"))).text

    assert (answer.error_code, answer.generation) == (0, 2)
    assert text == ">a"


async def test_nobody_is_not_reloaded(autojump_clock: MockClock) -> None:
    async with served_broker(simulated_world(), plugins=[echo]) as served:
        answer = await served.ask(ReloadPluginRequest("ecko"))

    assert answer.error_code == ErrorCode.RESOURCE_NOT_FOUND
    assert answer.error_message == "no plugin 'ecko'"
    assert answer.generation == -1


async def test_a_second_reload_at_once_is_refused(autojump_clock: MockClock) -> None:
    async with served_broker(simulated_world(), plugins=[echo]) as served:
        served.broker.plugins.find("echo").busy = True
        answer = await served.ask(ReloadPluginRequest("echo"))

    assert (answer.error_code, answer.generation) == (ErrorCode.INVALID_CONFIG, 1)
    assert "is being reloaded" in answer.error_message
