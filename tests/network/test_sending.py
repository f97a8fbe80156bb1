"""How answers get to their sockets: together, in order, and before their connection ends."""

from contextlib import AsyncExitStack
from typing import Any, Final

import pytest
import trio
from trio.testing import MockClock

from tests.network.echoing import delaying, waiting
from tests.network.test_processor import echo, echoes, numbers
from trio_kafka.errors import ProtocolError
from trio_kafka.network.reasons import CloseReason
from trio_kafka.network.sending import SMALL
from trio_kafka.network.settings import ListenerSettings
from trio_kafka.plugin import Context, Encoded, api, lazily
from trio_kafka.protocol.compiler import decoder
from trio_kafka.protocol.messages.k03_metadata import (
    MetadataRequest,
    MetadataResponse,
    MetadataResponseTopic,
)
from trio_kafka.testing.planes import RunningPlane, asked_plane, running_plane
from trio_kafka.testing.sample_apis import EchoRequest, EchoResponse, WaitRequest, WaitResponse
from trio_kafka.testing.scripted_client import (
    ScriptedClient,
    connect,
    connected,
    frame,
    request_frame,
)
from trio_kafka.testing.simulation import simulated_world
from trio_kafka.world.simulated import Universe
from trio_kafka.world.world import World


def sends_of(world: World, task: str = "-reader") -> list[int]:
    """Counts from now on what such tasks send: one entry a call."""
    seen: list[int] = []
    rule = world.universe.fault

    def watch(machine: str, call: str, target: str) -> Any:
        if call == "send" and task in trio.lowlevel.current_task().name:
            seen.append(1)
        return rule(machine, call, target)

    world.universe.fault = watch
    return seen


async def test_small_responses_of_one_connection_are_sent_in_one_call(
    autojump_clock: MockClock,
) -> None:
    world = simulated_world()
    async with asked_plane(world, [echo]) as (_, client):
        await client.ask(EchoRequest("x", 1), 0)
        seen = sends_of(world)

        await client.send(echoes(20))
        assert await numbers(client, 20) == list(range(20))

        assert len(seen) == 1


async def test_a_large_response_is_sent_before_the_next_request_is_served(
    autojump_clock: MockClock,
) -> None:
    """Or a peer that reads nothing would have many of them made."""

    @api(EchoRequest)
    def much(request: EchoRequest, context: Context) -> Encoded:
        served.append(request)
        return Encoded(bytes(400_000))

    served: list[EchoRequest] = []
    world = simulated_world()
    async with running_plane(world, [much]) as plane:
        client = await connect(world.network, plane.endpoint)
        await client.send(echoes(3))
        await trio.sleep(1)

        assert len(served) == 1
        client.socket.abort()
        await trio.sleep(1)
        assert plane.buffers_out == 0


WIDE: Final = 50_000  # topics of an answer of 10 MB


