"""Each limit that a plugin is held to by its settings: below it, at it where that can be told, and
above it.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from tests.plugin_host.plugins import EchoRequest, EchoResponse
from trio_kafka.errors import ErrorCode
from trio_kafka.plugin import Context, api, plugin
from trio_kafka.plugin_host.declaration import Plugin
from trio_kafka.plugin_host.lifecycle import State
from trio_kafka.testing.broker import ServedBroker, served_broker
from trio_kafka.testing.simulation import simulated_world

BELOW_AND_ABOVE = [pytest.param(-0.01, True, id="below"), pytest.param(0.01, False, id="above")]


@api(EchoRequest)
async def serve(request: EchoRequest, context: Context) -> EchoResponse:
    """Takes so many seconds, or raises for a text that is not a number."""
    await context.parked(trio.sleep, float(request.text))
    return EchoResponse(text="done")


def lazy(start_s: float = 0, stop_s: float = 0) -> Plugin:
    """A plugin `one` that takes so long to start and to stop."""

    @plugin("one")
    @asynccontextmanager
    async def plugin_one(context: Any) -> AsyncIterator[None]:
        context.add_api(serve)
        await trio.sleep(start_s)
        yield
        await trio.sleep(stop_s)

    return plugin_one


@asynccontextmanager
async def limited(tested_plugin: Plugin, key: str, value: int) -> AsyncIterator[ServedBroker]:
    settings = {f"plugin.one.{key}": str(value)}
    async with served_broker(simulated_world(), settings, plugins=[tested_plugin]) as served:
        yield served


@pytest.mark.parametrize(("number", "took"), [(1, [1]), (2, [1, 1]), (3, [1, 1, 2])])
async def test_requests_above_the_limit_setting_wait_for_their_turn(
    autojump_clock: MockClock, number: int, took: list[int]
) -> None:
    result: list[int] = []

    async def ask(served: ServedBroker, began: float) -> None:
        async with served.connect() as client:
            await client.ask(EchoRequest("1"), 0)
            result.append(round(trio.current_time() - began))

    async with limited(lazy(), "limit", 2) as served, trio.open_nursery() as nursery:
        for _ in range(number):
            nursery.start_soon(ask, served, trio.current_time())

    assert result == took


@pytest.mark.parametrize(("more", "in_time"), BELOW_AND_ABOVE)
async def test_a_request_longer_than_deadline_ms_times_out(
    autojump_clock: MockClock, more: float, in_time: bool
) -> None:
    async with limited(lazy(), "deadline.ms", 2000) as served:
        answer = await served.ask(EchoRequest(str(2 + more)))

    assert answer.error_code == (0 if in_time else ErrorCode.REQUEST_TIMED_OUT)


@pytest.mark.parametrize(("more", "in_time"), BELOW_AND_ABOVE)
async def test_a_plugin_that_starts_longer_than_start_ms_fails(
    autojump_clock: MockClock, more: float, in_time: bool
) -> None:
    async with limited(lazy(start_s=2 + more), "start.ms", 2000) as served:
        state = served.broker.plugins.find("one").state

    assert state is (State.READY if in_time else State.FAILED)


@pytest.mark.parametrize(("more", "in_time"), BELOW_AND_ABOVE)
async def test_a_plugin_that_stops_longer_than_drain_ms_has_an_error(
    autojump_clock: MockClock, more: float, in_time: bool
) -> None:
    async with limited(lazy(stop_s=2 + more), "drain.ms", 2000) as served:
        hosted = served.broker.plugins.find("one")

    assert (hosted.error == "") == in_time


@pytest.mark.parametrize(
    ("number", "state"), [(2, State.READY), (3, State.FAILED), (4, State.FAILED)]
)
async def test_a_plugin_fails_at_the_number_of_failed_requests_of_its_setting(
    autojump_clock: MockClock, number: int, state: State
) -> None:
    """In a minute. Who asks at once is answered, also by one that has failed enough."""

    async def ask(served: ServedBroker) -> None:
        async with served.connect() as client:
            assert (await client.ask(EchoRequest("no"), 0)).error_code == -1

    async with limited(lazy(), "failures", 3) as served:
        async with trio.open_nursery() as nursery:
            for _ in range(number):
                nursery.start_soon(ask, served)
        await trio.sleep(1)
        assert served.broker.plugins.find("one").state is state
