"""A place that is given back and taken again."""

import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from trio_kafka.plugin import Context, api
from trio_kafka.testing.planes import running_plane
from trio_kafka.testing.sample_apis import WaitRequest, WaitResponse
from trio_kafka.testing.scripted_client import connect, request_frame
from trio_kafka.testing.simulation import simulated_world


async def test_a_parked_handler_is_replaced_and_waits_for_a_place_to_go_on(
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
        statistics = plane.group.limiter.statistics()
        assert (statistics.borrowed_tokens, statistics.tasks_waiting) == (1, 1)

        await first.receive_answer(WaitResponse, 0)
        assert order == ["takes the place", "leaves it", "goes on"]
        first.close()
        second.close()
