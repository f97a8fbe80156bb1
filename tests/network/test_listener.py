"""One listener: its socket, its acceptor and its processors, which come and go."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
import trio
from attrs import evolve
from trio.testing import MockClock, wait_all_tasks_blocked

from tests.network.echoing import waiting
from trio_kafka.network.listener import RETIRE_S, ServedListener, bind_listener
from trio_kafka.network.reasons import CloseReason
from trio_kafka.network.settings import ListenerSettings
from trio_kafka.plugin import Context, api
from trio_kafka.records.file_range import FileRange
from trio_kafka.testing.planes import RunningPlane, running_plane, until
from trio_kafka.testing.sample_apis import (
    EchoRequest,
    EchoResponse,
    ReadRequest,
    ReadResponse,
    WaitRequest,
    WaitResponse,
)
from trio_kafka.testing.scripted_client import ScriptedClient, connect, connected, request_frame
from trio_kafka.testing.simulation import simulated_world


@api(EchoRequest)
def echo(request: EchoRequest, context: Context) -> EchoResponse:
    return EchoResponse(text=request.text, number=request.number)


@asynccontextmanager
async def parking_plane(
    gate: trio.Event, processors: int = 1
) -> AsyncIterator[tuple[RunningPlane, ServedListener]]:
    """A plane whose Wait requests are answered when the gate opens."""

    wait = waiting(gate.wait, "done", parked=True)

    settings = ListenerSettings(processors=processors)
    async with running_plane(simulated_world(), [echo, wait], listener=settings) as plane:
        yield plane, plane.plane.listeners["PLAINTEXT"]


async def connections_of(plane: RunningPlane, number: int) -> list[ScriptedClient]:
    """So many, dealt round robin, each heard of."""
    clients = []
    for n in range(number):
        client = await connect(plane.world.network, plane.endpoint)
        await client.ask(EchoRequest("x", n), 0)
        clients.append(client)
    return clients


def names(listener: ServedListener) -> list[str]:
    return [processor.name.rpartition("-")[2] for processor in listener.processors]


async def test_a_bind_error_names_the_listener_and_its_address(
    autojump_clock: MockClock,
) -> None:
    world = simulated_world()
    await world.network.listen("127.0.0.1", 9092)

    with pytest.raises(OSError) as caught:
        await bind_listener(world.network, ListenerSettings(name="IN", port=9092))

    assert caught.value.filename == "IN://127.0.0.1:9092"


async def test_open_connections_are_served_after_the_listener_stops_accepting(
    autojump_clock: MockClock,
) -> None:
    async with parking_plane(trio.Event()) as (plane, listener):
        (client,) = await connections_of(plane, 1)

        listener.stop_accepting()
        await wait_all_tasks_blocked()

        with pytest.raises(ConnectionError):
            await connect(plane.world.network, plane.endpoint)
        await client.ask(EchoRequest("still", 1), 0)
        client.close()


async def test_processors_added_by_a_resize_join_the_round_robin(autojump_clock: MockClock) -> None:
    async with parking_plane(trio.Event()) as (plane, listener):
        clients = await connections_of(plane, 2)

        plane.plane.resize("PLAINTEXT", 3)
        clients += await connections_of(plane, 6)

        assert [len(processor.connections) for processor in listener.processors] == [4, 2, 2]
        assert names(listener) == ["0", "1", "2"]
        for client in clients:
            client.close()


async def test_retired_processors_answer_requests_in_flight_and_close_idle_connections(
    autojump_clock: MockClock,
) -> None:
    gate = trio.Event()
    async with parking_plane(gate, processors=3) as (plane, listener):
        clients = await connections_of(plane, 6)  # two on each
        await clients[5].send(request_frame(WaitRequest(1), 0))
        await trio.sleep(1)

        plane.plane.resize("PLAINTEXT", 1)

        assert names(listener) == ["0"]
        for gone in (1, 2, 4):
            await clients[gone].wait_closed()
        for stays in (0, 3):
            assert (await clients[stays].ask(EchoRequest("y", stays), 0)).number == stays
        assert listener.figures()["retired"] == 1
        gate.set()
        assert (await clients[5].receive_answer(WaitResponse, 0))[1].outcome == "done"
        await clients[5].wait_closed()
        await until(lambda: listener.figures()["retired"] == 0)
        assert plane.closed(CloseReason.DRAINED) == 4
        kinds = [node.kind for _, node in plane.node.walk()]
        assert kinds.count("selector") == 1
        for client in clients:
            client.close()


async def test_the_number_of_a_retired_processor_is_not_reused(autojump_clock: MockClock) -> None:
    async with parking_plane(trio.Event(), processors=2) as (plane, listener):
        plane.plane.resize("PLAINTEXT", 1)
        plane.plane.resize("PLAINTEXT", 2)

        assert names(listener) == ["0", "2"]
        plane.plane.resize("PLAINTEXT", 0)
        assert names(listener) == ["0"]


async def test_new_connections_after_a_shrink_go_to_the_remaining_processors(
    autojump_clock: MockClock,
) -> None:
    """The acceptor was at the last processor when there were three."""
    async with parking_plane(trio.Event(), processors=3) as (plane, listener):
        clients = await connections_of(plane, 2)

        plane.plane.resize("PLAINTEXT", 1)
        clients += await connections_of(plane, 2)

        assert len(listener.processors[0].connections) == 3
        for client in clients:
            client.close()


async def test_a_retired_processor_closes_a_connection_with_an_endless_request_after_its_timeout(
    autojump_clock: MockClock,
) -> None:
    async with parking_plane(trio.Event(), processors=2) as (plane, listener):
        clients = await connections_of(plane, 2)
        await clients[1].send(request_frame(WaitRequest(1), 0))
        await trio.sleep(1)
        began = trio.current_time()

        plane.plane.resize("PLAINTEXT", 1)
        await clients[1].wait_closed()

        assert trio.current_time() - began == pytest.approx(RETIRE_S, abs=0.1)
        await until(lambda: listener.figures()["retired"] == 0)
        await clients[0].ask(EchoRequest("y", 1), 0)
        for client in clients:
            client.close()


async def test_requests_that_wait_for_room_are_served_after_another_processor_has_stopped(
    autojump_clock: MockClock,
) -> None:
    gate = trio.Event()
    settings = ListenerSettings(processors=2)
    stuck = waiting(gate.wait, "done")
    async with running_plane(
        simulated_world(), [echo, stuck], threads=1, queued=1, listener=settings
    ) as plane:
        stays, goes = plane.plane.processors
        clients = await connections_of(plane, 8)  # in turn to the one and to the other
        of_stays, of_goes = clients[::2], clients[1::2]
        for client in of_goes:
            await client.send(request_frame(WaitRequest(1), 0))
        await until(lambda: len(goes.reader.waiters) > 0)
        await of_stays[0].send(request_frame(WaitRequest(1), 0))
        await until(lambda: len(stays.reader.waiters) == 1)

        plane.plane.resize("PLAINTEXT", 1)
        for client in of_goes:
            client.socket.abort()
        await until(lambda: plane.plane.processors == [stays])
        assert plane.channel.waiting == 1
        gate.set()

        with trio.fail_after(60):
            assert (await of_stays[0].receive_answer(WaitResponse, 0))[1].outcome == "done"
        for client in of_stays:
            client.close()


async def test_a_request_that_outlives_its_processor_gives_back_its_memory_and_its_file(
    autojump_clock: MockClock,
) -> None:
    gate = trio.Event()
    world = simulated_world()
    file = world.directory("/data", create=True).create("log")
    file.append([bytes(100)])

    @api(ReadRequest)
    async def read(request: ReadRequest, context: Context) -> ReadResponse:
        await gate.wait()  # a handler that holds its token: nothing cancels it
        return ReadResponse(FileRange(file.lease(100), 0, 100))  # type: ignore[arg-type]

    settings = ListenerSettings(processors=2)
    async with running_plane(world, [echo, read], listener=settings, memory=10_000) as plane:
        stays, goes = plane.plane.processors
        clients = await connections_of(plane, 2)
        await clients[1].send(request_frame(ReadRequest(0, 100), 0))
        await trio.sleep(1)
        plane.plane.resize("PLAINTEXT", 1)
        await until(lambda: plane.plane.processors == [stays], timeout_s=2 * RETIRE_S)
        memory = plane.plane.memory
        assert memory is not None
        assert memory.free < 10_000

        gate.set()
        await trio.sleep(1)

        assert memory.free == 10_000
        assert not file.leased
        assert not goes.responses.queued
        for client in clients:
            client.close()


async def test_a_listener_can_be_resized_before_the_start(autojump_clock: MockClock) -> None:
    async with parking_plane(trio.Event()) as (plane, _):
        bound = await bind_listener(plane.world.network, ListenerSettings(name="NEW"))

        plane.plane.add(bound)
        plane.plane.resize("NEW", 2)
        await wait_all_tasks_blocked()

        assert len(plane.plane.listeners["NEW"].processors) == 2


async def test_adding_and_removing_a_listener_does_not_affect_other_listeners(
    autojump_clock: MockClock,
) -> None:
    gate = trio.Event()
    async with parking_plane(gate) as (plane, _):
        (stays,) = await connections_of(plane, 1)
        bound = await bind_listener(plane.world.network, ListenerSettings(name="NEW"))
        plane.plane.add(bound)
        async with connected(plane.world, bound.address) as busy:
            idle = await connect(plane.world.network, bound.address)
            await idle.ask(EchoRequest("x", 1), 0)
            await busy.send(request_frame(WaitRequest(1), 0))
            await trio.sleep(1)

            plane.plane.remove("NEW")
            await idle.wait_closed()
            with pytest.raises(ConnectionError):
                await connect(plane.world.network, bound.address)
            assert set(plane.plane.listeners) == {"PLAINTEXT"}
            assert len(plane.plane.processors) == 4
            gate.set()

            assert (await busy.receive_answer(WaitResponse, 0))[1].outcome == "done"
            await busy.wait_closed()
            idle.close()
        await until(lambda: len(plane.plane.processors) == 1)
        await stays.ask(EchoRequest("y", 1), 0)
        assert [n.name for _, n in plane.node.walk() if n.kind == "listener"] == [
            f"listener PLAINTEXT://{plane.endpoint}"
        ]
        stays.close()


async def test_a_listener_can_be_removed_before_the_start(autojump_clock: MockClock) -> None:
    async with parking_plane(trio.Event()) as (plane, _):
        bound = await bind_listener(plane.world.network, ListenerSettings(name="NEW"))

        plane.plane.add(bound)
        plane.plane.remove("NEW")
        await until(lambda: len(plane.plane.processors) == 1)

        with pytest.raises(ConnectionError):
            await connect(plane.world.network, bound.address)


async def test_a_listener_accepts_only_after_the_previous_owner_of_its_socket_has_stopped(
    autojump_clock: MockClock,
) -> None:
    async with parking_plane(trio.Event()) as (plane, _):
        before = trio.Event()
        bound = await bind_listener(plane.world.network, ListenerSettings(name="NEW"))
        plane.plane.add(evolve(bound, after=before))
        async with connected(plane.world, bound.address) as client:
            await client.send(request_frame(EchoRequest("x", 1), 0))
            await trio.sleep(1)
            assert not any(processor.connections for processor in plane.plane.processors)

            before.set()
            assert (await client.receive_answer(EchoResponse, 0))[1].text == "x"


async def test_a_listener_can_be_renamed_before_the_start(autojump_clock: MockClock) -> None:
    async with parking_plane(trio.Event()) as (plane, _):
        bound = await bind_listener(plane.world.network, ListenerSettings(name="NEW"))
        plane.plane.add(bound)
        plane.plane.rename("NEW", ListenerSettings(name="OTHER", processors=2))

        async with connected(plane.world, bound.address) as client:
            await client.ask(EchoRequest("x", 1), 0)
        await until(lambda: len(plane.plane.processors) == 3)
        assert set(plane.plane.listeners) == {"PLAINTEXT", "OTHER"}
        plane.plane.remove("OTHER")
        await plane.plane.wait_closed()
        with pytest.raises(ConnectionError):
            await connect(plane.world.network, bound.address)


async def test_draining_the_plane_waits_for_retired_processors(autojump_clock: MockClock) -> None:
    gate = trio.Event()
    async with parking_plane(gate, processors=2) as (plane, _):
        clients = await connections_of(plane, 2)
        await clients[1].send(request_frame(WaitRequest(1), 0))
        await trio.sleep(1)
        plane.plane.resize("PLAINTEXT", 1)

        assert not await plane.plane.drain(trio.current_time() + 1)
        gate.set()
        assert await plane.plane.drain(trio.current_time() + 1)
        for client in clients:
            client.close()
