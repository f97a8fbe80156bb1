"""The planes together, over real sockets and simulated ones."""

import resource
import struct
from pathlib import Path
from typing import Any

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from tests.network.echoing import delaying, waiting
from trio_kafka.network.reasons import CloseReason
from trio_kafka.network.settings import ListenerSettings
from trio_kafka.plugin import Context, api
from trio_kafka.protocol.messages.k18_api_versions import ApiVersionsRequest
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
    frame,
    request_frame,
)
from trio_kafka.testing.simulation import simulated_world
from trio_kafka.world.real import RealWorld
from trio_kafka_apis.k18_api_versions import api_versions


@api(EchoRequest)
def echo(request: EchoRequest, context: Context) -> EchoResponse:
    return EchoResponse(text=request.text, number=request.number)


def resident() -> int:
    """Bytes of this process in memory."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


async def test_api_versions_is_answered_over_real_sockets() -> None:
    world = RealWorld()
    async with asked_plane(world, [api_versions]) as (_, client):
        answer = await client.ask(ApiVersionsRequest("trio", "1"), 3)
        assert answer.error_code == 0
        assert [api_key.api_key for api_key in answer.api_keys] == [18]


async def test_a_thousand_pipelined_requests_over_real_sockets_keep_their_order() -> None:
    world = RealWorld()
    async with asked_plane(world, [echo]) as (_, client):
        data = b"".join(
            request_frame(EchoRequest("x" * (number % 300), number), 1, correlation=number)
            for number in range(1000)
        )
        async with trio.open_nursery() as nursery:
            nursery.start_soon(client.send, data)
            got = [(await client.receive_answer(EchoResponse, 1))[0] for _ in range(1000)]
        assert got == list(range(1000))


async def test_fifty_announced_frames_of_90_megabytes_use_memory_only_for_bytes_received() -> None:
    world = RealWorld()
    async with running_plane(world, [echo]) as plane:
        async with connected(world, plane.endpoint) as other:
            await other.ask(EchoRequest("x", 1), 0)
        before = resident()
        clients = [await connect(world.network, plane.endpoint) for _ in range(50)]
        head = struct.pack(">ihhi", 90_000_000, 10100, 0, 1)
        for client in clients:
            await client.send(head + bytes(100_000))
        await until(
            lambda: (
                sum(connection.framer.held > 90_000_000 for connection in plane.connections) == 50
            )
        )
        await trio.sleep(0.01)

        assert resident() - before < 2 * 50 * 100_000 + (8 << 20)
        for client in clients:
            client.close()


async def test_200_clients_that_never_read_use_little_memory_and_delay_no_other_client() -> None:
    @api(EchoRequest)
    def much(request: EchoRequest, context: Context) -> EchoResponse:
        return EchoResponse(text="z" * 20_000, number=request.number)

    world = RealWorld()
    settings = ListenerSettings(processors=2, send_buffer=4096, receive_buffer=4096)
    async with running_plane(world, [much], listener=settings) as plane:
        clients = [await connect(world.network, plane.endpoint) for _ in range(200)]
        before = resident()
        ask = request_frame(EchoRequest("x", 1), 0)
        for client in clients:
            client.socket.send(ask * 60)
        await until(
            lambda: sum(connection.out is not None for connection in plane.connections) > 150
        )

        async with connected(world, plane.endpoint) as other:
            assert (await other.ask(EchoRequest("x", 1), 0)).number == 1
        assert resident() - before < 200 * (64 << 10) + (24 << 20)
        for client in clients:
            client.socket.abort()
        await until(lambda: not plane.connections)


async def test_a_file_deleted_during_sending_arrives_whole_over_real_sockets(
    tmp_path: Path,
) -> None:
    world = RealWorld()
    directory = world.directory(str(tmp_path))
    file = directory.create("log")
    data = bytes(range(256)) * (2 << 10)
    file.append([data])

    @api(ReadRequest)
    def read(request: ReadRequest, context: Context) -> ReadResponse:
        lease = file.lease(request.position + request.size)
        return ReadResponse(FileRange(lease, request.position, request.size))  # type: ignore[arg-type]

    settings = ListenerSettings(processors=1, send_buffer=32768, largest_buffer=0)
    async with asked_plane(world, [read], listener=settings) as (plane, client):
        await client.send(request_frame(ReadRequest(256, len(data) - 256), 0))
        await until(lambda: any(connection.out is not None for connection in plane.connections))
        await directory.unlink("log")
        file.close()

        assert (await client.receive_frame())[8:] == data[256:]
        await until(lambda: all(connection.out is None for connection in plane.connections))


def parking(gate: trio.Event) -> Any:
    return waiting(gate.wait, "parked", parked=True)


async def test_a_hundred_parked_requests_do_not_delay_the_next_request_of_one_handler(
    autojump_clock: MockClock,
) -> None:
    gate = trio.Event()
    world = simulated_world()
    async with running_plane(world, [echo, parking(gate)], threads=1) as plane:
        clients = [await connect(world.network, plane.endpoint) for _ in range(100)]
        for client in clients:
            await client.send(request_frame(WaitRequest(1), 0))
        await until(lambda: plane.group.parked == 100)
        async with connected(world, plane.endpoint) as other:
            with trio.fail_after(0.01):
                await other.ask(EchoRequest("next", 1), 0)

        for client in clients[:40]:
            client.close()
        await until(lambda: plane.group.parked == 60)
        assert plane.group.limiter.borrowed_tokens == 0

        gate.set()
        for client in clients[40:]:
            assert (await client.receive_answer(WaitResponse, 0))[1].outcome == "parked"
        await until(lambda: plane.group.idle == 1)
        tokens = plane.group.limiter
        assert (tokens.borrowed_tokens, tokens.waiting) == (0, 0)
        assert len(plane.connections) == 60
        async with connected(world, plane.endpoint) as other:
            await other.ask(EchoRequest("still there", 1), 0)
        for client in clients[40:]:
            client.close()


async def test_a_flood_of_requests_is_served_in_short_turns_between_other_clients() -> None:
    world = RealWorld()
    async with (
        asked_plane(world, [echo]) as (plane, flood),
        connected(world, plane.endpoint) as other,
    ):
        data = request_frame(EchoRequest("x" * 100, 1), 0) * 5000

        async def swallow() -> None:
            for _ in range(5000):
                await flood.receive_frame()

        async with trio.open_nursery() as nursery:
            nursery.start_soon(flood.send, data)
            nursery.start_soon(swallow)
            answered = plane.budget.passes
            await other.ask(EchoRequest("x", 1), 0)
            assert plane.budget.passes - answered < 40
            assert plane.processor.connections
        # 5000 requests of at least 5 µs are many turns: one task did not take them in one.
        assert plane.budget.passes - answered > 20


async def test_nothing_is_accepted_before_the_plane_is_opened(autojump_clock: MockClock) -> None:
    world = simulated_world()
    async with asked_plane(world, [echo], opened=False) as (plane, client):
        await client.send(request_frame(EchoRequest("x", 1), 0))
        await trio.sleep(5)
        assert not plane.connections

        plane.plane.open()
        await client.receive_answer(EchoResponse, 0)


async def test_draining_answers_requests_in_flight_and_closes_idle_connections(
    autojump_clock: MockClock,
) -> None:
    gate = trio.Event()

    wait = waiting(gate.wait, "done")

    world = simulated_world()
    async with running_plane(world, [echo, wait]) as plane:
        idle, busy = [await connect(world.network, plane.endpoint) for _ in range(2)]
        await idle.ask(EchoRequest("x", 1), 0)
        await busy.send(request_frame(WaitRequest(1), 0) + request_frame(EchoRequest("no", 1), 0))
        await trio.sleep(1)
        drained: list[bool] = []

        async def drain() -> None:
            drained.append(await plane.plane.drain(trio.current_time() + 30))

        plane.nursery.start_soon(drain)
        await idle.wait_closed()
        with pytest.raises(ConnectionError):
            await connect(world.network, plane.endpoint)
        assert drained == []
        gate.set()

        assert (await busy.receive_answer(WaitResponse, 0))[1].outcome == "done"
        await busy.wait_closed()
        await until(lambda: drained == [True])
        assert plane.closed(CloseReason.DRAINED) == 2
        for client in (idle, busy):
            client.close()


async def test_draining_ends_at_its_deadline(autojump_clock: MockClock) -> None:
    world = simulated_world()
    async with (
        running_plane(world, [parking(trio.Event())]) as plane,
        connected(world, plane.endpoint) as client,
    ):
        await client.send(request_frame(WaitRequest(1), 0))
        await trio.sleep(1)
        began = trio.current_time()

        assert not await plane.plane.drain(began + 3)
        assert trio.current_time() == began + 3


async def test_a_delayed_request_is_answered_when_its_purgatory_closes_during_draining(
    autojump_clock: MockClock,
) -> None:
    planes: list[RunningPlane] = []

    wait = delaying(planes, lambda timed_out: "end" if timed_out else None)

    world = simulated_world()
    async with asked_plane(world, [wait]) as (plane, client):
        planes.append(plane)
        await client.send(request_frame(WaitRequest(3_600_000), 0))
        await trio.sleep(1)
        plane.purgatory.close()

        assert await plane.plane.drain(trio.current_time() + 3)
        assert (await client.receive_answer(WaitResponse, 0))[1].outcome == "end"


async def test_a_plane_with_a_port_in_use_raises_os_error(autojump_clock: MockClock) -> None:
    world = simulated_world()
    async with running_plane(world, [echo]) as plane:
        settings = ListenerSettings(port=plane.endpoint.port)
        with pytest.raises(BaseException) as failure:
            async with running_plane(world, [echo], listener=settings):
                pass
    assert failure.group_contains(OSError)


async def test_tree_nodes_have_kafka_names_and_are_removed_when_the_plane_stops(
    autojump_clock: MockClock,
) -> None:
    world = simulated_world()
    settings = ListenerSettings(name="CLIENTS", processors=2)
    async with running_plane(world, [echo], listener=settings) as plane:
        async with connected(world, plane.endpoint) as client:
            await client.ask(EchoRequest("x", 1), 0)
            names = [node.name for _, node in plane.node.walk()]
            port = plane.endpoint.port
            assert f"data-plane-kafka-socket-acceptor-CLIENTS-PLAINTEXT-{port}" in names
            assert "data-plane-kafka-network-thread-0-CLIENTS-PLAINTEXT-1" in names
            assert {"request-channel", "request-handlers", "num.io.threads", "Echo"} <= set(names)
            kinds = [node.kind for _, node in plane.node.walk()]
            assert kinds.count("connection") == 1
            for _, node in plane.node.walk():
                assert isinstance(dict(node.figures()), dict)
        root = plane.node
    kinds = {node.kind for _, node in root.walk()}
    assert not kinds & {"connection", "selector", "task", "listener"}


async def test_request_times_are_summed_for_each_api(autojump_clock: MockClock) -> None:
    gate = trio.Event()
    world = simulated_world()
    async with asked_plane(world, [echo, parking(gate)]) as (plane, client):
        await client.ask(EchoRequest("x", 1), 0)
        await client.ask(EchoRequest("x", 2), 0)
        await client.send(request_frame(WaitRequest(1), 0))
        await trio.sleep(5)
        gate.set()
        await client.receive_answer(WaitResponse, 0)

        figures = {node.name: node.figures() for _, node in plane.node.walk()}
        assert figures["Echo"]["count"] == 2
        assert figures["Wait"]["count"] == 1
        assert 4990 < figures["Wait"]["remote_max_ms"] < 5010
        assert figures["Wait"]["local_ms"] == figures["Wait"]["send_ms"] == 0


async def test_broken_peers_do_not_affect_the_requests_of_other_clients(
    autojump_clock: MockClock,
) -> None:
    world = simulated_world(seed=11, moody=True)
    async with running_plane(world, [echo], listener=ListenerSettings(processors=3)) as plane:

        async def good(number: int) -> None:
            async with connected(world, plane.endpoint) as client:
                for turn in range(20):
                    answer = await client.ask(EchoRequest(f"{number}", turn), turn % 2)
                    assert (answer.text, answer.number) == (f"{number}", turn)

        async def bad(number: int) -> None:
            client: ScriptedClient = await connect(world.network, plane.endpoint)
            await client.send([b"\xff" * 50, frame(9999, 0), b"\0\0\0\x50half"][number % 3])
            await trio.sleep(0.01 * number)
            client.socket.abort()

        async with trio.open_nursery() as nursery:
            for number in range(30):
                nursery.start_soon(good, number)
                nursery.start_soon(bad, number)


async def test_serve_pending_serves_one_pending_request_and_leaves_the_rest_to_the_reader(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("trio_kafka.network.reader._SERVE_PENDING_S", 0.0)  # one item at a time
    world = RealWorld()  # a loopback delivers at once, which no simulated network does
    async with (
        asked_plane(world, [echo]) as (plane, first),
        connected(world, plane.endpoint) as second,
    ):
        for client in first, second:
            await client.ask(EchoRequest("x", 0), 0)
        await wait_all_tasks_blocked()
        assert not plane.plane.serve_pending()
        served = plane.processor.figures()["served"]
        for client in first, second:
            client.socket.send(request_frame(EchoRequest("x", 1), 0))

        assert plane.plane.serve_pending()
        assert plane.processor.figures()["served"] == int(str(served)) + 1
        for client in first, second:
            assert (await client.receive_answer(EchoResponse, 0))[1].number == 1


async def test_serve_pending_does_nothing_while_the_reader_of_the_plane_runs(
    autojump_clock: MockClock,
) -> None:
    """It would be served within its own turn."""
    seen: list[bool] = []

    @api(EchoRequest)
    def asking(request: EchoRequest, context: Context) -> EchoResponse:
        seen.append(planes[0].plane.serve_pending())
        return EchoResponse(text=request.text)

    planes: list[RunningPlane] = []
    world = simulated_world()
    async with (
        asked_plane(world, [asking]) as (plane, first),
        connected(world, plane.endpoint) as second,
    ):
        planes.append(plane)
        for client in first, second:
            client.socket.send(request_frame(EchoRequest("x", 1), 0))
        for client in first, second:
            await client.receive_answer(EchoResponse, 0)

    assert seen == [False, False]
