import pytest
import trio
from trio.testing import MockClock

from tests.plugin_host.plugins import EchoRequest, echo
from trio_kafka.errors import ErrorCode
from trio_kafka.introspect.log import fields_of
from trio_kafka.model import Endpoint
from trio_kafka.protocol.messages.k10003_reload_plugin import ReloadPluginRequest
from trio_kafka.testing.broker import served_broker
from trio_kafka.testing.scripted_client import connected
from trio_kafka.testing.simulation import simulated_world


async def test_reload_starts_a_new_generation_of_the_plugin(autojump_clock: MockClock) -> None:
    settings = {"plugin.echo.prefix": ">"}
    async with served_broker(simulated_world(), settings, plugins=[echo]) as served:
        answer = await served.ask(ReloadPluginRequest("echo"))
        text = (await served.ask(EchoRequest("a"))).text

    assert (answer.error_code, answer.generation) == (0, 2)
    assert text == ">a"


async def test_reload_of_an_unknown_plugin_is_refused(autojump_clock: MockClock) -> None:
    async with served_broker(simulated_world(), plugins=[echo]) as served:
        answer = await served.ask(ReloadPluginRequest("ecko"))

    assert answer.error_code == ErrorCode.RESOURCE_NOT_FOUND
    assert answer.error_message == "no plugin 'ecko'"
    assert answer.generation == -1


async def test_a_concurrent_second_reload_is_refused_with_a_throttling_error(
    autojump_clock: MockClock,
) -> None:
    async with served_broker(simulated_world(), plugins=[echo]) as served:
        served.broker.plugins.find("echo").reload_over = trio.Event()
        answer = await served.ask(ReloadPluginRequest("echo"))

    assert (answer.error_code, answer.generation) == (ErrorCode.THROTTLING_QUOTA_EXCEEDED, 1)
    assert "is being reloaded" in answer.error_message


async def test_reload_is_refused_from_another_machine(
    autojump_clock: MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    host = simulated_world("host")
    other = host.universe.machine("other")
    settings = {"listeners": "PLAINTEXT://0.0.0.0:0,INSIDE://127.0.0.1:0"}
    settings["listener.security.protocol.map"] = "PLAINTEXT:PLAINTEXT,INSIDE:PLAINTEXT"
    settings["advertised.listeners"] = "PLAINTEXT://host:9092,INSIDE://127.0.0.1:9093"
    async with served_broker(host, settings, plugins=[echo]) as served:
        port = served.broker.endpoints["PLAINTEXT"].port
        async with connected(other, Endpoint(host.name, port)) as client:
            answers = [await client.ask(ReloadPluginRequest("echo"), 0) for _ in range(3)]
        generation = served.broker.plugins.find("echo").generation
        rejected = served.broker.parts.local_changes.rejected
        async with served.connect("INSIDE") as client:
            local = await client.ask(ReloadPluginRequest("echo"), 0)

    assert {answer.error_code for answer in answers} == {ErrorCode.CLUSTER_AUTHORIZATION_FAILED}
    assert "other is not this machine" in answers[0].error_message
    assert (generation, rejected) == (1, 3)
    assert (local.error_code, local.generation) == (0, 2)
    (line,) = [
        fields_of(record) for record in caplog.records if "was rejected" in record.getMessage()
    ]
    assert line["peer"].startswith("other:")
    assert "loopback" in line["reason"]
