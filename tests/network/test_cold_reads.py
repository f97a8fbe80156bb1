"""Answers whose bytes are not in the page cache, over plaintext and over TLS."""

import errno
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
import trio
from trio.testing import MockClock

from tests.certificates import serving
from tests.network.echoing import echo, echoes, numbers
from tests.network.secured import secured
from trio_kafka.network.listener_tls import ListenerTls
from trio_kafka.network.reasons import CloseReason
from trio_kafka.network.settings import ListenerSettings
from trio_kafka.plugin import Context, api
from trio_kafka.records.file_range import FileRange
from trio_kafka.security.tls.contexts import server_identity
from trio_kafka.security.tls.principal_rules import PrincipalRules
from trio_kafka.testing.planes import RunningPlane, running_plane
from trio_kafka.testing.sample_apis import ReadRequest, ReadResponse
from trio_kafka.testing.scripted_client import ScriptedClient, connect, request_frame
from trio_kafka.testing.simulation import fault_on, simulated_world
from trio_kafka.world.simulated.file import SimulatedFile

DATA = bytes(range(256)) * 4000
SLOW_S = 3.0
A_PART = request_frame(ReadRequest(position=100_000, size=200_000), 0)


@pytest.fixture(params=["PLAINTEXT", "SSL"])
def security(request: pytest.FixtureRequest) -> str:
    """Protocol and name of the listener."""
    name: str = request.param
    return name


@asynccontextmanager
async def reading_plane(
    security: str, **options: int
) -> AsyncIterator[tuple[RunningPlane, SimulatedFile]]:
    """A plane that answers ReadRequest from a file, of which only the first 64 KiB are in memory.

    options: of the listener.

    Each read of the disk takes SLOW_S.
    """
    world = simulated_world()
    file = world.directory("/data", create=True).create("segment")
    assert isinstance(file, SimulatedFile)
    file.append([DATA])
    file.chill(64 << 10)
    world.universe.fault = fault_on("read", SLOW_S)

    @api(ReadRequest)
    def read(request: ReadRequest, context: Context) -> ReadResponse:
        end = request.position + request.size
        range_ = FileRange(file.lease(end), request.position, request.size)
        return ReadResponse(data=range_)  # type: ignore[arg-type]

    listener = ListenerSettings(name=security, security_protocol=security, processors=1, **options)
    tls = {"SSL": ListenerTls(server_identity(serving()), PrincipalRules())}
    async with running_plane(world, [echo, read], listener=listener, tls=tls) as plane:
        yield plane, file
    assert not file.leased
    file.close()


async def connect_to(plane: RunningPlane) -> ScriptedClient:
    if plane.processor.listener.has_tls:
        return await secured(plane.world, plane.endpoint)
    return await connect(plane.world.network, plane.endpoint)


async def ask_in_time(client: ScriptedClient, within_s: float) -> None:
    began = trio.current_time()
    await client.send(echoes(1))
    assert await numbers(client, 1) == [0]
    assert trio.current_time() - began < within_s


async def test_a_thread_reads_what_is_not_in_memory_and_others_are_served_meanwhile(
    autojump_clock: MockClock, security: str
) -> None:
    async with reading_plane(security) as (plane, _):
        reader = await connect_to(plane)
        neighbour = await connect_to(plane)
        began = trio.current_time()
        await reader.send(request_frame(ReadRequest(position=0, size=len(DATA)), 0))
        await trio.sleep(SLOW_S / 2)
        await ask_in_time(neighbour, 0.1)

        _, response = await reader.receive_answer(ReadResponse, 0)
        assert bytes(response.data or b"") == DATA
        assert trio.current_time() - began > SLOW_S
        await reader.send(echoes(1))
        assert await numbers(reader, 1) == [0]
        for client in (reader, neighbour):
            client.close()


async def test_an_answer_goes_on_though_its_bytes_are_dropped_from_memory_at_once(
    autojump_clock: MockClock, security: str
) -> None:
    async with reading_plane(security) as (plane, file):

        def forget(machine: str, call: str, target: str) -> None:
            if call == "try_read":
                file.chill()

        plane.world.universe.fault = forget
        reader = await connect_to(plane)
        response = await reader.ask(ReadRequest(position=0, size=len(DATA)), 0)

        assert bytes(response.data or b"") == DATA
        reader.close()


