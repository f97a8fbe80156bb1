"""Waits of `around` interceptors, and events meanwhile."""

import random
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from trio_kafka.controls.interceptors import RecordingOwner
from trio_kafka.plugin import Context, api
from trio_kafka.purgatory import Delayed, Purgatory
from trio_kafka.testing.harness import PluginHarness
from trio_kafka.testing.sample_apis import EchoRequest, EchoResponse, WaitRequest, WaitResponse


@api(EchoRequest)
def echo(request: EchoRequest, context: Context) -> EchoResponse:
    return EchoResponse(text=request.text)


async def nothing_more(request: Any, context: Context, forward: Any) -> Any:
    return await forward(request)


async def late(request: Any, context: Context, forward: Any) -> Any:
    await trio.sleep(1)
    answer = await forward(request)
    await trio.sleep(1)
    return answer


def serve_waits(harness: PluginHarness) -> Purgatory:
    purgatory = Purgatory("Wait", harness.timers, harness.node)

    @api(WaitRequest)
    def wait(request: WaitRequest, context: Context) -> Delayed:
        def outcome(timed_out: bool) -> WaitResponse | None:
            return WaitResponse(outcome="time") if timed_out else None

        deadline = trio.current_time() + request.timeout_ms / 1000
        return Delayed(("key",), deadline, outcome, purgatory=purgatory)

    harness.add(wait)
    return purgatory


def put(harness: PluginHarness, *functions: Any, **more: Any) -> list[RecordingOwner]:
    owners = [RecordingOwner() for _ in functions]
    for order, function in enumerate(functions):
        harness.interceptors.add("around", None, function, order=order, owner=owners[order], **more)
    return owners


def resize(harness: PluginHarness, threads: int) -> None:
    assert harness._group is not None
    harness._group.group.resize(threads)


def parked(harness: PluginHarness) -> int:
    (handlers,) = [node for _, node in harness.node.walk() if node.name == "request-handlers"]
    return int(handlers.figures()["parked"])


async def test_around_interceptor_that_sleeps_holds_a_token(
    autojump_clock: MockClock,
) -> None:
    async with PluginHarness(handlers=[echo]) as harness:
        resize(harness, 2)
        put(harness, late)
        clients = [harness.client() for _ in range(6)]
        began = trio.current_time()
        for _ in range(2):
            for client in clients:
                client.send(EchoRequest("x"))
            for client in clients:
                assert (await client.receive(EchoRequest())).text == "x"
        # Two at once, each for two seconds.
        assert trio.current_time() - began == pytest.approx(12, abs=0.1)
        assert parked(harness) == 0


async def test_leaving_peer_cancels_all_interceptors_that_wait_in_forward(
    autojump_clock: MockClock,
) -> None:
    ends: list[str] = []

    async def noted(request: WaitRequest, context: Context, forward: Any) -> Any:
        with trio.CancelScope():
            try:
                answer = await forward(request)
            except trio.Cancelled:
                ends.append("cancelled")
                raise
        ends.append(answer.outcome)
        return answer

    async with PluginHarness() as harness:
        purgatory = serve_waits(harness)
        owners = put(harness, nothing_more, late, noted)
        for _ in range(3):
            assert (await harness.ask(WaitRequest(100))).outcome == "time"
            client = harness.client()
            client.send(WaitRequest(60_000))
            await trio.sleep(2)
            assert purgatory.waiting == 1
            client.leave()
            await trio.sleep(2)
            assert purgatory.waiting == 0
        assert ends == ["time", "cancelled"] * 3
        assert [owner.failures for owner in owners] == [[], [], []]
        assert parked(harness) == 0


