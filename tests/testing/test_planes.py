"""A plane for a test: up when the block begins, gone when it ends."""

import pytest
import trio
from trio.testing import MockClock

from trio_kafka.plugin import Context, api
from trio_kafka.testing.planes import running_plane, until
from trio_kafka.testing.sample_apis import EchoRequest, EchoResponse
from trio_kafka.testing.scripted_client import connected
from trio_kafka.testing.simulation import simulated_world


@api(EchoRequest)
def echo(request: EchoRequest, context: Context) -> EchoResponse:
    return EchoResponse(text=request.text)


async def test_plane_serves_requests_and_is_closed_at_the_end_of_its_block(
    autojump_clock: MockClock,
) -> None:
    world = simulated_world()
    async with running_plane(world, [echo]) as plane:
        async with connected(world, plane.endpoint) as client:
            assert (await client.ask(EchoRequest("x"), 1)).text == "x"
        await until(lambda: not plane.connections)
        assert plane.closed("left") == 1

    with pytest.raises(ConnectionError):
        await world.network.connect("127.0.0.1", plane.endpoint.port)


async def test_until_times_out(autojump_clock: MockClock) -> None:
    with pytest.raises(trio.TooSlowError):
        await until(lambda: False)
