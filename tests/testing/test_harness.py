"""A plugin in a test, without sockets."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import trio
from attrs import frozen
from trio.testing import MockClock

from trio_kafka.errors import ErrorCode, KafkaError, ProtocolError
from trio_kafka.plugin import Context, PluginContext, api, plugin, string
from trio_kafka.plugin_host.guard import PluginError
from trio_kafka.plugin_host.lifecycle import State
from trio_kafka.protocol.messages.k03_metadata import MetadataRequest
from trio_kafka.protocol.messages.k19_create_topics import CreatableTopic, CreateTopicsRequest
from trio_kafka.requests.parts import TopicCreation
from trio_kafka.testing.direct import ClosedError
from trio_kafka.testing.harness import PluginHarness
from trio_kafka.testing.sample_apis import EchoRequest, EchoResponse, WaitRequest, WaitResponse

ended: list[str] = []


@frozen(kw_only=True)
class LoudSettings:
    mark: str = string("!", "What is put behind each text.")


@api(EchoRequest)
def echo(request: EchoRequest, context: Context) -> EchoResponse:
    return EchoResponse(text=request.text, number=context.version)


@plugin("loud", settings=LoudSettings)
@asynccontextmanager
async def loud(context: PluginContext[LoudSettings]) -> AsyncIterator[None]:
    """Makes texts loud."""

    def louder(request: EchoRequest, response: EchoResponse, _: Context) -> EchoResponse:
        return EchoResponse(text=response.text.upper() + context.settings.mark)

    async def greeted(request: Any, its: Context, forward: Any) -> Any:
        if its.client_id == "guest":
            await trio.sleep(3600)
        return await forward(request)

    context.after(EchoRequest, louder)
    context.around(EchoRequest, greeted)
    yield
    ended.append("loud")


async def test_harness_runs_the_interceptors_of_a_plugin(autojump_clock: MockClock) -> None:
    async with PluginHarness(loud, handlers=[echo], settings={"mark": "?"}) as harness:
        assert (await harness.ask(EchoRequest("hello"))).text == "HELLO?"
        began = trio.current_time()
        assert (await harness.ask(EchoRequest("hello"), 0, client_id="guest")).text == "HELLO?"
        assert trio.current_time() - began >= 3600
        assert harness.hosted.state is State.READY
        assert len(harness.interceptors) == 2
        ended.clear()

    assert ended == ["loud"]


async def test_requests_of_several_clients_run_concurrently(autojump_clock: MockClock) -> None:
    @api(WaitRequest)
    async def wait(request: WaitRequest, context: Context) -> WaitResponse:
        await context.parked(trio.sleep, request.timeout_ms / 1000)
        return WaitResponse(outcome=context.client_id)

    async with PluginHarness(handlers=[wait]) as harness:
        clients = [harness.client(f"c-{n}") for n in range(20)]
        began = trio.current_time()
        for client in clients:
            client.send(WaitRequest(1000))
        answers = [(await client.receive(WaitRequest())).outcome for client in clients]

        assert answers == [f"c-{n}" for n in range(20)]
        assert trio.current_time() - began < 1.1


async def test_request_on_a_closed_connection_raises_the_reason(autojump_clock: MockClock) -> None:
    @api(EchoRequest)
    def refuse(request: EchoRequest, context: Context) -> EchoResponse:
        raise ProtocolError("not like this")

    async with PluginHarness(handlers=[refuse]) as harness:
        client = harness.client()
        with pytest.raises(ClosedError, match="forbidden: Echo: not like this"):
            await client.ask(EchoRequest())
        with pytest.raises(ClosedError):
            await client.ask(EchoRequest())


async def test_handler_gets_the_given_parts_in_its_context(autojump_clock: MockClock) -> None:
    @api(EchoRequest)
    def tell(request: EchoRequest, context: Context) -> EchoResponse:
        context[TopicCreation].want([request.text])
        return EchoResponse(text=context.cluster_id)

    expected: list[str] = []

    class Creation:
        def want(self, names: Any) -> None:
            expected.extend(names)

    async with PluginHarness(
        handlers=[tell], parts={"topic_creation": Creation(), "cluster_id": "mine"}
    ) as harness:
        assert (await harness.ask(EchoRequest("t"))).text == "mine"
        assert expected == ["t"]
    async with PluginHarness(handlers=[tell]) as harness:
        assert (await harness.ask(EchoRequest("t"))).error_code == -1


async def test_harness_can_run_a_plugin_in_a_whole_broker(autojump_clock: MockClock) -> None:
    @plugin("no-secrets")
    @asynccontextmanager
    async def no_secrets(context: PluginContext[Any]) -> AsyncIterator[None]:
        def check(request: CreateTopicsRequest, its: Context) -> None:
            if any(topic.name.startswith("secret") for topic in request.topics):
                raise KafkaError(ErrorCode.POLICY_VIOLATION, "no secrets")

        context.before(CreateTopicsRequest, check)
        yield

    async with PluginHarness(no_secrets, broker=True, handlers=[echo]) as harness:
        topics = [CreatableTopic("secret-1", 1, 1)]
        (refused,) = (await harness.ask(CreateTopicsRequest(topics))).topics
        topics = [CreatableTopic("open", 1, 1)]
        (accepted,) = (await harness.ask(CreateTopicsRequest(topics))).topics
        metadata = await harness.ask(MetadataRequest(None), client_id="other")

        assert (refused.error_code, refused.error_message) == (44, "no secrets")
        assert accepted.error_code == 0
        assert [topic.name for topic in metadata.topics] == ["open"]
        assert (await harness.ask(EchoRequest("x"))).text == "x"
        with pytest.raises(RuntimeError, match="connect"):
            harness.client()


async def test_failed_start_and_wrong_settings_of_a_plugin_are_errors(
    autojump_clock: MockClock,
) -> None:
    @plugin("broken")
    @asynccontextmanager
    async def broken(context: PluginContext[Any]) -> AsyncIterator[None]:
        raise LookupError("no such thing")
        yield

    with pytest.raises(PluginError, match="no such thing"):
        async with PluginHarness(broken):
            raise AssertionError
    with pytest.raises(PluginError, match=r"did you mean plugin\.loud\.mark"):
        async with PluginHarness(loud, settings={"marks": "?"}):
            raise AssertionError
    with pytest.raises(FloatingPointError):  # what a test raises is not wrapped
        async with PluginHarness(loud):
            raise FloatingPointError
    with pytest.raises(TypeError, match="not marked"):
        async with PluginHarness(handlers=[test_handler_gets_the_given_parts_in_its_context]):
            raise AssertionError