async def test_request_names_the_wait_of_its_interceptor_and_its_delayed_response(
    autojump_clock: MockClock,
) -> None:
    async def own(request: WaitRequest, context: Context, forward: Any) -> Any:
        await trio.sleep(1)
        await context.parked(trio.sleep, 1)
        return await forward(request)

    async with PluginHarness() as harness:
        purgatory = serve_waits(harness)
        put(harness, own)
        for _ in range(2):
            client = harness.client()
            request = client.send(WaitRequest(1000))
            await trio.sleep(0.5)
            assert request.waits_for is None
            assert client.connection.parked is None
            await trio.sleep(1)
            assert str(request.waits_for).startswith("sleep in plugin ")
            await trio.sleep(1)
            assert request.waits_for is next(iter(purgatory._waiting))
            assert client.connection.parked is not None
            await client.receive(WaitRequest())
            assert request.waits_for is None


ACTS = ("sleep", "checkpoint", "parked", "scope", "cancelled scope", "nursery", "shield", "nothing")


async def act(action: str, context: Context) -> None:
    """Something that an interceptor may do, before it forwards or afterwards."""
    match action:
        case "sleep":
            await trio.sleep(0.3)
        case "checkpoint":
            await trio.lowlevel.checkpoint()
        case "parked":
            await context.parked(trio.sleep, 0.3)
        case "scope":
            with trio.move_on_after(0.1):
                await trio.sleep_forever()
        case "cancelled scope":
            with trio.CancelScope() as scope:
                scope.cancel()
            with trio.CancelScope() as scope:
                scope.cancel()
                await trio.sleep(1)
        case "nursery":
            async with trio.open_nursery() as nursery:
                nursery.start_soon(trio.sleep, 0.2)
        case "shield":
            with trio.CancelScope(shield=True):
                await trio.sleep(0.2)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
async def test_random_interceptors_and_leaving_peers_lose_no_response_and_no_token(
    autojump_clock: MockClock, seed: int
) -> None:
    chance = random.Random(seed)
    answered = departures = 0

    async def around(request: WaitRequest, context: Context, forward: Any) -> Any:
        mine = random.Random(f"{seed} {request.timeout_ms}")
        assert trio.lowlevel.current_task() is trio.lowlevel.current_task()
        task = trio.lowlevel.current_task()
        await act(mine.choice(ACTS), context)
        with trio.CancelScope(shield=mine.random() < 0.2):
            answer = await forward(request)
        assert trio.lowlevel.current_task() is task
        if answer is not None:
            await act(mine.choice(ACTS), context)
        return answer or WaitResponse(outcome="left")

    async with PluginHarness() as harness:
        purgatory = serve_waits(harness)
        owners = put(harness, around, nothing_more, around, deadline_s=60, limit=7)
        resize(harness, 3)

        async def client() -> None:
            nonlocal answered, departures
            asking = harness.client()
            for _ in range(12):
                request = WaitRequest(chance.randrange(2000))
                asking.send(request)
                if chance.random() < 0.25:
                    await trio.sleep(chance.random())
                    asking.leave()
                    departures += 1
                    asking = harness.client()
                else:
                    assert (await asking.receive(request)).outcome == "time"
                    answered += 1

        with trio.fail_after(3600):
            async with trio.open_nursery() as nursery:
                for _ in range(20):
                    nursery.start_soon(client)
            await trio.sleep(10)
        assert answered + departures == 240
        assert [owner.failures for owner in owners] == [[], [], []]
        assert (parked(harness), purgatory.waiting) == (0, 0)
        assert harness._group is not None
        assert harness._group.group.limiter.borrowed_tokens == 0
        for interception in harness.interceptors._all:
            assert interception.limiter is not None
            assert interception.limiter.borrowed_tokens == 0


async def test_forward_in_a_cancelled_scope_ends_at_once(
    autojump_clock: MockClock,
) -> None:
    async def impatient(request: WaitRequest, context: Context, forward: Any) -> Any:
        with trio.CancelScope() as scope:
            scope.cancel()
            return await forward(request)
        return WaitResponse(outcome="impatient")

    async with PluginHarness() as harness:
        purgatory = serve_waits(harness)
        put(harness, impatient)
        for _ in range(3):
            began = trio.current_time()
            assert (await harness.ask(WaitRequest(60_000))).outcome == "impatient"
            assert trio.current_time() == began
            assert purgatory.waiting == 0
