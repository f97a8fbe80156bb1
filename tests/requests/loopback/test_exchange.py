"""How requests from within are handed over, and given up."""

from functools import partial
from typing import Any

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from tests.broker.test_garbage import garbage
from tests.requests.loopback.test_client import ask, fetch, figures, produce
from trio_kafka.plugin import Context, RefusedError, api
from trio_kafka.requests.api import api_of
from trio_kafka.testing.broker import served_broker
from trio_kafka.testing.sample_apis import EchoRequest, EchoResponse
from trio_kafka.testing.simulation import simulated_world


async def test_cancelled_loopback_request_leaves_no_connection_and_no_delayed_fetch(
    autojump_clock: MockClock,
) -> None:
    async with served_broker(simulated_world()) as served:
        await served.create_topic("t")
        purgatory = served.broker.purgatories.fetch
        with trio.move_on_after(2):
            await ask(served, fetch("t", max_wait_ms=60_000), version=12)
        assert purgatory.waiting == 0
        assert served.broker.parts.in_process.connections == {}

        async with trio.open_nursery() as nursery:
            request = fetch("t", max_wait_ms=60_000, min_bytes=1)
            nursery.start_soon(partial(ask, served, request, version=12))
            await wait_all_tasks_blocked()
            assert figures(served)["in_flight"] == 1
            nursery.cancel_scope.cancel()
        assert figures(served)["in_flight"] == 0


async def test_loopback_requests_beyond_the_queue_size_wait_and_are_all_answered(
    autojump_clock: MockClock,
) -> None:
    answers: list[Any] = []

    async with served_broker(simulated_world(), {"queued.max.requests": "3"}) as served:
        await served.create_topic("t")

        async def produce_once() -> None:
            answers.append(await ask(served, produce("t"), version=12))

        async with trio.open_nursery() as nursery:
            for _ in range(20):
                nursery.start_soon(produce_once)
            with trio.CancelScope() as scope:
                scope.cancel()
                await ask(served, produce("t"), version=12)
    offsets = [answer.responses[0].partition_responses[0].base_offset for answer in answers]
    assert sorted(offsets)[:20] == sorted(offsets)
    assert len(set(offsets)) == 20


@pytest.mark.parametrize("called", [False, True])
async def test_cancelled_wait_for_room_in_the_queue_passes_the_room_to_the_next_request(
    autojump_clock: MockClock, called: bool
) -> None:
    """Also when it has been called already, and has not run since."""
    answers: list[str] = []

    @api(EchoRequest)
    async def hold(request: EchoRequest, context: Context) -> EchoResponse:
        await trio.sleep(1)
        return EchoResponse(text=request.text)

    settings = {"queued.max.requests": "1", "num.io.threads": "1"}
    async with served_broker(simulated_world(), settings) as served:
        result = api_of(hold)
        assert result is not None
        served.broker.parts.apis.add(result)
        channel = served.broker.parts.in_process._channel

        async def ask_echo(number: int, scope: trio.CancelScope) -> None:
            with scope:
                answers.append((await ask(served, EchoRequest(str(number)))).text)

        scopes = [trio.CancelScope() for _ in range(9)]
        async with trio.open_nursery() as nursery:
            for number, scope in enumerate(scopes):
                nursery.start_soon(ask_echo, number, scope)
                await wait_all_tasks_blocked()
            # One is served, one is queued, the others wait for room.
            if called:
                scopes[2].cancel()
                channel._call_first()
            else:
                for scope in scopes[2::2]:
                    scope.cancel()
        assert figures(served)["in_flight"] == 0
    numbers = [0, 1, 3, 4, 5, 6, 7, 8] if called else [0, 1, 3, 5, 7]
    assert sorted(answers) == list(map(str, numbers))


async def test_file_leases_end_for_received_and_for_cancelled_loopback_fetches(
    autojump_clock: MockClock,
) -> None:
    @api(EchoRequest)
    async def hold(request: EchoRequest, context: Context) -> EchoResponse:
        await trio.sleep(1)
        return EchoResponse(text=request.text)

    async with served_broker(simulated_world(), {"num.io.threads": "1"}) as served:
        result = api_of(hold)
        assert result is not None
        served.broker.parts.apis.add(result)
        await served.create_topic("t")
        await ask(served, produce("t"), version=12)
        log = served.broker.replicas.partition("t", 0).local_log()
        found_records = await ask(served, fetch("t"), version=12)
        assert found_records.responses[0].partitions[0].records
        assert not log.segments.active.file.leased

        with trio.move_on_after(0.5):  # it has left before it is served
            async with trio.open_nursery() as nursery:
                nursery.start_soon(ask, served, EchoRequest())
                await wait_all_tasks_blocked()
                nursery.start_soon(partial(ask, served, fetch("t"), version=12))
        await trio.sleep(2)
        assert not log.segments.active.file.leased


async def test_loopback_requests_leave_no_reference_cycles(autojump_clock: MockClock) -> None:
    async def ask_all() -> None:
        await ask(served, produce("t"), version=12)
        await ask(served, produce("t", size=2000), client_id="greedy", version=12)  # throttled
        await ask(served, fetch("t", max_wait_ms=100), version=12)
        with trio.move_on_after(2):
            await ask(served, fetch("t", max_wait_ms=60_000, min_bytes=1 << 20), version=12)
        with pytest.raises(RefusedError):
            await ask(served, produce("t", acks=0, partition=7), version=12)

    async with served_broker(simulated_world()) as served:
        await served.create_topic("t")
        served.broker.parts.quotas.quotas.set(("", "greedy"), {"producer_byte_rate": 100.0})
        await ask_all()  # what is imported and compiled stays
        with garbage() as cycles:
            await ask_all()

    assert not cycles
