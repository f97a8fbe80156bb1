"""Requests that a plugin sends while it serves one: they need no second handler."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import trio
from trio.testing import MockClock

from tests.plugin_host.plugins import EchoRequest, EchoResponse
from trio_kafka.plugin import Context, Forward, PluginContext, api, plugin
from trio_kafka.protocol.messages.k03_metadata import MetadataRequest
from trio_kafka.testing.broker import served_broker
from trio_kafka.testing.simulation import simulated_world

ONE_HANDLER = {"num.io.threads": "1"}


async def test_an_async_handler_can_send_a_request_to_a_broker_with_one_handler(
    autojump_clock: MockClock,
) -> None:
    @plugin("asker")
    @asynccontextmanager
    async def asker(context: PluginContext[Any]) -> AsyncIterator[None]:
        @api(EchoRequest)
        async def ask(request: EchoRequest, _: Context) -> EchoResponse:
            answer = await context.ask(MetadataRequest(None))
            return EchoResponse(text=answer.cluster_id)

        context.add_api(ask)
        yield

    async with served_broker(simulated_world(), ONE_HANDLER, plugins=[asker]) as served:
        with trio.fail_after(5):
            assert (await served.ask(EchoRequest(""))).text == served.broker.parts.cluster_id


async def test_an_around_interceptor_can_send_requests_to_a_broker_with_one_handler(
    autojump_clock: MockClock,
) -> None:
    responses = []

    @plugin("asker")
    @asynccontextmanager
    async def asker(context: PluginContext[Any]) -> AsyncIterator[None]:
        @api(EchoRequest)
        def echo(request: EchoRequest, _: Context) -> EchoResponse:
            return EchoResponse(text=request.text)

        async def around(request: EchoRequest, _: Context, forward: Forward) -> Any:
            responses.append(await context.ask(MetadataRequest(None)))
            response = await forward(request)
            responses.append(await context.ask(MetadataRequest(None)))
            return response

        context.add_api(echo)
        context.around(EchoRequest, around)
        yield

    async with served_broker(simulated_world(), ONE_HANDLER, plugins=[asker]) as served:
        with trio.fail_after(5):
            assert (await served.ask(EchoRequest("hello"))).text == "hello"
            assert (await served.ask(EchoRequest("again"))).text == "again"

    assert len(responses) == 4


async def test_a_task_started_by_a_handler_can_send_requests_after_the_response(
    autojump_clock: MockClock,
) -> None:
    answers = []

    @plugin("starter")
    @asynccontextmanager
    async def starter(context: PluginContext[Any]) -> AsyncIterator[None]:
        async def later() -> None:
            await trio.sleep(1)
            answers.append(await context.ask(MetadataRequest(None)))

        @api(EchoRequest)
        async def start(request: EchoRequest, _: Context) -> EchoResponse:
            context.nursery.start_soon(later)
            await trio.lowlevel.checkpoint()
            return EchoResponse(text=request.text)

        context.add_api(start)
        yield

    async with served_broker(simulated_world(), ONE_HANDLER, plugins=[starter]) as served:
        await served.ask(EchoRequest(""))
        await trio.sleep(2)

    assert len(answers) == 1