async def test_a_thread_reads_a_megabyte_at_a_time(
    autojump_clock: MockClock, security: str
) -> None:
    reads = 0

    def count_reads(machine: str, call: str, target: str) -> None:
        nonlocal reads
        reads += call == "read"

    async with reading_plane(security) as (plane, file):
        plane.world.universe.fault = count_reads
        file.append([DATA, DATA])
        file.chill()
        reader = await connect_to(plane)
        response = await reader.ask(ReadRequest(position=0, size=3 * len(DATA)), 0)

        assert bytes(response.data or b"") == 3 * DATA
        assert reads == 3
        reader.close()


async def test_bytes_that_are_in_memory_before_the_thread_has_read_them_are_sent_once(
    autojump_clock: MockClock, security: str
) -> None:
    """An edge for another request also says that the socket has room."""
    async with reading_plane(security) as (plane, file):
        reader = await connect_to(plane)
        await reader.send(request_frame(ReadRequest(position=0, size=len(DATA)), 0))
        await trio.sleep(SLOW_S / 2)
        began = trio.current_time()
        file.warm_up(0, len(DATA))
        await reader.send(echoes(1, start=7))
        _, response = await reader.receive_answer(ReadResponse, 0)

        assert bytes(response.data or b"") == DATA
        assert trio.current_time() - began < SLOW_S / 4
        assert await numbers(reader, 1) == [7]
        await trio.sleep(SLOW_S)
        response = await reader.ask(ReadRequest(position=0, size=len(DATA)), 0)
        assert bytes(response.data or b"") == DATA
        reader.close()


async def test_an_answer_that_an_edge_goes_on_with_is_not_sent_twice(
    autojump_clock: MockClock, security: str
) -> None:
    """Here the peer has no room for the rest of it when the thread has read its piece."""
    async with reading_plane(security, largest_buffer=0) as (plane, file):
        reader = await connect_to(plane)
        await reader.send(request_frame(ReadRequest(position=0, size=len(DATA)), 0))
        await trio.sleep(SLOW_S / 2)
        file.warm_up(0, len(DATA))
        await reader.send(echoes(1, start=7))
        await trio.sleep(SLOW_S)
        (connection,) = plane.connections
        assert 0 < connection.unsent_bytes < len(DATA) - (64 << 10)
        _, response = await reader.receive_answer(ReadResponse, 0)

        assert bytes(response.data or b"") == DATA
        assert await numbers(reader, 1) == [7]
        reader.close()


@pytest.mark.parametrize("in_order", [True, False])
async def test_a_client_that_leaves_during_a_read_leaves_no_lease(
    autojump_clock: MockClock, security: str, in_order: bool
) -> None:
    async with reading_plane(security) as (plane, file):
        reader = await connect_to(plane)
        await reader.send(A_PART)
        await trio.sleep(SLOW_S / 2)
        assert file.leased
        if in_order:
            reader.close()
        else:
            reader.socket.abort()
        await trio.sleep(2 * SLOW_S)

        assert not file.leased
        assert plane.connections == []


async def test_a_disk_that_fails_closes_only_the_connection_of_the_answer(
    autojump_clock: MockClock, security: str
) -> None:
    async with reading_plane(security) as (plane, _):
        plane.world.universe.fault = fault_on("read", OSError(errno.EIO, "a broken disk"))
        reader = await connect_to(plane)
        neighbour = await connect_to(plane)
        await reader.send(A_PART)
        await reader.wait_closed()
        await ask_in_time(neighbour, 0.1)

        assert (
            plane.counters.value("connections_closed", listener=security, reason=CloseReason.GONE)
            == 1
        )
        for client in (reader, neighbour):
            client.close()


async def test_a_file_that_is_cut_during_a_read_resets_the_connection(
    autojump_clock: MockClock, security: str
) -> None:
    async with reading_plane(security) as (plane, file):
        reader = await connect_to(plane)
        await reader.send(A_PART)
        await trio.sleep(SLOW_S / 2)
        file.truncate(100_500)
        assert not await reader.wait_closed()

        assert (
            plane.counters.value(
                "connections_closed", listener=security, reason=CloseReason.TRUNCATED
            )
            == 1
        )
        reader.close()


async def test_a_stop_during_a_read_waits_for_the_thread_only(
    autojump_clock: MockClock, security: str
) -> None:
    async with reading_plane(security) as (plane, _):
        reader = await connect_to(plane)
        await reader.send(A_PART)
        await trio.sleep(SLOW_S / 2)
        began = trio.current_time()
        await plane.plane.drain(trio.current_time() + 10)

        assert trio.current_time() - began < 2 * SLOW_S
        reader.close()
