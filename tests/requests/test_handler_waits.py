"""Waits for handlers: how many are taken, and by what."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import count
from typing import Any

import trio
from trio.testing import MockClock

from tests.introspect.waiting import Waits, chain, waiting
from trio_kafka.plugin import Context, Plugin, PluginContext, plugin
from trio_kafka.protocol.messages.k03_metadata import MetadataRequest

FEW = {"num.io.threads": "2", "queued.max.requests": "1"}


@plugin("slow")
@asynccontextmanager
async def slow(context: PluginContext[Any]) -> AsyncIterator[None]:
    """Holds each Metadata request for a minute, with its handler."""

    async def hold(request: object, context: Context, forward: Any) -> object:
        await trio.sleep(60)
        return await forward(request)

    context.around(MetadataRequest, hold)
    yield


async def metadata(waits: Waits, count: int = 1) -> None:
    for _ in range(count):
        await waits.ask(MetadataRequest())


async def test_request_that_a_plugin_serves_names_its_function(autojump_clock: MockClock) -> None:
    async with waiting(plugins=(slow,)) as waits:
        await metadata(waits)
        (facts,) = await waits.facts("Metadata")

    assert facts.stage == "handler"
    assert chain(facts.why) == [("plugin", "plugin", "slow")]
    assert facts.why[0].words.endswith("hold of plugin slow to return")


async def test_queued_request_names_the_plugin_that_has_all_handlers(
    autojump_clock: MockClock,
) -> None:
    async with waiting(FEW, plugins=(slow,)) as waits:
        await metadata(waits, 4)
        stages = {facts.stage: facts.why for facts in await waits.facts("Metadata")}

    queued, room = stages["queued"], stages["waits for room"]
    assert chain(queued) == [
        ("handler", "limiter", "num.io.threads of plane data"),
        ("plugin", "plugin", "slow"),
    ]
    assert queued[0].words == "a free handler: 2 of 2 are taken, 2 by plugin slow"
    assert (queued[1].has, queued[1].needs, queued[1].unit) == (2, 2, "handlers")
    assert chain(room) == [
        ("channel", "channel", "request-channel of plane data"),
        *chain(queued),
    ]
    assert room[0].words == "room in the request channel: 1 of 1 are queued"


@plugin("naps")
@asynccontextmanager
async def naps_then_holds(context: PluginContext[Any]) -> AsyncIterator[None]:
    """Parks a Metadata request for 5 s; holds another one with its handler."""
    calls = count()

    async def nap(request: object, context: Context, forward: Any) -> object:
        if next(calls):
            await trio.sleep(60)
        else:
            await context.parked(trio.sleep, 5)
        return await forward(request)

    context.around(MetadataRequest, nap)
    yield


async def test_parked_request_that_is_resumed_waits_for_a_token(
    autojump_clock: MockClock,
) -> None:
    async with waiting({"num.io.threads": "1"}, plugins=(naps_then_holds,)) as waits:
        await metadata(waits, 2)
        await trio.sleep(10)
        rows = [facts.why for facts in await waits.facts("Metadata")]

    (queued,) = [why for why in rows if why[0].cause == "token"]
    assert chain(queued) == [
        ("token", "limiter", "num.io.threads of plane data"),
        ("plugin", "plugin", "naps"),
    ]
    assert queued[0].words == "a handler token: 1 of 1 are taken, 1 by plugin naps"


def holding(name: str, client_id: str) -> Plugin:
    """A plugin that holds the Metadata requests of one client."""

    @plugin(name)
    @asynccontextmanager
    async def hold_some(context: PluginContext[Any]) -> AsyncIterator[None]:
        async def hold(request: object, context: Context, forward: Any) -> object:
            if context.request.client_id == client_id:
                await trio.sleep(60)
            return await forward(request)

        context.around(MetadataRequest, hold)
        yield

    return hold_some


async def test_no_plugin_is_named_if_none_has_half_of_the_handlers(
    autojump_clock: MockClock,
) -> None:
    names = ("a", "b", "c")
    plugins = tuple(holding(name, name) for name in names)
    async with waiting({"num.io.threads": "3"}, plugins=plugins) as waits:
        for name in (*names, "d"):
            await waits.ask(MetadataRequest(), client_id=name)
        (queued,) = [row for row in await waits.facts("Metadata") if row.stage == "queued"]

    assert [wait.cause for wait in queued.why] == ["handler"]
    assert queued.why[0].words.startswith("a free handler: 3 of 3 are taken, 1 by plugin ")
