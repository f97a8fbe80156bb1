"""Peers whose records cost much and hold little: each call stays short."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import trio
from trio.testing import MockClock

from tests.attacks.tls_records import (
    SUITE,
    RecordWriter,
    client_hello,
    in_records_of_one_byte,
)
from tests.certificates import serving, trusting
from tests.network.echoing import echo, echoes, numbers
from tests.network.secured import secured
from tests.security.tls.test_socket import ARRIVED, pair, plain_pair
from trio_kafka.network.listener_tls import ListenerTls
from trio_kafka.network.settings import ListenerSettings
from trio_kafka.security.tls.contexts import client_context, server_identity
from trio_kafka.security.tls.errors import TlsError
from trio_kafka.security.tls.handshake import shake_hands
from trio_kafka.security.tls.principal_rules import PrincipalRules
from trio_kafka.security.tls.socket import TlsSocket
from trio_kafka.testing.planes import RunningPlane, running_plane
from trio_kafka.testing.scripted_client import ScriptedClient
from trio_kafka.testing.simulation import simulated_world
from trio_kafka.world.protocols import Socket

SSL = ListenerSettings(name="SSL", security_protocol="SSL", processors=1)
A_CALL = 40_000  # bytes of ciphertext


@asynccontextmanager
async def written_pair(
    tmp_path: Path, room: int
) -> AsyncIterator[tuple[Socket, RecordWriter, TlsSocket]]:
    """The client's socket below TLS, the writer of its records, and the server's socket."""
    log = tmp_path / "keys"
    context = client_context(trusting(endpoint_identification_algorithm=""))
    context.keylog_filename = str(log)
    async with plain_pair(room) as (near, far):
        client = TlsSocket(near, context, arrived=ARRIVED, host="broker")
        server = TlsSocket(far, server_identity(serving()).context, arrived=ARRIVED, is_server=True)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(shake_hands, client)
            nursery.start_soon(shake_hands, server)
        assert client.session.endswith(SUITE)
        yield near, RecordWriter(log), server


def left_in(socket: Socket) -> int:
    """Bytes that nobody has received."""
    count = 0
    while True:
        try:
            count += socket.receive_into(bytearray(1 << 16))
        except BlockingIOError:
            return count


async def test_changes_of_keys_without_data_end_the_connection_in_a_short_call(
    autojump_clock: MockClock, tmp_path: Path
) -> None:
    async with written_pair(tmp_path, 1 << 20) as (near, writer, server):
        sent = near.send(b"".join(writer.key_update(asks=False) for _ in range(4000)))
        await trio.sleep(1)

        with pytest.raises(TlsError, match="records without data"):
            server.receive_into(bytearray(1 << 16))
        assert left_in(server.beneath) > sent - A_CALL


async def test_a_client_may_change_its_keys_now_and_then(
    autojump_clock: MockClock, tmp_path: Path
) -> None:
    async with written_pair(tmp_path, 1 << 20) as (near, writer, server):
        buffer = bytearray(1 << 16)
        for number in range(100):
            near.send(writer.key_update(asks=True) + writer.data(bytes(16_384)))
            await trio.sleep(1)
            assert server.receive_into(buffer) == 16_384, number
            await trio.sleep(1)
            assert near.receive_into(bytearray(1 << 16)) > 0


async def test_answers_to_changes_of_keys_are_not_kept_for_a_client_that_does_not_read(
    autojump_clock: MockClock, tmp_path: Path
) -> None:
    async with written_pair(tmp_path, 4000) as (near, writer, server):
        most = 0
        with pytest.raises(TlsError, match="does not read the answers"):
            for _ in range(1000):
                near.send(b"".join(writer.key_update(asks=True) for _ in range(100)))
                near.send(writer.data(b"x"))
                await trio.sleep(1)
                assert server.receive_into(bytearray(100)) == 1
                most = max(most, server.kept)

        assert most < 100_000


async def test_many_records_of_one_byte_are_received_in_short_calls(
    autojump_clock: MockClock,
) -> None:
    async with pair(1 << 20) as (near, far):
        for _ in range(20_000):
            near.send(b"x")
        await trio.sleep(1)
        buffer = bytearray(1 << 16)

        counts, more = [], []
        while sum(counts) < 20_000:
            counts.append(far.receive_into(buffer))
            more.append(far.more)

        assert max(counts) < A_CALL / 20
        assert all(more[:-1])
        with pytest.raises(BlockingIOError):
            far.receive_into(buffer)
        assert not far.more


async def test_a_step_of_a_handshake_reads_a_part_of_a_long_message(
    autojump_clock: MockClock,
) -> None:
    context = client_context(trusting(endpoint_identification_algorithm=""))
    context.set_alpn_protocols([f"p{number:0100}" for number in range(300)])
    hello = in_records_of_one_byte(client_hello(context))
    async with plain_pair(1 << 20) as (near, far):
        server = TlsSocket(far, server_identity(serving()).context, arrived=ARRIVED, is_server=True)
        near.send(hello)
        await trio.sleep(1)

        with pytest.raises(BlockingIOError):
            server.handshake()

        assert left_in(far) > len(hello) - A_CALL


class Collector:
    """Socket that keeps what is sent."""

    def __init__(self, socket: Socket) -> None:
        self.socket = socket
        self.sent = bytearray()

    def send(self, data: bytes) -> int:
        self.sent += data
        return len(data)

    def __getattr__(self, name: str) -> object:
        return getattr(self.socket, name)


@asynccontextmanager
async def plane_that_received(
    requests: bytes,
) -> AsyncIterator[tuple[RunningPlane, ScriptedClient]]:
    """A plane, and a client whose requests arrive at once in records of one byte."""
    world = simulated_world()
    tls = ListenerTls(server_identity(serving()), PrincipalRules())
    async with running_plane(world, [echo], listener=SSL, tls={"SSL": tls}) as plane:
        client = await secured(world, plane.endpoint)
        plain = client.socket.beneath
        collector = Collector(plain)
        client.socket.beneath = collector  # type: ignore[misc, assignment]
        for at in range(len(requests)):
            client.socket.send(requests[at : at + 1])
        client.socket.beneath = plain  # type: ignore[misc]
        assert plain.send(collector.sent) == len(collector.sent) > 2 * A_CALL
        yield plane, client


async def test_requests_in_records_of_one_byte_that_arrive_at_once_are_all_answered(
    autojump_clock: MockClock,
) -> None:
    async with plane_that_received(echoes(200)) as (_, client):
        with trio.fail_after(60):
            assert await numbers(client, 200) == list(range(200))


async def test_a_reader_ends_its_turn_within_a_request_in_records_of_one_byte(
    autojump_clock: MockClock,
) -> None:
    async with plane_that_received(echoes(1, text="x" * 5000)) as (plane, client):
        receiver = plane.processor.reader.receiver
        turns = 0

        def is_over() -> bool:
            nonlocal turns
            turns += 1
            return True

        receiver._is_over = is_over
        assert await numbers(client, 1) == [0]
        assert turns > 5000 * 23 / A_CALL
