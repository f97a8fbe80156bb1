"""Bytes that become requests, or do not; on the simulated world."""

import struct

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from tests.network.echoing import echo, echoes, numbers, waiting
from trio_kafka.network.reasons import CloseReason
from trio_kafka.network.settings import ListenerSettings
from trio_kafka.plugin import Context, api
from trio_kafka.testing.planes import asked_plane, running_plane, until
from trio_kafka.testing.sample_apis import EchoRequest, EchoResponse, WaitRequest
from trio_kafka.testing.scripted_client import connect, connected, frame, request_frame
from trio_kafka.testing.simulation import simulated_world
from trio_kafka.world.simulated import Universe


async def test_frames_sent_byte_by_byte_are_answered(autojump_clock: MockClock) -> None:
    world = simulated_world()
    async with asked_plane(world, [echo]) as (_, client):
        for byte in echoes(2):
            await client.send(bytes([byte]))
            await trio.sleep(0.01)
        assert await numbers(client, 2) == [0, 1]


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"\xff\xff\xff\xff", CloseReason.BAD_FRAME),
        (struct.pack(">i", 5) + bytes(5), CloseReason.BAD_FRAME),
        (struct.pack(">i", (100 << 20) + 1), CloseReason.BAD_FRAME),
        (b"GET / HTTP/1.1\r\n\r\n", CloseReason.BAD_FRAME),
        (frame(9999, 0), CloseReason.UNKNOWN_API),
        (frame(10100, 7), CloseReason.UNKNOWN_API),
        (frame(10100, -1), CloseReason.UNKNOWN_API),
        (frame(10100, 0), CloseReason.UNDECODABLE),
        (frame(10100, 0, b"\x00\x09abc"), CloseReason.UNDECODABLE),
        (struct.pack(">ihhih", 12, 10100, 0, 1, 99) + b"ab", CloseReason.UNDECODABLE),
        (
            frame(10100, 0, client_id="ab").replace(b"ab", b"\xff\xfe"),
            CloseReason.UNDECODABLE,
        ),
        (frame(10100, 1), CloseReason.UNDECODABLE),
    ],
)
async def test_an_invalid_request_closes_its_connection_and_counts_the_reason(
    autojump_clock: MockClock, data: bytes, reason: str
) -> None:
    world = simulated_world()
    async with asked_plane(world, [echo]) as (plane, client):
        await client.send(data)
        await client.wait_closed()

        assert plane.closed(reason) == 1
        assert not plane.connections
        assert plane.buffers_out == 0
        async with connected(world, plane.endpoint) as other:
            assert (await other.ask(EchoRequest("fine", 1), 1)).text == "fine"


async def test_extra_bytes_after_the_body_of_a_request_are_ignored(
    autojump_clock: MockClock,
) -> None:
    world = simulated_world()
    body = struct.pack(">h", 1) + b"x" + struct.pack(">i", 5)
    async with asked_plane(world, [echo]) as (_, client):
        await client.send(frame(10100, 0, body + b"more", correlation=5))

        assert await numbers(client, 1) == [5]


async def test_the_log_says_when_a_client_closed_within_a_frame(
    autojump_clock: MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG", "trio_kafka")
    world = simulated_world()
    async with running_plane(world, [echo]) as plane:
        client = await connect(world.network, plane.endpoint)
        await client.send(echoes(1)[:-1])
        await trio.sleep(1)
        client.close()
        await until(lambda: not plane.connections)

    (record,) = [entry for entry in caplog.records if entry.getMessage() == "connection closed"]
    assert record.fields["reason"] == CloseReason.LEFT  # type: ignore[attr-defined]
    assert record.fields["detail"] == "within a frame"  # type: ignore[attr-defined]


async def test_another_client_is_served_while_a_giant_frame_is_received(
    autojump_clock: MockClock,
) -> None:
    sizes: list[int] = []

    @api(EchoRequest)
    def measure(request: EchoRequest, context: Context) -> EchoResponse:
        assert context.request.frame is not None
        sizes.append(len(context.request.frame))
        return EchoResponse(number=request.number)

    world = simulated_world()
    async with (
        asked_plane(world, [measure]) as (plane, giant),
        connected(world, plane.endpoint) as other,
    ):
        body = struct.pack(">hi", 0, 1)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(giant.send, frame(10100, 0, body + bytes(3_000_000), correlation=1))
            await trio.sleep(0.001)
            await other.ask(EchoRequest("x", 2), 0)
            assert len(sizes) == 1
            assert await numbers(giant, 1) == [1]
        assert max(sizes) > 3_000_000
        await wait_all_tasks_blocked()
        assert all(connection.framer.held == 0 for connection in plane.connections)


async def test_the_end_of_the_stream_within_a_large_frame_closes_after_the_request_in_flight(
    autojump_clock: MockClock,
) -> None:
    wait = waiting(lambda: trio.sleep(5))

    world = Universe(room=1 << 20).machine("broker")
    settings = ListenerSettings(processors=1, receive_buffer=None)
    async with asked_plane(world, [wait], listener=settings, share_s=0.0) as (plane, client):
        half = frame(10101, 0, bytes(2_000_000))[:300_000]
        await client.send(request_frame(WaitRequest(1), 0) + half)
        client.socket.shutdown_write()
        await trio.sleep(1)
        assert len(plane.connections) == 1
        await trio.sleep(5)

        assert plane.closed(CloseReason.LEFT) == 1


@pytest.mark.parametrize(
    ("share_s", "order"),
    [
        pytest.param(0.0, ["giant", "other", "giant"], id="the turn is over"),
        pytest.param(1.0, ["giant", "giant", "other"], id="there is time"),
    ],
)
async def test_another_client_is_read_first_after_a_large_frame_used_up_the_turn(
    autojump_clock: MockClock, share_s: float, order: list[str]
) -> None:
    world = Universe(room=1 << 20).machine("broker")
    settings = ListenerSettings(processors=1, receive_buffer=None)
    async with (
        asked_plane(world, [echo], listener=settings, share_s=share_s) as (plane, giant),
        connected(world, plane.endpoint) as other,
    ):
        for client in (giant, other):
            await client.ask(EchoRequest("x", 1), 0)
        await wait_all_tasks_blocked()
        names = {str(giant.socket.local): "giant", str(other.socket.local): "other"}
        seen: list[str] = []

        def watch(machine: str, call: str, target: str) -> None:
            if trio.lowlevel.current_task().name.endswith("-reader") and call == "receive":
                seen.append(names[target])

        world.universe.fault = watch
        await giant.send(frame(10100, 0, struct.pack(">hi", 0, 1) + bytes(300_000), correlation=1))
        world.universe.latency *= 10
        await other.send(echoes(1, start=2))
        autojump_clock.jump(1.0)  # both have arrived, in this order, when the reader looks
        assert await numbers(other, 1) == [2]
        assert await numbers(giant, 1) == [1]

        assert seen[:3] == order
