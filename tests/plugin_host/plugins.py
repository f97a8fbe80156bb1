"""Plugins that tests start: each is one function, as an author would write it."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import trio
from attrs import frozen

from trio_kafka.plugin import (
    Context,
    ErrorCode,
    KafkaError,
    PluginContext,
    api,
    password,
    plugin,
    string,
)
from trio_kafka.plugin import integer as number
from trio_kafka.protocol import schema
from trio_kafka.testing.broker import ServedBroker, served_broker
from trio_kafka.testing.simulation import simulated_world


@schema.request(key=10200, versions="0-1", flexible="0+")
class EchoRequest:
    text: str = schema.string()


@schema.response(EchoRequest)
class EchoResponse:
    error_code: int = schema.int16()
    error_message: str | None = schema.string(nullable="0+", default=None)
    text: str = schema.string()


@frozen(kw_only=True)
class EchoSettings:
    prefix: str = string("", "What is put before each text.")
    max_length: int = number(100, "The longest text.", low=1)
    token: str | None = password(None, "Who may ask.")


@plugin("echo", settings=EchoSettings)
@asynccontextmanager
async def echo(context: PluginContext[EchoSettings]) -> AsyncIterator[None]:
    """Answers what it was sent."""
    settings = context.settings
    requests = context.counter("echo_asked")

    @api(EchoRequest)
    def answer(request: EchoRequest, _: Context) -> EchoResponse:
        if len(request.text) > settings.max_length:
            raise KafkaError(ErrorCode.INVALID_REQUEST, "too long")
        requests.value += 1
        return EchoResponse(text=settings.prefix + request.text)

    context.add_api(answer)
    context.nursery.start_soon(trio.sleep_forever, name="upkeep")
    yield


@asynccontextmanager
async def context_of_one(
    settings: Mapping[str, str] | None = None,
) -> AsyncIterator[tuple[Any, ServedBroker]]:
    """The context of a plugin that does nothing, in a broker."""
    kept: list[Any] = []

    @plugin("one", order=3)
    @asynccontextmanager
    async def plugin_one(context: Any) -> AsyncIterator[None]:
        kept.append(context)
        yield

    async with served_broker(simulated_world(), settings, plugins=[plugin_one]) as served:
        yield kept[0], served
