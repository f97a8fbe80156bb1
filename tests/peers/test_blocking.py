"""Blocking connections, to a plane of this process on loopback."""

import socket
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import TypeVar

import pytest
import trio

from trio_kafka.errors import KafkaError
from trio_kafka.model import Endpoint
from trio_kafka.peers.blocking import BlockingConnection, connected, left_s
from trio_kafka.peers.errors import StreamEndedError
from trio_kafka.peers.session import Profile, Session
from trio_kafka.plugin import Context, api
from trio_kafka.protocol.compiler import to_bytes
from trio_kafka.protocol.messages.k03_metadata import MetadataRequest
from trio_kafka.protocol.messages.k18_api_versions import ApiVersion, ApiVersionsResponse
from trio_kafka.testing.planes import running_plane
from trio_kafka.testing.sample_apis import EchoRequest, EchoResponse
from trio_kafka.wire.server import small_answer
from trio_kafka.world.clock import SkippingClock
from trio_kafka.world.real import RealWorld
from trio_kafka_apis.k18_api_versions import api_versions

T = TypeVar("T")
LATE_S = 30.0


@api(EchoRequest)
def echo(request: EchoRequest, context: Context) -> EchoResponse:
    return EchoResponse(text=f"{context.client_id}: {request.text}", number=request.number)


@asynccontextmanager
async def echoing() -> AsyncIterator[Endpoint]:
    async with running_plane(RealWorld(SkippingClock()), [echo, api_versions]) as plane:
        yield plane.endpoint


async def with_connection(call: Callable[[BlockingConnection], T]) -> T:
    """The result of a call in a thread, with a connection to a plane that echoes."""

    def connect_and_call(address: Endpoint) -> T:
        deadline = time.monotonic() + LATE_S
        with connected(address, deadline=deadline, client_id="me") as connection:
            return call(connection)

    async with echoing() as address:
        return await trio.to_thread.run_sync(partial(connect_and_call, address))


def late() -> float:
    return time.monotonic() + LATE_S


def silent_pair() -> tuple[socket.socket, socket.socket]:
    """A socket, and its peer, which has sent the response to ApiVersions and nothing else."""
    near, far = socket.socketpair()
    served = ApiVersionsResponse(api_keys=[ApiVersion(10100, 0, 1)])
    far.sendall(small_answer(1, to_bytes(served, 4), flexible=False))
    return near, far


async def test_ask_returns_the_response_in_the_highest_common_version() -> None:
    def ask(connection: BlockingConnection) -> EchoResponse:
        assert connection.session.version_of(EchoRequest) == 1
        return connection.ask(EchoRequest("a", 7), deadline=late())

    assert await with_connection(ask) == EchoResponse(text="me: a", number=7)


async def test_requests_that_are_sent_together_are_answered_in_order() -> None:
    def ask(connection: BlockingConnection) -> list[object]:
        for number in range(3):
            connection.send(EchoRequest("", number), deadline=late())
        return [connection.receive() for _ in range(3)]

    responses = await with_connection(ask)

    assert responses == [EchoResponse(text="me: ", number=number) for number in range(3)]


async def test_request_that_the_broker_does_not_serve_leaves_the_connection_open() -> None:
    def ask(connection: BlockingConnection) -> str:
        with pytest.raises(KafkaError, match="UNSUPPORTED_VERSION"):
            connection.ask(MetadataRequest(None), deadline=late())
        return connection.ask(EchoRequest("a"), deadline=late()).text

    assert await with_connection(ask) == "me: a"


async def test_connection_is_ready_once_a_response_has_begun_to_arrive() -> None:
    def ask(connection: BlockingConnection) -> list[bool]:
        before = connection.is_ready()
        connection.send(EchoRequest("a"), deadline=late())
        after = connection.is_ready(LATE_S)
        connection.receive(deadline=late())
        return [before, after, connection.is_ready()]

    assert await with_connection(ask) == [False, True, False]


def test_deadline_ends_an_ask_whose_peer_is_silent() -> None:
    near, far = silent_pair()
    with far:
        connection = BlockingConnection(near, Session(Profile()), deadline=late())
        with pytest.raises(TimeoutError):
            connection.ask(EchoRequest("a"), deadline=time.monotonic() + 0.01)
        connection.close()
        connection.close()


def test_stream_that_ends_before_the_response_is_an_error() -> None:
    near, far = silent_pair()
    connection = BlockingConnection(near, Session(Profile()), deadline=late())
    far.shutdown(socket.SHUT_WR)
    with far, pytest.raises(StreamEndedError, match="4 bytes are missing"):
        connection.ask(EchoRequest("a"), deadline=late())
    connection.close()


def test_socket_is_closed_if_its_session_cannot_be_opened() -> None:
    near, far = socket.socketpair()
    with far:
        with pytest.raises(TimeoutError):
            BlockingConnection(near, Session(Profile()), deadline=time.monotonic() + 0.01)
        assert near.fileno() == -1


def test_time_left_ends_at_the_deadline() -> None:
    assert 4 < left_s(time.monotonic() + 5) <= 5
    for past_s in (0, 1):
        with pytest.raises(TimeoutError):
            left_s(time.monotonic() - past_s)
