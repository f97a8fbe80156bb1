"""Requests to handlers without a network."""

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from trio_kafka.plugin import Context, ProtocolError, api
from trio_kafka.requests.parts import Parts
from trio_kafka.requests.registry import Registry
from trio_kafka.testing.direct import ClosedError, DirectGroup
from trio_kafka.testing.sample_apis import EchoRequest, EchoResponse, WaitRequest, WaitResponse
from trio_kafka.testing.simulation import simulated_world


@api(EchoRequest)
def echo(request: EchoRequest, context: Context) -> EchoResponse:
    if request.text == "bad":
        raise ProtocolError("not like this")
    return EchoResponse(text=request.text * 2, number=context.request.correlation)


@api(WaitRequest)
async def wait(request: WaitRequest, context: Context) -> WaitResponse:
    await context.parked(trio.sleep, request.timeout_ms / 1000)
    return WaitResponse(outcome=context.client_id)


def group() -> DirectGroup:
    registry = Registry()
    registry.add_module(__import__(__name__, fromlist=["echo"]))
    return DirectGroup(simulated_world(), Parts(apis=registry))


async def test_requests_of_every_size_are_answered(autojump_clock: MockClock) -> None:
    direct = group()
    async with trio.open_nursery() as nursery:
        await nursery.start(direct.run)
        client = direct.client()
        for n, size in enumerate((0, 1, 1000, 16_000), 1):
            answer = await client.ask(EchoRequest("x" * size))
            assert (len(answer.text), answer.number) == (size * 2, n)
        assert direct.buffers.kept > 0
        assert (await direct.client("me").ask(WaitRequest(1000), 0)).outcome == "me"
        nursery.cancel_scope.cancel()


async def test_closed_connection_takes_no_more_requests(autojump_clock: MockClock) -> None:
    direct = group()
    async with trio.open_nursery() as nursery:
        await nursery.start(direct.run)
        client = direct.client()
        for text in ("bad", "good"):
            with pytest.raises(ClosedError, match="forbidden: Echo: not like this"):
                await client.ask(EchoRequest(text))
        nursery.cancel_scope.cancel()


async def test_second_response_to_a_request_is_refused(autojump_clock: MockClock) -> None:
    direct = group()
    async with trio.open_nursery() as nursery:
        await nursery.start(direct.run)
        await wait_all_tasks_blocked()  # until a handler is idle: then it is served at once
        client = direct.client()
        request = client.send(EchoRequest())
        with pytest.raises(RuntimeError, match="twice"):
            request.respond((b"",))
        nursery.cancel_scope.cancel()


async def test_disconnect_of_a_client_ends_its_parked_requests(autojump_clock: MockClock) -> None:
    direct = group()
    async with trio.open_nursery() as nursery:
        await nursery.start(direct.run)
        client = direct.client()
        client.send(WaitRequest(60_000))
        await trio.sleep(1)
        assert direct.group.parked == 1
        client.leave()
        await trio.sleep(1)
        assert direct.group.parked == 0
        nursery.cancel_scope.cancel()
