"""Clients that send no more but still read: when their connections end, with and without TLS."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest
import trio
from trio.testing import MockClock

from tests.certificates import serving
from tests.network.echoing import echo, echoes, numbers, waiting
from tests.network.secured import secured
from trio_kafka.network.listener_tls import ListenerTls
from trio_kafka.network.settings import ListenerSettings
from trio_kafka.plugin import Context, api
from trio_kafka.security.tls.contexts import server_identity
from trio_kafka.security.tls.principal_rules import PrincipalRules
from trio_kafka.security.tls.socket import TlsSocket
from trio_kafka.testing.planes import RunningPlane, running_plane
from trio_kafka.testing.sample_apis import ReadRequest, ReadResponse, WaitRequest, WaitResponse
from trio_kafka.testing.scripted_client import ScriptedClient, connect, request_frame
from trio_kafka.testing.simulation import simulated_world
from trio_kafka.world.protocols import Socket

IDLE_S = 600.0
SSL = ListenerSettings(name="SSL", security_protocol="SSL", processors=1, idle_s=IDLE_S)
LARGE = 2_000_000


@api(ReadRequest)
def read(request: ReadRequest, context: Context) -> ReadResponse:
    return ReadResponse(data=memoryview(bytes(request.size)))


wait = waiting(lambda: trio.sleep(1.0))
wait_parked = waiting(lambda: trio.sleep(1.0), parked=True)


def send_fin(socket: Socket) -> None:
    socket.beneath.shutdown_write()


def send_part_and_fin(socket: Socket) -> None:
    """A part of a record, or of a frame, and the end behind it."""
    is_secured = isinstance(socket, TlsSocket)
    socket.beneath.send(b"\x17\x03\x03\x00\x40part" if is_secured else b"\0\0\0\x40part")
    socket.beneath.shutdown_write()


def say_farewell(socket: Socket) -> None:
    """A close_notify, and no FIN."""
    assert isinstance(socket, TlsSocket)
    socket._say_farewell()


def say_farewell_and_send_fin(socket: Socket) -> None:
    socket.shutdown_write()


@asynccontextmanager
async def client_of(
    security: str, *handlers: object
) -> AsyncIterator[tuple[RunningPlane, ScriptedClient]]:
    """A plane, and a client that has been answered."""
    world = simulated_world()
    tls = {"SSL": ListenerTls(server_identity(serving()), PrincipalRules())}
    listener = ListenerSettings(processors=1, idle_s=IDLE_S) if security == "plaintext" else SSL
    async with running_plane(world, [echo, read, *handlers], listener=listener, tls=tls) as plane:
        if security == "plaintext":
            client = await connect(world.network, plane.endpoint)
        else:
            client = await secured(world, plane.endpoint)
        await client.send(echoes(1))
        assert await numbers(client, 1) == [0]
        yield plane, client
        client.close()
        await trio.sleep(1)
        assert world.descriptors.sockets == 0
        assert plane.buffers_out == 0


WAYS = [
    pytest.param(security, end, id=f"{security}-{end.__name__}")
    for security, ends in (
        ("plaintext", [send_fin, send_part_and_fin]),
        ("tls", [send_fin, send_part_and_fin, say_farewell, say_farewell_and_send_fin]),
    )
    for end in ends
]
ways = pytest.mark.parametrize(("security", "end"), WAYS)
End = Callable[[Socket], None]


@ways
async def test_an_idle_client_that_sends_no_more_is_closed_at_once(
    autojump_clock: MockClock, security: str, end: End
) -> None:
    async with client_of(security) as (plane, client):
        end(client.socket)
        await trio.sleep(0.5)

        assert plane.connections == []
        assert await client.wait_closed()


@ways
@pytest.mark.parametrize("handler", [wait, wait_parked])
async def test_a_client_that_ends_while_its_request_is_served_is_closed_with_the_answer(
    autojump_clock: MockClock, security: str, end: End, handler: object
) -> None:
    """A parked request ends earlier where the socket tells of the end."""
    async with client_of(security, handler) as (plane, client):
        await client.send(request_frame(WaitRequest(1), 0, correlation=8))
        await trio.sleep(0.2)
        end(client.socket)
        await trio.sleep(1.5)

        assert plane.connections == []
        if handler is wait:
            correlation, _ = await client.receive_answer(WaitResponse, 0)
            assert correlation == 8
            assert await client.wait_closed()


@ways
async def test_a_client_that_ends_before_it_reads_a_large_answer_gets_all_of_it(
    autojump_clock: MockClock, security: str, end: End
) -> None:
    async with client_of(security) as (plane, client):
        await client.send(request_frame(ReadRequest(position=0, size=LARGE), 0, correlation=9))
        await trio.sleep(1)
        end(client.socket)
        await trio.sleep(1)
        assert len(plane.connections) == 1
        correlation, response = await client.receive_answer(ReadResponse, 0)
        assert (correlation, len(response.data or b"")) == (9, LARGE)
        await trio.sleep(1)

        assert plane.connections == []


@ways
async def test_a_client_that_ends_and_reads_nothing_is_closed_by_the_idle_timeout(
    autojump_clock: MockClock, security: str, end: End
) -> None:
    """As in Kafka, which reads nothing while an answer is not sent, the end either."""
    async with client_of(security) as (plane, client):
        await client.send(request_frame(ReadRequest(position=0, size=LARGE), 0))
        await trio.sleep(1)
        end(client.socket)
        await trio.sleep(IDLE_S * 1.2)

        assert plane.connections == []


@pytest.mark.parametrize("security", ["plaintext", "tls"])
async def test_all_requests_before_the_end_are_answered(
    autojump_clock: MockClock, security: str
) -> None:
    async with client_of(security) as (plane, client):
        await client.send(echoes(300, text="x" * 500))
        send_fin(client.socket)

        assert await numbers(client, 300) == list(range(300))
        assert await client.wait_closed()
        assert plane.connections == []
