"""Connections that are idle, and those that only wait for us."""

from functools import partial

import pytest
import trio
import trio.testing
from trio.testing import MockClock

from tests.network.echoing import waiting
from trio_kafka.network.idle_timeout import SEND_S, is_idle
from trio_kafka.network.reasons import CloseReason, MuteReason
from trio_kafka.network.settings import ListenerSettings
from trio_kafka.plugin import Context, api
from trio_kafka.testing.planes import running_plane
from trio_kafka.testing.sample_apis import ReadRequest, ReadResponse, WaitRequest, WaitResponse
from trio_kafka.testing.scripted_client import connected, request_frame
from trio_kafka.testing.simulation import simulated_world
from trio_kafka_apis.k18_api_versions import api_versions


class Quiet:
    """A connection, as far as idleness is concerned."""

    def __init__(self, muted: int, *, out: bool = False, closed: bool = False) -> None:
        self.progress = 100.0
        self.muted = muted
        self.out = object() if out else None
        self.closed = closed


@pytest.mark.parametrize(
    ("connection", "idle"),
    [
        (Quiet(0), True),
        (Quiet(0, closed=True), False),
        (Quiet(MuteReason.IN_FLIGHT), False),
        (Quiet(MuteReason.IN_FLIGHT, out=True), True),
        (Quiet(MuteReason.IN_FLIGHT | MuteReason.CHANNEL_FULL), False),
        (Quiet(MuteReason.THROTTLED), False),
    ],
)
def test_a_connection_is_idle_without_a_request_or_when_its_client_does_not_read(
    connection: Quiet, idle: bool
) -> None:
    assert is_idle(connection, 101.0) is idle  # type: ignore[arg-type]
    assert not is_idle(connection, 99.0)  # type: ignore[arg-type]


@pytest.mark.parametrize("passes", range(6))
async def test_the_processor_survives_the_end_of_the_last_connection_at_any_loop_pass(
    passes: int,
) -> None:
    world = simulated_world()
    async with running_plane(world, [api_versions]) as plane:
        for _ in range(20):
            socket = await world.network.connect("127.0.0.1", plane.endpoint.port)
            while not plane.connections:
                await trio.lowlevel.checkpoint()
            for _ in range(passes):
                await trio.lowlevel.checkpoint()
            plane.processor.table.close(plane.connections[0], CloseReason.GONE)
            socket.close()
            await trio.testing.wait_all_tasks_blocked()

        assert plane.closed(CloseReason.GONE) == 20


@pytest.mark.parametrize("parked_s", [0.0, 9.5, 15.0])
async def test_the_idle_time_of_a_connection_begins_with_its_last_answer(
    autojump_clock: MockClock, parked_s: float
) -> None:
    world = simulated_world()
    wait = waiting(partial(trio.sleep, parked_s), "done", parked=True)
    listener = ListenerSettings(processors=1, idle_s=10.0)
    async with (
        running_plane(world, [wait], listener=listener) as plane,
        connected(world, plane.endpoint) as client,
    ):
        await client.send(request_frame(WaitRequest(1), 0))
        await client.receive_answer(WaitResponse, 0)
        answered = trio.current_time()

        with pytest.raises(EOFError):
            await client.receive(1)
        assert 10.0 <= trio.current_time() - answered < 11.0
        assert plane.closed(CloseReason.IDLE) == 1
        plane.nursery.cancel_scope.cancel()


@api(ReadRequest)
def read(request: ReadRequest, context: Context) -> ReadResponse:
    del context
    return ReadResponse(memoryview(bytes(request.size)))


async def test_draining_closes_a_slowly_reading_client_after_two_seconds(
    autojump_clock: MockClock,
) -> None:
    world = simulated_world()
    async with (
        running_plane(world, [read]) as plane,
        connected(world, plane.endpoint) as client,
    ):
        await client.send(request_frame(ReadRequest(0, 16 << 20), 0))
        await trio.sleep(1)
        began = trio.current_time()

        async def read_slowly() -> None:
            while True:
                await trio.sleep(0.1)
                await client.receive(100)

        plane.nursery.start_soon(read_slowly)

        assert await plane.plane.drain(began + 30)
        assert SEND_S <= trio.current_time() - began < SEND_S + 1
        assert plane.closed(CloseReason.DRAINED) == 1
        plane.nursery.cancel_scope.cancel()


async def test_the_send_timeout_of_draining_starts_when_the_response_is_ready(
    autojump_clock: MockClock,
) -> None:
    world = simulated_world()
    wait = waiting(partial(trio.sleep, 3 * SEND_S), "done")
    async with (
        running_plane(world, [wait]) as plane,
        connected(world, plane.endpoint) as client,
    ):
        await client.send(request_frame(WaitRequest(1), 0))
        await trio.sleep(0.1)

        assert await plane.plane.drain(trio.current_time() + 30)

        assert (await client.receive_answer(WaitResponse, 0))[1].outcome == "done"
