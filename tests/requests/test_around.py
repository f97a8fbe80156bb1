"""Async interceptors: requests in a task of their own, and what may go wrong with them."""

from typing import Any

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from trio_kafka.errors import ErrorCode, InvariantError, KafkaError, ProtocolError
from trio_kafka.network import items
from trio_kafka.plugin import Context, Delayed, Encoded, Steps, api, to_bytes
from trio_kafka.testing.interceptors import Blamed
from trio_kafka.testing.planes import RunningPlane, running_plane
from trio_kafka.testing.sample_apis import (
    EchoRequest,
    EchoResponse,
    ReadRequest,
    ReadResponse,
    WaitRequest,
    WaitResponse,
)
from trio_kafka.testing.scripted_client import connect, connected, request_frame
from trio_kafka.testing.simulation import simulated_world


@api(EchoRequest)
def echo(request: EchoRequest, context: Context) -> EchoResponse:
    return EchoResponse(text=request.text, number=request.number)


async def nothing_more(request: Any, context: Context, forward: Any) -> Any:
    return await forward(request)


def put_around(
    plane: RunningPlane, function: Any, request: Any = None, *, order: int = 100, **more: Any
) -> Blamed:
    owner = Blamed()
    plane.parts.interceptors.add("around", request, function, order=order, owner=owner, **more)
    return owner


async def test_an_around_sees_request_and_answer_and_may_change_both(
    autojump_clock: MockClock,
) -> None:
    async def louder(request: EchoRequest, context: Context, forward: Any) -> EchoResponse:
        await trio.sleep(1)
        request.text = request.text.upper()
        answer: EchoResponse = await forward(request)
        await trio.sleep(1)
        return EchoResponse(text=answer.text + "!", number=context.version)

    world = simulated_world()
    async with running_plane(world, [echo]) as plane, connected(world, plane.endpoint) as client:
        owner = put_around(plane, louder, EchoRequest)
        answer = await client.ask(EchoRequest("hello", 7), 1)

        assert (answer.text, answer.number) == ("HELLO!", 1)
        assert owner.failures == []
        assert plane.group.limiter.borrowed_tokens == 0


async def test_what_an_inner_handler_delays_is_waited_for_without_a_token(
    autojump_clock: MockClock,
) -> None:
    planes: list[RunningPlane] = []
    ready: list[bool] = []

    @api(WaitRequest)
    def wait(request: WaitRequest, context: Context) -> Delayed:
        def outcome(timed_out: bool) -> WaitResponse | None:
            if timed_out or ready:
                return WaitResponse(outcome="time" if timed_out else "mark")
            return None

        deadline = trio.current_time() + request.timeout_ms / 1000
        return Delayed(("key",), deadline, outcome, purgatory=planes[0].purgatory)

    world = simulated_world()
    async with (
        running_plane(world, [wait], threads=1) as plane,
        connected(world, plane.endpoint) as client,
    ):
        planes.append(plane)
        put_around(plane, nothing_more)
        put_around(plane, nothing_more)
        began = trio.current_time()
        assert (await client.ask(WaitRequest(3000), 0)).outcome == "time"
        assert 3.0 <= trio.current_time() - began < 3.1

        await client.send(request_frame(WaitRequest(3000), 0))
        await trio.sleep(1)
        assert plane.group.limiter.borrowed_tokens == 0
        assert plane.buffers_out == 0
        plane.purgatory.mark("key")
        await trio.sleep(1)
        ready.append(True)
        plane.purgatory.mark("key")
        assert (await client.receive_answer(WaitResponse, 0))[1].outcome == "mark"
        assert plane.purgatory.watched == plane.timers.waiting == 0


async def test_a_request_that_is_parked_is_cancelled_when_its_peer_leaves(
    autojump_clock: MockClock,
) -> None:
    planes: list[RunningPlane] = []
    ends: list[str] = []

    @api(WaitRequest)
    def wait(request: WaitRequest, context: Context) -> Delayed:
        return Delayed(
            ("key",), float("inf"), lambda timed_out: None, purgatory=planes[0].purgatory
        )

    async def noted(request: Any, context: Context, forward: Any) -> Any:
        try:
            return await forward(request)
        except trio.Cancelled:
            ends.append("cancelled")
            raise

    world = simulated_world()
    async with running_plane(world, [wait], threads=1) as plane:
        planes.append(plane)
        owners = [put_around(plane, noted), put_around(plane, noted)]
        for _ in range(3):
            client = await connect(world.network, plane.endpoint)
            await client.send(request_frame(WaitRequest(), 0))
            await trio.sleep(1)
            assert plane.purgatory.waiting == 1
            client.close()
            await trio.sleep(1)
            assert plane.purgatory.waiting == 0
            assert not plane.connections

        assert ends == ["cancelled"] * 6
        assert [owner.failures for owner in owners] == [[], []]
        assert plane.group.limiter.borrowed_tokens == 0
