"""Bytes, answers and peers at a processor; on the simulated world."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from tests.network.echoing import delaying, echo, echoes, numbers, waiting
from trio_kafka.network.reasons import CloseReason, MuteReason
from trio_kafka.network.settings import ListenerSettings
from trio_kafka.plugin import Context, Encoded, api
from trio_kafka.records.file_range import FileRange
from trio_kafka.testing.planes import RunningPlane, asked_plane, running_plane, until
from trio_kafka.testing.sample_apis import (
    EchoRequest,
    EchoResponse,
    ReadRequest,
    ReadResponse,
    WaitRequest,
    WaitResponse,
)
from trio_kafka.testing.scripted_client import (
    ScriptedClient,
    connect,
    connected,
    request_frame,
)
from trio_kafka.testing.simulation import simulated_world
from trio_kafka.world.simulated import Universe
from trio_kafka.world.world import World

# An answer of a file is more than the socket takes at once.
TIGHT: Final = ListenerSettings(processors=1, largest_buffer=0)


async def test_pipelined_requests_are_answered_in_order(autojump_clock: MockClock) -> None:
    world = simulated_world()
    async with asked_plane(world, [echo]) as (plane, client):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(client.send, echoes(3000))
            assert await numbers(client, 3000) == list(range(3000))
        assert plane.channel.requests.high_water == 0


async def test_requests_over_an_irregular_network_are_answered_in_order(
    autojump_clock: MockClock,
) -> None:
    world = simulated_world(seed=3, moody=True)
    async with (
        asked_plane(world, [echo]) as (_, client),
        trio.open_nursery() as nursery,
    ):
        nursery.start_soon(client.send, echoes(500, text="y" * 400))
        assert await numbers(client, 500) == list(range(500))


async def test_a_request_that_follows_a_request_without_response_is_answered(
    autojump_clock: MockClock,
) -> None:
    world = simulated_world()
    async with asked_plane(world, [echo]) as (_, client):
        await client.send(echoes(3, text="-") + echoes(1, start=9))

        assert await numbers(client, 1) == [9]


async def test_requests_sent_before_the_end_of_the_stream_are_answered(
    autojump_clock: MockClock,
) -> None:
    world = simulated_world()
    async with asked_plane(world, [echo]) as (plane, client):
        await client.send(echoes(20))
        client.socket.shutdown_write()

        assert await numbers(client, 20) == list(range(20))
        assert await client.wait_closed()
        assert plane.closed(CloseReason.LEFT) == 1


async def test_requests_without_responses_sent_before_a_close_are_all_served(
    autojump_clock: MockClock,
) -> None:
    seen: list[int] = []

    @api(EchoRequest)
    def note(request: EchoRequest, context: Context) -> None:
        seen.append(request.number)

    world = simulated_world()
    async with running_plane(world, [note]) as plane:
        client = await connect(world.network, plane.endpoint)
        await client.send(echoes(30))
        client.close()
        await until(lambda: plane.closed(CloseReason.LEFT) == 1)

    assert seen == list(range(30))


async def test_a_connection_with_half_a_frame_and_no_more_bytes_is_closed_as_idle(
    autojump_clock: MockClock,
) -> None:
    world = simulated_world()
    settings = ListenerSettings(processors=1, idle_s=10.0)
    async with (
        asked_plane(world, [echo], listener=settings) as (plane, slow),
        connected(world, plane.endpoint) as quick,
    ):
        await slow.send(echoes(1)[:9])
        for _ in range(4):
            await trio.sleep(4.0)
            await quick.ask(EchoRequest("x", 1), 0)

        assert await slow.wait_closed() in {True, False}
        assert plane.closed(CloseReason.IDLE) == 1
        assert len(plane.connections) == 1


async def test_a_client_that_never_reads_is_closed_as_idle_with_its_response_pending(
    autojump_clock: MockClock,
) -> None:
    @api(EchoRequest)
    def much(request: EchoRequest, context: Context) -> EchoResponse:
        return EchoResponse(text="z" * 30_000, number=request.number)

    world = simulated_world()
    settings = ListenerSettings(processors=1, idle_s=10.0)
    async with running_plane(world, [much], listener=settings) as plane:
        client = await connect(world.network, plane.endpoint)
        await client.send(echoes(50))
        await trio.sleep(9.0)
        assert plane.connections[0].out is not None
        await trio.sleep(4.0)

        assert plane.closed(CloseReason.IDLE) == 1
        client.close()


async def test_a_slowly_reading_client_receives_the_whole_response_and_is_not_closed_as_idle(
    autojump_clock: MockClock,
) -> None:
    @api(EchoRequest)
    def much(request: EchoRequest, context: Context) -> Encoded:
        return Encoded(bytes(400_000))

    world = simulated_world()
    settings = ListenerSettings(processors=1, idle_s=20.0)
    async with asked_plane(world, [much], listener=settings) as (plane, client):
        await client.send(echoes(1))
        for _ in range(20):
            await client.receive(20_000)
            await trio.sleep(2.0)
        assert len(await client.receive(400_008 - 400_000)) == 8
        assert plane.closed(CloseReason.IDLE) == 0


async def test_the_loop_does_not_wake_while_no_client_is_connected(
    autojump_clock: MockClock,
) -> None:
    world = simulated_world()
    async with running_plane(world, [echo]) as plane:
        async with connected(world, plane.endpoint) as client:
            await client.ask(EchoRequest("x", 1), 0)
        await trio.sleep(2000)
        passes = plane.budget.passes
        await trio.sleep(100_000)

        assert plane.budget.passes - passes < 5


class Files:
    """A file and the handler that answers with ranges of it."""

    def __init__(self, world: World, size: int) -> None:
        self.file = world.directory("/data", create=True).create("log")
        self.file.append([bytes(range(256)) * (size // 256)])
        self.ranges: list[FileRange] = []

    def handler(self) -> Any:
        @api(ReadRequest)
        def read(request: ReadRequest, context: Context) -> ReadResponse:
            lease = self.file.lease(request.position + request.size)
            self.ranges.append(FileRange(lease, request.position, request.size))
            return ReadResponse(self.ranges[-1])  # type: ignore[arg-type]

        return read

    @property
    def leases(self) -> int:
        return len(self.file._leases)  # type: ignore[attr-defined]


@asynccontextmanager
async def roomy_plane(size: int) -> AsyncIterator[tuple[RunningPlane, ScriptedClient, Files]]:
    """A plane that reads a file of `size`, with sockets that take all of an answer."""
    world = Universe(room=1 << 24).machine("broker")
    files = Files(world, size)
    listener = ListenerSettings(processors=1, send_buffer=None, receive_buffer=None)
    async with asked_plane(world, [files.handler()], listener=listener) as (plane, client):
        yield plane, client, files


async def test_a_file_range_of_megabytes_arrives_whole(autojump_clock: MockClock) -> None:
    world = simulated_world()
    files = Files(world, 3 << 20)
    async with asked_plane(world, [files.handler()]) as (_, client):
        await client.send(request_frame(ReadRequest(512, 2_500_000), 0, correlation=4))
        data = await client.receive_frame()

        assert data[8:] == (bytes(range(256)) * 12000)[512 : 512 + 2_500_000]
        assert (await client.ask(ReadRequest(0, 256), 0)).data == bytes(range(256))


async def test_a_client_receives_the_old_bytes_of_a_file_deleted_during_sending(
    autojump_clock: MockClock,
) -> None:
    world = simulated_world()
    files = Files(world, 1 << 20)
    async with asked_plane(world, [files.handler()], listener=TIGHT) as (_, client):
        await client.send(request_frame(ReadRequest(0, 1_000_000), 0))
        await trio.sleep(1)
        directory = world.directory("/data")
        await directory.unlink("log")
        files.file.close()
        directory.create("log").append([b"OTHER" * 10_000])
        data = await client.receive_frame()

        assert data[8:] == (bytes(range(256)) * 4000)[:1_000_000]


async def test_truncating_a_file_during_sending_resets_the_connection(
    autojump_clock: MockClock,
) -> None:
    world = simulated_world()
    files = Files(world, 1 << 20)
    async with asked_plane(world, [files.handler()], listener=TIGHT) as (plane, client):
        await client.send(request_frame(ReadRequest(0, 1_000_000), 0))
        await trio.sleep(1)
        files.file.truncate(500_000)
        files.file.append([b"OTHER" * 200_000])

        with pytest.raises(ConnectionError):
            await client.receive_frame()
        assert plane.closed(CloseReason.TRUNCATED) == 1


@pytest.mark.parametrize("how", ["close", "reset", "cancel"])
async def test_the_lease_of_an_interrupted_response_is_released_once(
    autojump_clock: MockClock, how: str
) -> None:
    world = simulated_world()
    released: list[bool] = []

    class RecordingRange(FileRange):
        def release(self) -> None:
            released.append(True)
            super().release()

    file = world.directory("/data", create=True).create("log")
    file.append([bytes(1 << 20)])

    @api(ReadRequest)
    def read(request: ReadRequest, context: Context) -> ReadResponse:
        return ReadResponse(RecordingRange(file.lease(1 << 20), 0, 1 << 20))  # type: ignore[arg-type]

    async with running_plane(world, [read], listener=TIGHT) as plane:
        client = await connect(world.network, plane.endpoint)
        await client.send(request_frame(ReadRequest(0, 1), 0))
        await trio.sleep(1)
        assert released == []
        if how == "close":
            client.close()
            await trio.sleep(1)
        elif how == "reset":
            client.socket.abort()
            await trio.sleep(1)
        else:
            plane.nursery.cancel_scope.cancel()
            client.close()

    assert released == [True]


def stuck(plane: RunningPlane) -> int:
    return sum(connection.muted & MuteReason.CHANNEL_FULL > 0 for connection in plane.connections)


async def test_no_request_is_lost_while_the_request_channel_is_full(
    autojump_clock: MockClock,
) -> None:
    gate = trio.Event()

    wait = waiting(gate.wait, "after")

    world = simulated_world()
    async with running_plane(world, [echo, wait], threads=1, queued=2) as plane:
        clients = [await connect(world.network, plane.endpoint) for _ in range(60)]
        for client in clients:
            ask = request_frame(WaitRequest(1), 0, correlation=100)
            await client.send(ask + echoes(19))
        await trio.sleep(1)
        assert stuck(plane) == 57
        assert plane.channel.requests.queued == 2

        gate.set()
        for client in clients:
            assert (await client.receive_answer(WaitResponse, 0))[0] == 100
            assert await numbers(client, 19) == list(range(19))
            client.close()
        assert plane.channel.requests.high_water == 2


async def test_the_request_channel_shows_its_depth_and_the_age_of_its_oldest_request(
    autojump_clock: MockClock,
) -> None:
    gate = trio.Event()

    wait = waiting(gate.wait)

    world = simulated_world()
    async with running_plane(world, [wait], threads=1) as plane:
        (requests,) = [
            node
            for _, node in plane.node.walk()
            if (node.kind, node.name) == ("channel", "requests")
        ]
        clients = [await connect(world.network, plane.endpoint) for _ in range(3)]
        for client in clients:
            await client.send(request_frame(WaitRequest(1), 0))
            await trio.sleep(10)

        assert requests.figures()["depth"] == 2
        assert requests.figures()["oldest_s"] == pytest.approx(20, abs=0.1)
        gate.set()
        await trio.sleep(1)
        assert requests.figures()["oldest_s"] is None
        for client in clients:
            client.close()


async def test_a_full_channel_serves_requests_of_all_processors(autojump_clock: MockClock) -> None:
    wait = waiting(lambda: trio.sleep(1))

    world = simulated_world()
    settings = ListenerSettings(processors=3)
    async with running_plane(world, [wait], threads=1, queued=1, listener=settings) as plane:
        clients = [await connect(world.network, plane.endpoint) for _ in range(12)]
        for client in clients:
            await client.send(request_frame(WaitRequest(1), 0))
        clients[5].close()
        for number, client in enumerate(clients):
            if number != 5:
                await client.receive_answer(WaitResponse, 0)
                client.close()


async def test_a_connection_that_closes_while_waiting_for_the_channel_releases_its_buffer(
    autojump_clock: MockClock,
) -> None:
    gate = trio.Event()

    wait = waiting(gate.wait)

    world = simulated_world()
    async with running_plane(world, [wait], threads=1, queued=1) as plane:
        clients = [await connect(world.network, plane.endpoint) for _ in range(5)]
        for client in clients:
            await client.send(request_frame(WaitRequest(1), 0))
        await trio.sleep(1)
        for client in clients:
            client.socket.abort()
        await trio.sleep(1)
        assert not plane.connections
        gate.set()
        await trio.sleep(1)

        async with connected(world, plane.endpoint) as other:
            await other.ask(WaitRequest(1), 0)
        await wait_all_tasks_blocked()
        assert plane.buffers_out == 0


async def test_the_parked_request_of_a_closed_client_is_dropped_from_the_purgatory(
    autojump_clock: MockClock,
) -> None:
    planes: list[RunningPlane] = []

    wait = delaying(planes, lambda timed_out: "time" if timed_out else "mark")

    world = simulated_world()
    async with running_plane(world, [wait], threads=1) as plane:
        planes.append(plane)
        clients = [await connect(world.network, plane.endpoint) for _ in range(50)]
        for number, client in enumerate(clients):
            await client.send(request_frame(WaitRequest(60_000), 0))
            if number >= 40:
                client.close()
        await trio.sleep(1)
        assert plane.purgatory.waiting == 40
        for client in clients[:20]:
            client.close()
        await trio.sleep(1)
        assert plane.purgatory.waiting == 20
        assert all(connection.framer.held == 0 for connection in plane.connections)

        plane.purgatory.mark("event")
        for client in clients[20:40]:
            assert (await client.receive_answer(WaitResponse, 0))[1].outcome == "mark"
        assert len(plane.purgatory.watchers) == plane.purgatory.waiting == plane.timers.waiting == 0

        assert (await clients[20].ask(WaitRequest(500), 0)).outcome == "time"
        for client in clients[20:40]:
            client.close()


async def test_a_reset_while_a_response_is_sent_releases_all_buffers(
    autojump_clock: MockClock,
) -> None:
    @api(EchoRequest)
    def much(request: EchoRequest, context: Context) -> Encoded:
        return Encoded(bytes(400_000))

    world = simulated_world()
    async with running_plane(world, [much]) as plane:
        client = await connect(world.network, plane.endpoint)
        await client.send(echoes(3))
        await trio.sleep(1)
        assert plane.buffers_out > 0
        client.socket.abort()
        await trio.sleep(1)

        assert plane.buffers_out == 0


async def test_the_yield_point_runs_between_the_pieces_of_a_large_response(
    autojump_clock: MockClock,
) -> None:
    async with roomy_plane(1 << 20) as (plane, client, files):
        await client.ask(ReadRequest(0, 256), 0)
        seen: list[int] = []

        def serve() -> None:
            (connection,) = plane.connections
            if connection.out is not None:
                seen.append(connection.out.taken)

        plane.budget.yield_point.bind(serve)
        before = plane.processor.responses.items
        await client.send(request_frame(ReadRequest(0, 1 << 20), 0))
        data = await client.receive_frame()

        assert data[8:] == bytes(range(256)) * 4096
        assert plane.processor.responses.items == before  # one turn's share
        assert [taken >> 18 for taken in dict.fromkeys(seen)] == [1, 2, 3]
        assert files.leases == 0


async def test_a_connection_closed_between_pieces_of_its_response_releases_lease_and_buffers(
    autojump_clock: MockClock,
) -> None:
    async with roomy_plane(1 << 20) as (plane, client, files):
        await client.ask(ReadRequest(0, 256), 0)
        (connection,) = plane.connections

        def serve() -> None:
            if connection.out is not None and connection.out.taken > 1 << 18:
                plane.processor.table.close(connection, CloseReason.STOPPED, reset=True)

        plane.budget.yield_point.bind(serve)
        async with connected(plane.world, plane.endpoint) as other:
            await client.send(request_frame(ReadRequest(0, 1 << 20), 0))
            with pytest.raises(ConnectionError):
                await client.receive_frame()
            await other.ask(ReadRequest(0, 256), 0)

        assert plane.closed(CloseReason.STOPPED) == 1
        assert files.leases == plane.buffers_out == 0
        assert connection.muted & MuteReason.SENDING  # it was not sent, nor counted as such
