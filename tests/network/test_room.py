"""Buffers of sockets: small at first, larger for connections that move much at once."""

import struct
from typing import Any, Final

import pytest
from trio.testing import MockClock

from tests.network.echoing import echo, echoes, numbers
from tests.network.test_processor import Files
from trio_kafka.network.settings import ListenerSettings
from trio_kafka.plugin import Context, Encoded, api
from trio_kafka.testing.planes import RunningPlane, asked_plane, until
from trio_kafka.testing.sample_apis import EchoRequest, ReadRequest
from trio_kafka.testing.scripted_client import frame, request_frame
from trio_kafka.testing.simulation import simulated_world
from trio_kafka.world.simulated.socket import MemorySocket

LARGEST: Final = 500_000
GROWING: Final = ListenerSettings(
    processors=1, send_buffer=20_000, receive_buffer=10_000, largest_buffer=LARGEST
)


def room(plane: RunningPlane) -> tuple[object, object]:
    """Buffer sizes of the only connection in the tree; they are those of its socket."""
    (connection,) = plane.connections
    socket: Any = connection.socket
    assert isinstance(socket, MemorySocket)
    shown = connection.figures()
    assert shown["send_buffer"] in {None, socket.send_buffer}
    assert shown["receive_buffer"] in {None, socket.receive_buffer}
    return shown["send_buffer"], shown["receive_buffer"]


def large(size: int) -> bytes:
    return frame(10100, 0, struct.pack(">hi", 0, 1) + bytes(size), correlation=1)


async def test_a_client_that_reads_large_file_ranges_gets_a_larger_send_buffer(
    autojump_clock: MockClock,
) -> None:
    world = simulated_world()
    files = Files(world, 1 << 20)
    async with asked_plane(world, [files.handler()], listener=GROWING) as (plane, client):
        await client.ask(ReadRequest(0, 20_000), 0)
        assert room(plane) == (20_000, 10_000)

        for _ in range(2):
            await client.ask(ReadRequest(0, 20_001), 0)
            assert room(plane) == (LARGEST, 10_000)


async def test_a_client_that_sends_a_large_request_gets_a_larger_receive_buffer(
    autojump_clock: MockClock,
) -> None:
    world = simulated_world()
    listener = ListenerSettings(processors=1, receive_buffer=100_000, largest_buffer=LARGEST)
    async with asked_plane(world, [echo], listener=listener) as (plane, client):
        await client.send(echoes(5) + large(90_000))
        assert await numbers(client, 6) == [0, 1, 2, 3, 4, 1]
        assert room(plane) == (100 << 10, 100_000)

        for _ in range(2):
            await client.send(large(400_000))
            assert await numbers(client, 1) == [1]
            assert room(plane) == (100 << 10, LARGEST)


async def test_a_large_encoded_response_does_not_enlarge_the_send_buffer(
    autojump_clock: MockClock,
) -> None:
    """Of a file only references wait in a socket; these would be memory of a peer that is slow."""

    @api(EchoRequest)
    def much(request: EchoRequest, context: Context) -> Encoded:
        return Encoded(bytes(400_000))

    world = simulated_world()
    async with asked_plane(world, [much], listener=GROWING) as (plane, client):
        await client.send(echoes(1))
        await until(lambda: any(connection.out is not None for connection in plane.connections))

        assert len(await client.receive_frame()) > 400_000
        assert room(plane) == (20_000, 10_000)


@pytest.mark.parametrize(
    ("buffer", "largest"),
    [
        pytest.param(None, LARGEST, id="the system's"),
        pytest.param(20_000, 0, id="none"),
        pytest.param(LARGEST, 300_000, id="more than the largest"),
    ],
)
async def test_socket_buffers_keep_their_size_when_the_settings_allow_no_growth(
    autojump_clock: MockClock, buffer: int | None, largest: int
) -> None:
    world = simulated_world()
    files = Files(world, 1 << 20)
    listener = ListenerSettings(
        processors=1, send_buffer=buffer, receive_buffer=buffer, largest_buffer=largest
    )
    async with asked_plane(world, [files.handler(), echo], listener=listener) as (plane, client):
        await client.ask(ReadRequest(0, 1_000_000), 0)
        await client.send(request_frame(EchoRequest("y" * 30_000, 1), 0) + large(700_000))
        assert await numbers(client, 2) == [0, 1]

        assert room(plane) == (buffer, buffer)


async def test_a_reset_while_enlarging_a_socket_buffer_closes_only_that_connection(
    autojump_clock: MockClock,
) -> None:
    world = simulated_world()
    files = Files(world, 1 << 20)
    async with asked_plane(world, [files.handler()], listener=GROWING) as (plane, client):

        def reset(machine: str, call: str, target: str) -> None:
            if call == "make_room":
                raise ConnectionResetError("reset")

        world.universe.fault = reset
        await client.send(request_frame(ReadRequest(0, 1_000_000), 0))
        await until(lambda: not plane.connections)

        assert files.leases == 0
