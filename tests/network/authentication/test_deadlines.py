"""Connections that do not log in: when they are closed, and what is kept of them."""

import pytest
import trio
from trio.testing import MockClock

from tests.network.authentication.test_phase import HANDSHAKE, RIGHT, WRONG, authenticating_plane
from tests.network.echoing import echoes, numbers
from trio_kafka.network.authentication.deadlines import LOGIN_S
from trio_kafka.network.reasons import CloseReason
from trio_kafka.testing.planes import RunningPlane
from trio_kafka.testing.scripted_client import connected


def logging_in(plane: RunningPlane) -> object:
    assert plane.processor.authentication is not None
    return plane.processor.authentication.figures()["logging_in"]


@pytest.mark.parametrize("first", [b"", HANDSHAKE, HANDSHAKE + RIGHT[:20]])
async def test_a_connection_without_a_login_is_closed_whatever_it_sends(
    autojump_clock: MockClock, first: bytes
) -> None:
    async with authenticating_plane() as (plane, client):
        began = trio.current_time()
        await client.send(first)
        assert await client.wait_closed()

        assert LOGIN_S <= trio.current_time() - began < LOGIN_S + 1
        assert plane.closed(CloseReason.UNAUTHENTICATED) == 1
        assert plane.buffers_out == 0
        assert logging_in(plane) == 0


async def test_a_byte_now_and_then_does_not_prolong_a_login(autojump_clock: MockClock) -> None:
    async with authenticating_plane() as (plane, client):
        await client.send(HANDSHAKE)
        with pytest.raises(ConnectionError):
            for at in range(len(RIGHT) - 1):
                await client.send(RIGHT[at : at + 1])
                await trio.sleep(LOGIN_S / 10)

        assert plane.closed(CloseReason.UNAUTHENTICATED) == 1


async def test_a_connection_that_has_logged_in_stays(autojump_clock: MockClock) -> None:
    async with authenticating_plane() as (plane, client):
        await client.send(HANDSHAKE + RIGHT)
        await trio.sleep(2 * LOGIN_S)
        await client.send(echoes(1))
        await client.receive_frame()
        await client.receive_frame()

        assert await numbers(client, 1) == [0]
        assert logging_in(plane) == 0


async def test_nothing_is_kept_of_connections_that_came_and_went(
    autojump_clock: MockClock,
) -> None:
    async with authenticating_plane() as (plane, client):
        await client.send(HANDSHAKE + RIGHT)
        await client.receive_frame()
        for number in range(50):
            async with connected(plane.world, plane.endpoint) as other:
                if number % 2:
                    await other.send(HANDSHAKE + WRONG)
                await trio.sleep(0.01)
        await trio.sleep(1)
        assert logging_in(plane) <= 1
        await trio.sleep(2 * LOGIN_S)
        assert logging_in(plane) == 0
