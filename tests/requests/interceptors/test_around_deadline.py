"""Deadlines and limits of an `around`, and cancellation that comes at any time."""

from typing import Any

import pytest
import trio
from trio.testing import MockClock

from trio_kafka.controls.interceptors import RecordingOwner
from trio_kafka.errors import ErrorCode
from trio_kafka.plugin import Context, api
from trio_kafka.testing.harness import PluginHarness
from trio_kafka.testing.sample_apis import EchoRequest, EchoResponse


@api(EchoRequest)
def echo(request: EchoRequest, context: Context) -> EchoResponse:
    return EchoResponse(text=request.text)


def put(harness: PluginHarness, function: Any, **more: Any) -> RecordingOwner:
    owner = RecordingOwner()
    harness.interceptors.add("around", None, function, order=1, owner=owner, **more)
    return owner


async def test_deadline_of_an_around_interceptor_counts_the_sum_of_its_waits(
    autojump_clock: MockClock,
) -> None:
    async def waiting(request: EchoRequest, context: Context, forward: Any) -> Any:
        for _ in range(request.number):
            await trio.sleep(0.3)
        answer = await forward(request)
        await trio.sleep(0.3)
        return answer

    async with PluginHarness(handlers=[echo]) as harness:
        owner = put(harness, waiting, deadline_s=1)
        for _ in range(2):
            assert (await harness.ask(EchoRequest("x", 2))).text == "x"
            late = await harness.ask(EchoRequest("x", 3))
            assert late.error_code == ErrorCode.REQUEST_TIMED_OUT
        assert len(owner.failures) == 2


async def test_each_call_of_an_around_interceptor_has_a_new_deadline(
    autojump_clock: MockClock,
) -> None:
    async def waiting(request: EchoRequest, context: Context, forward: Any) -> Any:
        await trio.sleep(0.9)
        return await forward(request)

    async with PluginHarness(handlers=[echo]) as harness:
        owner = put(harness, waiting, deadline_s=1)
        for _ in range(5):
            assert (await harness.ask(EchoRequest("x"))).text == "x"
        assert owner.failures == []


@pytest.mark.parametrize("number", [0, 1])
async def test_around_interceptor_that_swallows_cancellation_at_its_deadline_may_still_respond(
    autojump_clock: MockClock, number: int
) -> None:
    async def stubborn(request: EchoRequest, context: Context, forward: Any) -> Any:
        try:
            await trio.sleep(2 * request.number)
        except trio.Cancelled:
            return EchoResponse(text="late")
        return await forward(request)

    async with PluginHarness(handlers=[echo]) as harness:
        put(harness, stubborn, deadline_s=1)
        for _ in range(3):
            answer = await harness.ask(EchoRequest("x", number))
            assert answer.error_code == 0
            assert answer.text == ("late" if number else "x")


async def test_around_interceptors_hold_no_more_tokens_than_the_limiter_has(
    autojump_clock: MockClock,
) -> None:
    """More begin at once than there are tokens: those that wait by themselves hold one each."""

    async def nested(request: EchoRequest, context: Context, forward: Any) -> Any:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(trio.sleep, 1)
        return await forward(request)

    async with PluginHarness(handlers=[echo]) as harness:
        put(harness, nested)
        clients = [harness.client() for _ in range(9)]
        assert harness._group is not None
        harness._group.group.resize(3)
        limiter = harness._group.group.limiter
        for _ in range(2):
            for client in clients:
                client.send(EchoRequest("x"))
                assert limiter.borrowed_tokens <= 3
            await trio.sleep(0.5)
            assert (limiter.borrowed_tokens, limiter.free) == (3, 0)
            for client in clients:
                await client.receive(EchoRequest())
            assert (limiter.borrowed_tokens, limiter.free) == (0, 3)


async def test_limit_of_an_around_interceptor_holds_in_new_and_reused_tasks(
    autojump_clock: MockClock,
) -> None:
    running = most = 0

    async def counted(request: EchoRequest, context: Context, forward: Any) -> Any:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await trio.sleep(1)
        running -= 1
        return await forward(request)

    async with PluginHarness(handlers=[echo]) as harness:
        put(harness, counted, limit=2)
        clients = [harness.client() for _ in range(6)]
        for _ in range(3):  # in new tasks, then by hand
            began = trio.current_time()
            for client in clients:
                client.send(EchoRequest("x"))
            for client in clients:
                assert (await client.receive(EchoRequest())).text == "x"
            assert most == 2
            assert trio.current_time() - began == pytest.approx(3, abs=0.01)
        (interception,) = harness.interceptors._all
        assert interception.limiter is not None
        assert interception.limiter.borrowed_tokens == 0
