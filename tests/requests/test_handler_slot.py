"""A place that is given back and taken again."""

from typing import Any

import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from tests.requests.leases import LeasedReads
from trio_kafka.controls.interceptors import RecordingOwner
from trio_kafka.plugin import Context, api
from trio_kafka.plugin_host.guard import InFlight
from trio_kafka.purgatory import Purgatory
from trio_kafka.testing.harness import PluginHarness
from trio_kafka.testing.planes import running_plane
from trio_kafka.testing.sample_apis import ReadRequest, WaitRequest, WaitResponse
from trio_kafka.testing.scripted_client import connect, request_frame
from trio_kafka.testing.simulation import simulated_world


async def test_parked_handler_gives_up_its_token_and_waits_for_a_token_to_continue(
    autojump_clock: MockClock,
) -> None:
    gate, order = trio.Event(), []

    @api(WaitRequest)
    async def wait(request: WaitRequest, context: Context) -> WaitResponse:
        if request.timeout_ms:
            order.append("takes the place")
            await trio.sleep(5)
            order.append("leaves it")
        else:
            await context.parked(gate.wait)
            order.append("goes on")
        return WaitResponse()

    world = simulated_world()
    async with running_plane(world, [wait], threads=1) as plane:
        first, second = [await connect(world.network, plane.endpoint) for _ in range(2)]
        await first.send(request_frame(WaitRequest(0), 0))
        await trio.sleep(1)
        await second.send(request_frame(WaitRequest(1), 0))
        await trio.sleep(1)
        gate.set()
        await wait_all_tasks_blocked()
        tokens = plane.group.limiter
        assert (tokens.borrowed_tokens, tokens.waiting) == (1, 1)

        await first.receive_answer(WaitResponse, 0)
        assert order == ["takes the place", "leaves it", "goes on"]
        first.close()
        second.close()


async def test_task_that_outlives_its_request_takes_no_token_and_keeps_the_next_request_parked(
    autojump_clock: MockClock,
) -> None:
    """A plugin's own nursery runs it: it waits when its request ends, or begins to wait later."""
    ends: list[str] = []
    parked: list[object] = []

    async def wait_on(context: Context, before_s: float) -> None:
        await trio.sleep(before_s)
        try:
            await context.parked(trio.sleep, 2)
        except RuntimeError as error:
            ends.append(str(error))
        parked.append(context.connection.parked)

    async with trio.open_nursery() as own, PluginHarness() as harness:

        @api(WaitRequest)
        async def wait(request: WaitRequest, context: Context) -> WaitResponse:
            if request.timeout_ms:
                await context.parked(trio.sleep, request.timeout_ms / 1000)
            else:
                own.start_soon(wait_on, context, 0)
                own.start_soon(wait_on, context, 1)
                await trio.sleep(0.5)
            return WaitResponse(outcome="done")

        harness.add(wait)
        assert harness._group is not None
        limiter = harness._group.group.limiter
        client = harness.client()
        assert (await client.ask(WaitRequest(0))).outcome == "done"
        client.send(WaitRequest(5000))
        await trio.sleep(0.1)
        ends_second = client.connection.parked
        await trio.sleep(1)
        assert client.connection.parked is ends_second
        await trio.sleep(2)

        assert len(ends) == len(parked) == 2
        assert all("has been answered" in end for end in ends)
        assert None not in parked  # what would end the second request if its client left
        assert limiter.borrowed_tokens == 0
        assert (await client.receive(WaitRequest())).outcome == "done"


async def test_response_is_released_when_its_request_ends_while_waiting_for_a_token(
    autojump_clock: MockClock,
) -> None:
    reads, in_flight = LeasedReads(), InFlight()

    async def forwards(request: Any, context: Context, forward: Any) -> Any:
        return await forward(request)

    async with PluginHarness() as harness:
        purgatory = Purgatory("Read", harness.timers, harness.node)
        harness.add(reads.delayed(purgatory))
        owner = RecordingOwner(in_flight=in_flight)
        harness.interceptors.add("around", ReadRequest, forwards, order=0, owner=owner)
        assert harness._group is not None
        limiter = harness._group.group.limiter
        limiter.total_tokens = 1
        client = harness.client()
        client.send(ReadRequest())
        await wait_all_tasks_blocked()
        assert purgatory.waiting == 1
        other = object()
        assert limiter.take_nowait(other)

        reads.is_ready = True
        purgatory.mark("key")
        await wait_all_tasks_blocked()
        assert (purgatory.waiting, limiter.waiting, reads.open) == (0, 1, 1)
        in_flight.cut_off()  # its plugin stops
        await wait_all_tasks_blocked()
        limiter.give_back(other)
        await wait_all_tasks_blocked()

        assert reads.open == 0
        assert limiter.borrowed_tokens == 0
