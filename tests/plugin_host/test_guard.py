"""Guard between a plugin's handlers and the broker: deadlines, limits, requests in flight."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from tests.plugin_host.plugins import EchoRequest, EchoResponse
from tests.requests.work import in_slices
from trio_kafka.errors import ErrorCode
from trio_kafka.pending import Work
from trio_kafka.plugin import Context, KafkaError, api, plugin
from trio_kafka.plugin_host.declaration import Plugin
from trio_kafka.plugin_host.lifecycle import State
from trio_kafka.purgatory import Delayed, Purgatory, Timers
from trio_kafka.testing import asgi
from trio_kafka.testing.broker import ServedBroker, served_broker
from trio_kafka.testing.simulation import simulated_world


def serving(handler: Callable[..., Any], **named: Any) -> Plugin:
    @plugin("one", **named)
    @asynccontextmanager
    async def plugin_one(context: Any) -> AsyncIterator[None]:
        context.add_api(handler)
        yield

    return plugin_one


@api(EchoRequest)
async def slow(request: EchoRequest, context: Context) -> EchoResponse:
    await context.parked(trio.sleep, float(request.text))
    return EchoResponse(text="done")


async def ask(served: ServedBroker, text: str, into: list[Any]) -> None:
    async with served.connect() as client:
        answer = await client.ask(EchoRequest(text), 0)
        into.append((round(trio.current_time(), 1), answer.error_code, answer.text))


async def test_a_request_that_exceeds_the_plugin_deadline_times_out(
    autojump_clock: MockClock,
) -> None:
    async with served_broker(simulated_world(), plugins=[serving(slow, deadline_s=2)]) as served:
        began = trio.current_time()
        late = await served.ask(EchoRequest("5"))
        took = trio.current_time() - began
        early = await served.ask(EchoRequest("1"))
        hosted = served.broker.plugins.find("one")

        assert (late.error_code, late.error_message) == (
            ErrorCode.REQUEST_TIMED_OUT,
            "plugin one: API Echo exceeded its deadline of 2 s",
        )
        assert took == pytest.approx(2, abs=0.1)
        assert early.text == "done"
        assert (hosted.state, hosted.current.failures) == (State.READY, 0)
        assert hosted.current.in_flight.count == 0


async def test_a_plugin_serves_at_most_its_limit_of_requests_at_once(
    autojump_clock: MockClock,
) -> None:
    answers: list[Any] = []
    async with served_broker(simulated_world(), plugins=[serving(slow, limit=2)]) as served:
        began = trio.current_time()
        async with trio.open_nursery() as nursery:
            for _ in range(5):
                nursery.start_soon(ask, served, "1", answers)
        limiter = served.broker.plugins.find("one").current.limiter

        assert [round(at - began) for at, _, _ in answers] == [1, 1, 2, 2, 3]
        assert limiter.borrowed_tokens == 0


async def test_a_client_that_closes_frees_its_place_in_the_plugin_limit(
    autojump_clock: MockClock,
) -> None:
    answers: list[Any] = []
    async with served_broker(simulated_world(), plugins=[serving(slow, limit=1)]) as served:
        with trio.move_on_after(1):  # one is served, one waits for its turn, both leave
            async with trio.open_nursery() as nursery:
                nursery.start_soon(ask, served, "100", answers)
                nursery.start_soon(ask, served, "100", answers)
        await trio.sleep(1)
        current = served.broker.plugins.find("one").current

        assert (current.limiter.borrowed_tokens, current.in_flight.count) == (0, 0)
        assert current.failures == 0
        assert (await served.ask(EchoRequest("1"))).text == "done"


async def test_requests_in_flight_finish_or_time_out_before_a_failed_plugin_ends(
    autojump_clock: MockClock,
) -> None:
    answers: list[Any] = []
    async with served_broker(simulated_world(), plugins=[serving(slow)]) as served:
        began = trio.current_time()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(ask, served, "5", answers)
            nursery.start_soon(ask, served, "50", answers)
            await trio.sleep(1)
            served.broker.plugins.find("one").current.fail("enough")
            with trio.fail_after(20):
                while served.broker.plugins.find("one").state is not State.FAILED:
                    await trio.sleep(0.5)

    times = [(round(at - began), code) for at, code, _ in answers]
    assert times == [(5, 0), (11, ErrorCode.REQUEST_TIMED_OUT)]


def parking(
    complete: Callable[[bool], Any], deadline_s: float, *, after_steps: bool = False
) -> Plugin:
    """Return a plugin whose handler returns a Delayed, or Work that leads to one."""

    @plugin("one")
    @asynccontextmanager
    async def plugin_one(context: Any) -> AsyncIterator[None]:
        timers = Timers(context.node)
        purgatory = Purgatory("Parked", timers, context.node)
        context.nursery.start_soon(timers.run)

        @api(EchoRequest)
        def park(request: EchoRequest, _: Context) -> Any:
            return Work(steps()) if after_steps else parked()

        def parked() -> Delayed:
            ends = trio.current_time() + deadline_s
            return Delayed((), ends, complete, purgatory=purgatory)

        def steps() -> Any:
            yield
            return parked()

        context.add_api(park)
        yield

    return plugin_one


@pytest.mark.parametrize("after_steps", [False, True])
async def test_a_delayed_response_counts_as_in_flight_until_the_response_is_sent(
    autojump_clock: MockClock, after_steps: bool
) -> None:
    answers: list[Any] = []

    def complete(timed_out: bool) -> Any:
        return EchoResponse(text="late") if timed_out else None

    plugins = [parking(complete, 3, after_steps=after_steps)]
    async with served_broker(simulated_world(), plugins=plugins) as served:
        current = served.broker.plugins.find("one").current
        async with trio.open_nursery() as nursery:
            nursery.start_soon(ask, served, "", answers)
            await trio.sleep(1)
            in_flight = current.in_flight.count
        await trio.sleep(1)

        assert in_flight == 1
        assert current.in_flight.count == 0
        assert answers[0][2] == "late"


async def test_a_delayed_response_is_completed_when_its_plugin_ends(
    autojump_clock: MockClock,
) -> None:
    answers: list[Any] = []

    def complete(timed_out: bool) -> Any:
        return EchoResponse(text="in the end") if timed_out else None

    settings = {"plugin.one.drain.ms": "2000"}
    async with served_broker(
        simulated_world(), settings, plugins=[parking(complete, 1000)]
    ) as served:
        began = trio.current_time()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(ask, served, "", answers)
            await trio.sleep(1)
            served.broker.plugins.find("one").current.fail("enough")

    assert [(round(at - began), text) for at, _, text in answers] == [(3, "in the end")]


async def test_a_sliced_handler_counts_as_in_flight_until_its_last_step(
    autojump_clock: MockClock,
) -> None:
    seen: list[int] = []
    plugins: list[Any] = []

    @api(EchoRequest)
    @in_slices
    def steps(request: EchoRequest, _: Context) -> Any:
        for _ in range(100):
            seen.append(plugins[0].current.in_flight.count)
            yield
        if request.text == "bad":
            raise KafkaError(ErrorCode.INVALID_REQUEST, "bad")
        return EchoResponse(text="stepped")

    async with served_broker(simulated_world(), plugins=[serving(steps)]) as served:
        plugins.append(served.broker.plugins.find("one"))
        good = await served.ask(EchoRequest(""))
        bad = await served.ask(EchoRequest("bad"))

        assert (good.text, bad.error_message) == ("stepped", "bad")
        assert set(seen) == {1}
        assert plugins[0].current.in_flight.count == 0


async def test_an_http_request_of_a_mounted_app_counts_as_in_flight_until_answered(
    autojump_clock: MockClock,
) -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        await trio.sleep(1)
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    @plugin("one")
    @asynccontextmanager
    async def plugin_one(context: Any) -> AsyncIterator[None]:
        context.mount("/one", app)
        yield

    async with served_broker(simulated_world(), plugins=[plugin_one]) as served:
        host = served.broker.plugins
        mount, generation = host.dependencies.mounts.find("/one"), host.find("one").current
        assert mount is not None
        async with trio.open_nursery() as nursery:
            nursery.start_soon(asgi.ask, mount.app, "GET", "/one")
            await trio.sleep(0.5)
            assert generation.in_flight.count == 1

        assert generation.in_flight.count == 0
