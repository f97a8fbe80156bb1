"""A connection's place in the tree, and its ways to end."""

from contextlib import suppress
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from tests.trio_kafka_http.kit import hello, http_client, one_client, served_plane, slow, start
from trio_kafka.testing.simulation import simulated_world


async def test_connection_figures_count_requests_and_bytes(autojump_clock: MockClock) -> None:
    async with one_client({"/hello": hello}) as (served, client):
        await client.ask("GET", "/hello")
        await client.ask("GET", "/hello")
        (node,) = served.nodes("connection")
        figures = node.figures()

        assert node.name == str(client.socket.local)
        assert figures["requests"] == 2
        assert min(figures["received"], figures["sent"]) > 60
        assert figures["age_s"] > 0


async def test_connection_is_removed_when_its_client_leaves(autojump_clock: MockClock) -> None:
    world = simulated_world()
    async with served_plane(world, {"/hello": hello}) as served:
        async with http_client(world, served.endpoints[0]) as client:
            await client.ask("GET", "/hello")
        await trio.sleep(0.5)  # hypercorn alone would hold it for its idle time

        assert served.figures["connections"] == 0


async def test_connection_left_during_a_slow_request_is_removed_after_the_deadline(
    autojump_clock: MockClock,
) -> None:
    world = simulated_world()
    async with served_plane(world, {"/slow": slow}, deadline_s=5.0) as served:
        async with http_client(world, served.endpoints[0]) as client:
            await client.send(b"GET /slow HTTP/1.1\r\nhost: localhost\r\n\r\n")
            await trio.sleep(1)
        await trio.sleep(1)
        assert served.figures["in_flight"] == 1
        await trio.sleep(4)

        assert served.figures["connections"] == served.figures["in_flight"] == 0


async def test_unlimited_response_ends_when_its_client_leaves(
    autojump_clock: MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    ended = []

    async def events(scope: Any, receive: Any, send: Any) -> None:
        scope["extensions"]["trio_kafka"]["unlimited"]()
        await start(send)
        await send({"type": "http.response.body", "body": b"one", "more_body": True})
        try:
            await trio.sleep_forever()
        finally:
            ended.append(trio.current_time())

    world = simulated_world()
    async with served_plane(world, {"/events": events}, deadline_s=5.0) as served:
        async with http_client(world, served.endpoints[0]) as client:
            await client.send(b"GET /events HTTP/1.1\r\nhost: localhost\r\n\r\n")
            await trio.sleep(60)
            assert served.figures["in_flight"] == 1
            await client.receive()
            leave_s = trio.current_time()
            client.socket.shutdown_write()
            await trio.sleep(1)

        assert served.figures["connections"] == 0
        assert ended[0] - leave_s < 1
        assert "took too long" not in caplog.text


async def test_failed_app_ends_the_connection_with_all_its_tasks(autojump_clock: MockClock) -> None:
    async def half(scope: Any, receive: Any, send: Any) -> None:
        """Reads nothing, so that hypercorn's reader waits for somebody who does; and fails."""
        await start(send)
        await send({"type": "http.response.body", "body": b"half", "more_body": True})
        await trio.sleep(1)
        raise ZeroDivisionError

    async with one_client({"/half": half}) as (served, client):
        await client.send(b"POST /half HTTP/1.1\r\nhost: localhost\r\n")
        await client.send(b"transfer-encoding: chunked\r\n\r\n")
        with suppress(ConnectionError):
            for _ in range(1000):
                await client.send(b"1000\r\n%s\r\n" % bytes(0x1000))
        await trio.sleep(1)

        assert served.figures["connections"] == 0
