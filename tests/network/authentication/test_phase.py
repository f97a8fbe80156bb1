"""The phase of one processor: steps performed on connections of a plane."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
import trio
from trio.testing import MockClock

from tests.network.authentication.frames import TOKEN, authenticator, mechanisms
from tests.network.echoing import echo, echoes, numbers
from trio_kafka.network.authentication.phase import Authentication
from trio_kafka.network.authentication.sasl_authenticator import SaslAuthenticator
from trio_kafka.network.reasons import CloseReason
from trio_kafka.protocol.messages.k17_sasl_handshake import SaslHandshakeRequest
from trio_kafka.protocol.messages.k36_sasl_authenticate import SaslAuthenticateRequest
from trio_kafka.security.sasl.exchange import ServerMechanism
from trio_kafka.testing.planes import RunningPlane, asked_plane
from trio_kafka.testing.scripted_client import ScriptedClient, connected, request_frame
from trio_kafka.testing.simulation import simulated_world

HANDSHAKE = request_frame(SaslHandshakeRequest("PLAIN"), 1)
RIGHT = request_frame(SaslAuthenticateRequest(TOKEN), 2)
WRONG = request_frame(SaslAuthenticateRequest(b"\0ann\0wrong"), 2)


@asynccontextmanager
async def authenticating_plane(
    longest_session_ms: int = 0, memory: int | None = None
) -> AsyncIterator[tuple[RunningPlane, ScriptedClient]]:
    """A plane whose clients authenticate, with a connection."""
    authentication = Authentication(
        begin=lambda: authenticator(longest_session_ms), largest=1000, delay_s=0.1
    )
    async with asked_plane(
        simulated_world(), [echo], authentication=authentication, memory=memory
    ) as (plane, client):
        yield plane, client


async def test_requests_behind_the_login_are_served_in_one_go(autojump_clock: MockClock) -> None:
    async with authenticating_plane() as (plane, client):
        await client.send(HANDSHAKE + RIGHT + echoes(2))
        await client.receive_frame()
        await client.receive_frame()

        assert await numbers(client, 2) == [0, 1]
        (connection,) = plane.connections
        assert str(connection.principal) == "User:ann"
        assert connection.authenticator is None


async def test_a_login_works_with_metered_memory(autojump_clock: MockClock) -> None:
    async with authenticating_plane(memory=10_000) as (plane, client):
        await client.send(HANDSHAKE + RIGHT + echoes(2))
        await client.receive_frame()
        await client.receive_frame()

        assert await numbers(client, 2) == [0, 1]
        assert plane.plane.memory is not None
        assert plane.plane.memory.free == 10_000


async def test_a_connection_with_a_session_keeps_its_authenticator(
    autojump_clock: MockClock,
) -> None:
    async with authenticating_plane(longest_session_ms=1000) as (plane, client):
        await client.send(HANDSHAKE + RIGHT)
        await client.receive_frame()
        await client.receive_frame()
        (connection,) = plane.connections
        assert connection.authenticator is not None
        await trio.sleep(1.1)
        await client.send(echoes(1))
        assert await client.wait_closed()
        assert plane.closed(CloseReason.EXPIRED) == 1


async def test_a_failed_login_is_counted_logged_and_closed_with_its_reason(
    autojump_clock: MockClock,
) -> None:
    async with authenticating_plane() as (plane, client):
        await client.send(HANDSHAKE + WRONG)
        await client.wait_closed()

        assert plane.closed(CloseReason.UNAUTHENTICATED) == 1
        assert plane.processor.authentication is not None
        figures = plane.processor.authentication.figures()
        assert (figures["failed"], figures["succeeded"], figures["closing"]) == (1, 0, 0)
        assert plane.buffers_out == 0


async def test_a_frame_above_the_limit_fails_the_login_and_keeps_no_buffer_during_the_delay(
    autojump_clock: MockClock,
) -> None:
    async with authenticating_plane() as (plane, client):
        await client.send(HANDSHAKE)
        await client.receive_frame()
        await client.send(b"\0\0\x10\0" + bytes(500))
        await trio.sleep(0.05)

        assert plane.processor.authentication is not None
        assert plane.processor.authentication.figures()["closing"] == 1
        assert plane.buffers_out == 0
        await client.wait_closed()
        assert plane.closed(CloseReason.UNAUTHENTICATED) == 1


async def test_a_frame_above_the_limit_of_requests_is_no_failed_login(
    autojump_clock: MockClock,
) -> None:
    async with authenticating_plane(longest_session_ms=3_600_000) as (plane, client):
        await client.send(HANDSHAKE + RIGHT)
        await client.receive_frame()
        await client.receive_frame()
        await client.send(b"\x7f\xff\xff\xff")

        await client.wait_closed()
        assert plane.closed(CloseReason.BAD_FRAME) == 1
        assert plane.processor.authentication is not None
        assert plane.processor.authentication.counts.failed_renewals == 0


async def test_a_client_that_never_reads_its_answers_cannot_make_the_broker_hold_them(
    autojump_clock: MockClock,
) -> None:
    async with authenticating_plane(longest_session_ms=3_600_000) as (plane, client):
        await client.send(HANDSHAKE + RIGHT)
        await client.receive_frame()
        await client.receive_frame()
        with trio.move_on_after(10):
            while True:
                await trio.sleep(1.1)
                await client.send(HANDSHAKE + RIGHT)
        (connection,) = plane.connections
        assert connection.unsent_bytes < 10_000


class BrokenExchange:
    """Exchange of a mechanism with a bug."""

    user: str | None = None
    by_token = False
    expires_ms: int | None = None

    def evaluate(self, token: bytes) -> bytes:
        raise KeyError(token)


async def test_a_bug_of_a_mechanism_ends_one_connection_and_logs_no_password(
    autojump_clock: MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    def begin() -> SaslAuthenticator:
        broken = ServerMechanism(name="BROKEN", begin=BrokenExchange)
        return SaslAuthenticator({**mechanisms(), "BROKEN": broken}, lambda: 0.0)

    authentication = Authentication(begin=begin, largest=1000, delay_s=0.1)
    async with asked_plane(simulated_world(), [echo], authentication=authentication) as (
        plane,
        client,
    ):
        broken = request_frame(SaslHandshakeRequest("BROKEN"), 1)
        async with connected(plane.world, plane.endpoint) as other:
            await other.send(broken + RIGHT)
            await other.wait_closed()
        await client.send(HANDSHAKE + RIGHT + echoes(1))
        await client.receive_frame()
        await client.receive_frame()

        assert await numbers(client, 1) == [0]
        assert plane.closed(CloseReason.UNAUTHENTICATED) == 1
        assert plane.buffers_out == 0
    (record,) = [r for r in caplog.records if r.getMessage() == "authentication failed"]
    assert "the authenticator broke: KeyError at test_phase.py:" in repr(record.__dict__)
    assert "secret" not in repr(record.__dict__)


async def test_a_flood_of_failed_logins_is_logged_as_a_number(
    autojump_clock: MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    async with authenticating_plane() as (plane, client):
        for _ in range(100):
            async with connected(plane.world, plane.endpoint) as other:
                await other.send(HANDSHAKE + WRONG)
                await trio.sleep(0.005)
        await trio.sleep(2)
        await client.send(HANDSHAKE + WRONG)
        await client.wait_closed()

    lines = [r for r in caplog.records if r.getMessage() == "authentication failed"]
    assert len(lines) == 21
    assert vars(lines[-1])["fields"]["others"] == 80