def wide_answer(lengths: dict[int, int], positions: list[int]) -> Any:
    """Handler of an answer that is encoded while it is sent. lengths: of names,
    by encoding."""

    @api(MetadataRequest)
    def metadata(request: MetadataRequest, context: Context) -> MetadataResponse:
        del request, context

        def make(at: int) -> MetadataResponseTopic:
            positions.append(at)
            return MetadataResponseTopic(name="x" * lengths[(len(positions) - 1) // WIDE])

        return MetadataResponse(topics=lazily(range(WIDE), make))

    return metadata


async def test_a_very_large_response_is_encoded_as_the_client_reads(
    autojump_clock: MockClock,
) -> None:
    positions: list[int] = []
    world = simulated_world()
    async with running_plane(world, [wide_answer({0: 200, 1: 200}, positions)]) as plane:
        client = await connect(world.network, plane.endpoint)
        await client.send(request_frame(MetadataRequest(), 12))
        await trio.sleep(10)
        ahead = len(positions) - WIDE
        answer = await client.receive_frame()

    assert ahead < WIDE / 10, "a part of it is made for a client that reads nothing"
    assert len(positions) == 2 * WIDE
    response, _ = decoder(MetadataResponse, 12)(answer, 5)
    assert [len(topic.name or "") for topic in response.topics] == [200] * WIDE


async def test_a_streamed_response_whose_size_changes_closes_its_connection(
    autojump_clock: MockClock,
) -> None:
    world = simulated_world()
    async with running_plane(world, [wide_answer({0: 200, 1: 100}, [])]) as plane:
        client = await connect(world.network, plane.endpoint)
        await client.send(request_frame(MetadataRequest(), 12))
        with pytest.raises((ConnectionError, EOFError)):
            await client.receive_frame()

        assert plane.closed(CloseReason.TRUNCATED) == 1
        assert plane.buffers_out == 0


@pytest.mark.parametrize(
    ("last", "reason"),
    [
        pytest.param(b"\x00\x00\x00\x01", CloseReason.BAD_FRAME, id="garbage"),
        pytest.param(frame(31_000, 0, b""), CloseReason.UNKNOWN_API, id="unknown"),
        pytest.param(b"", CloseReason.LEFT, id="end"),
    ],
)
async def test_earlier_requests_are_answered_before_invalid_bytes_close_the_connection(
    autojump_clock: MockClock, last: bytes, reason: str
) -> None:
    world = simulated_world()
    async with asked_plane(world, [echo]) as (plane, client):
        await client.send(echoes(5) + last)
        if not last:
            client.socket.shutdown_write()

        assert await numbers(client, 5) == list(range(5))
        await client.wait_closed()
        assert plane.closed(reason) == 1


SMALL_ROOM: Final = ListenerSettings(processors=1, send_buffer=None, receive_buffer=None)


@api(EchoRequest)
def longer(request: EchoRequest, context: Context) -> EchoResponse:
    """Answers do not fit into a socket whose requests do."""
    return EchoResponse(text=request.text * 300, number=request.number)


@pytest.mark.parametrize(
    ("last", "reason"),
    [
        pytest.param(b"\x00\x00\x00\x01", CloseReason.BAD_FRAME, id="garbage"),
        pytest.param(frame(31_000, 0, b""), CloseReason.UNKNOWN_API, id="unknown"),
    ],
)
async def test_responses_blocked_by_a_full_socket_are_sent_before_the_connection_closes(
    autojump_clock: MockClock, last: bytes, reason: str
) -> None:
    world = Universe(room=1000).machine("broker")
    async with asked_plane(world, [longer], listener=SMALL_ROOM) as (plane, client):
        await client.send(echoes(10) + last)
        await trio.sleep(1)
        (connection,) = plane.connections
        assert connection.ending is not None

        assert await numbers(client, 10) == list(range(10))
        await client.wait_closed()
        assert plane.closed(reason) == 1


async def test_a_response_after_responses_blocked_by_a_full_socket_keeps_its_order(
    autojump_clock: MockClock,
) -> None:
    """The last request parks; when it is answered, the socket has not taken what came before."""

    wait = waiting(lambda: trio.sleep(5))

    world = Universe(room=1000).machine("broker")
    async with asked_plane(world, [longer, wait], listener=SMALL_ROOM) as (_, client):
        await client.send(echoes(10) + request_frame(WaitRequest(1), 0, correlation=10))
        await trio.sleep(10)

        assert await numbers(client, 10) == list(range(10))
        assert (await client.receive_answer(WaitResponse, 0))[0] == 10
        await client.ask(EchoRequest("y", 11), 0)


async def test_draining_waits_for_responses_blocked_by_a_full_socket(
    autojump_clock: MockClock,
) -> None:
    world = Universe(room=1000).machine("broker")
    async with asked_plane(world, [longer], listener=SMALL_ROOM) as (plane, client):
        await client.send(echoes(10))
        await trio.sleep(1)
        plane.processor.begin_draining()
        assert len(plane.connections) == 1

        assert await numbers(client, 10) == list(range(10))
        await client.wait_closed()
        assert plane.closed(CloseReason.DRAINED) == 1


async def test_a_forbidden_request_is_served_once_and_closes_after_earlier_responses(
    autojump_clock: MockClock,
) -> None:
    """Though the connection lives on until its socket has taken the answers before."""
    served: list[int] = []

    @api(WaitRequest)
    def forbid(request: WaitRequest, context: Context) -> WaitResponse:
        served.append(context.correlation)
        raise ProtocolError("no")

    world = Universe(room=1000).machine("broker")
    async with asked_plane(world, [longer, forbid], listener=SMALL_ROOM) as (plane, client):
        await client.send(echoes(10) + request_frame(WaitRequest(1), 0, correlation=10))
        await trio.sleep(1)

        assert await numbers(client, 10) == list(range(10))
        await client.wait_closed()
        assert served == [10]
        assert plane.closed(CloseReason.FORBIDDEN) == 1


HANDLER: Final = "request-handler"


async def parked(world: World, stack: AsyncExitStack, plane: RunningPlane) -> list[ScriptedClient]:
    """Clients whose requests are parked, two of each."""
    clients = [await stack.enter_async_context(connected(world, plane.endpoint)) for _ in range(3)]
    frames = [request_frame(WaitRequest(60_000), 0, correlation=number) for number in range(2)]
    for client in clients:
        await client.send(b"".join(frames))
    await trio.sleep(1)
    assert plane.purgatory.waiting == 3
    return clients


@pytest.mark.parametrize("size", [10, 20_000])
async def test_a_handler_that_completes_parked_requests_sends_only_small_responses_itself(
    autojump_clock: MockClock, size: int
) -> None:
    """Large ones, which it takes time to send, are left to the writer."""
    planes: list[RunningPlane] = []
    world = simulated_world()
    wait = delaying(planes, lambda _timed_out: "x" * size)
    async with running_plane(world, [wait], threads=1) as plane, AsyncExitStack() as stack:
        planes.append(plane)
        clients = await parked(world, stack, plane)
        by_handlers, by_writer = sends_of(world, HANDLER), sends_of(world, "-writer")

        for number in range(2):
            plane.purgatory.mark("event")
            for client in clients:
                correlation, answer = await client.receive_answer(WaitResponse, 0)
                assert (correlation, len(answer.outcome)) == (number, size)
            await trio.sleep(1)

        is_small = size < SMALL
        assert (len(by_handlers), len(by_writer)) == ((6, 0) if is_small else (0, 6))
        assert plane.purgatory.waiting == plane.buffers_out == 0


async def test_a_handler_sends_completed_responses_together_after_making_all_of_them(
    autojump_clock: MockClock,
) -> None:
    """To send each at once would wake each peer for itself."""
    planes: list[RunningPlane] = []
    world = simulated_world()
    seen: list[int] = []

    def outcome(_timed_out: bool) -> str:
        seen.append(len(sent))
        return "x"

    async with (
        running_plane(world, [delaying(planes, outcome)], threads=1) as plane,
        AsyncExitStack() as stack,
    ):
        planes.append(plane)
        clients = await parked(world, stack, plane)
        sent = sends_of(world, HANDLER)
        plane.purgatory.mark("event")
        for client in clients:
            await client.receive_answer(WaitResponse, 0)

        assert seen == [0, 0, 0]
        assert len(sent) == 3


async def test_a_client_reset_before_its_response_does_not_affect_other_clients(
    autojump_clock: MockClock,
) -> None:
    planes: list[RunningPlane] = []
    world = simulated_world()
    clients: list[ScriptedClient] = []

    def outcome(_timed_out: bool) -> str:
        clients[1].socket.abort()
        return "x"

    async with (
        running_plane(world, [delaying(planes, outcome)], threads=1) as plane,
        AsyncExitStack() as stack,
    ):
        planes.append(plane)
        clients += await parked(world, stack, plane)
        plane.purgatory.mark("event")
        for client in clients[::2]:
            await client.receive_answer(WaitResponse, 0)
        await trio.sleep(1)

        assert len(plane.connections) == 2
        assert plane.buffers_out == 0
