"""The plane with its sockets, hypercorn on top, in the simulated world; stops in the real one."""

import errno
import logging
from contextlib import AsyncExitStack, suppress

import pytest
import trio
from trio.testing import MockClock

from tests.trio_kafka_http.kit import (
    broken,
    echo,
    endless,
    hello,
    http_client,
    one_client,
    request_of,
    served_plane,
    slow,
)
from trio_kafka.errors import leaves
from trio_kafka.testing.simulation import fault_on, simulated_world
from trio_kafka.world.clock import SkippingClock
from trio_kafka.world.real import RealWorld

ASK = b"GET %s HTTP/1.1\r\nhost: localhost\r\n\r\n"


async def test_connection_serves_several_requests(
    autojump_clock: MockClock,
) -> None:
    async with one_client({"/hello": hello}) as (served, client):
        first = await client.ask("GET", "/hello/there?x=1")
        second = await client.ask("GET", "/nowhere")

        assert (first.status, first.body) == (200, b"GET /hello /hello/there")
        assert second.status == 404
        assert served.figures["connections"] == 1
        assert served.figures["requests"] == served.figures["status_200"] + 1 == 2


async def test_response_has_a_date_and_no_server_header(
    autojump_clock: MockClock,
) -> None:
    async with one_client({"/hello": hello}) as (_served, client):
        reply = await client.ask("GET", "/hello")

        assert "GMT" in reply.headers["date"]
        assert "server" not in reply.headers
        assert len(reply.headers["x-request-id"]) == 16


async def test_body_of_many_pieces_reaches_the_app_and_is_returned(
    autojump_clock: MockClock,
) -> None:
    world, body = simulated_world(), bytes(range(256)) * 8192
    async with (
        served_plane(world, {"/echo": echo}) as served,
        http_client(world, served.endpoints[0]) as client,
        trio.open_nursery() as nursery,
    ):
        replies = []

        async def read() -> None:
            replies.append(await client.reply())

        head = b"POST /echo HTTP/1.1\r\nhost: localhost\r\ncontent-length: %d\r\n\r\n" % len(body)
        client.http.send(request_of("POST", "/echo", len(body)))
        nursery.start_soon(read)
        await client.send(head + body)
    assert replies[0].body == body


async def test_body_that_an_app_does_not_read_keeps_the_connection_usable(
    autojump_clock: MockClock,
) -> None:
    async with one_client({"/hello": hello}) as (served, client):
        # More than hypercorn's queue to an app holds: 10 pieces of at most 16 KiB.
        first = await client.ask("POST", "/hello", body=bytes(1 << 20))
        second = await client.ask("GET", "/hello")

        assert (first.status, second.status) == (200, 200)
        assert served.figures["accepted"] == 1


async def test_body_that_never_arrives_ends_with_408_and_closes_the_connection(
    autojump_clock: MockClock,
) -> None:
    async with one_client({"/echo": echo}, deadline_s=3.0) as (served, client):
        await client.send(b"POST /echo HTTP/1.1\r\nhost: localhost\r\ncontent-length: 9\r\n\r\nabc")
        result = await client.wait_closed()

        assert result.startswith(b"HTTP/1.1 408 ")
        assert 3.0 <= trio.current_time() - 0.0 < 6.0
        assert served.figures["in_flight"] == 0


async def test_failed_or_slow_app_does_not_disturb_other_requests(
    autojump_clock: MockClock,
) -> None:
    world, apps = simulated_world(), {"/broken": broken, "/slow": slow, "/hello": hello}
    async with (
        served_plane(world, apps, deadline_s=2.0) as served,
        http_client(world, served.endpoints[0]) as first,
        http_client(world, served.endpoints[0]) as second,
    ):
        failed = await first.ask("GET", "/broken")
        late = await first.ask("GET", "/slow")
        fine = await first.ask("GET", "/hello")

        assert (failed.status, late.status, fine.status) == (500, 503, 200)
        assert b"secret" not in failed.body
        assert (await second.ask("GET", "/hello")).status == 200


async def test_connection_above_the_limit_is_answered_with_503_and_closed(
    autojump_clock: MockClock,
) -> None:
    world = simulated_world()
    async with (
        served_plane(world, {"/hello": hello}, max_connections=2) as served,
        http_client(world, served.endpoints[0]) as first,
        http_client(world, served.endpoints[0]) as second,
    ):
        assert (await first.ask("GET", "/hello")).status == 200
        assert (await second.ask("GET", "/hello")).status == 200
        async with http_client(world, served.endpoints[0]) as third:
            refused = await third.ask("GET", "/hello")
            assert (refused.status, b"too many" in refused.body) == (503, True)
            await third.wait_closed()
        assert served.figures["refused"] == 1

        first.socket.close()
        await trio.sleep(1)
        async with http_client(world, served.endpoints[0]) as fourth:
            assert (await fourth.ask("GET", "/hello")).status == 200


async def test_health_is_answered_while_slow_clients_hold_all_connections(
    autojump_clock: MockClock,
) -> None:
    world = simulated_world()
    async with (
        served_plane(world, {"/hello": hello}, max_connections=3) as served,
        AsyncExitStack() as slow_clients,
    ):
        endpoint = served.endpoints[0]
        for _ in range(40):  # more than there are connections, those for probes included
            client = await slow_clients.enter_async_context(http_client(world, endpoint))
            await client.send(b"GET /hello HT")
        await trio.testing.wait_all_tasks_blocked()

        for path, status in (("/healthz", 200), ("/readyz", 200), ("/hello", 503)):
            async with http_client(world, endpoint) as health_client:
                assert (await health_client.ask("GET", path)).status == status
                await health_client.wait_closed()

        assert served.figures["connections"] == 3
        assert served.figures["probes"] <= 8
        assert served.figures["refused"] == 1
        await trio.sleep(3)
        assert served.figures["probes"] == 0


async def test_large_head_that_arrives_at_once_is_refused_with_431(
    autojump_clock: MockClock,
) -> None:
    async with one_client({"/hello": hello}, max_header_bytes=16_384) as (_served, client):
        assert (await client.ask("GET", "/hello", headers={"x": "y" * 16_000})).status == 200
        refused = await client.ask("GET", "/hello", headers={"x": "y" * 20_000})

    assert (refused.status, b"max.header.bytes" in refused.body) == (431, True)


async def test_connection_reset_by_the_client_logs_no_warning(
    autojump_clock: MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "trio_kafka")
    async with one_client({"/slow": slow}) as (served, client):
        await client.send(ASK % b"/slow")
        await trio.sleep(0.1)
        client.socket.abort()
        await trio.sleep(60)

        assert served.figures["broken"] == 0
        assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []


async def test_silent_connection_is_closed_after_its_idle_time(
    autojump_clock: MockClock,
) -> None:
    async with one_client(idle_timeout_ms=2_000) as (served, client):
        await client.send(b"GET / HTTP/1.1\r\nhost: loc")  # a head that never ends

        with trio.fail_after(3):
            await client.wait_closed()
        assert served.figures["connections"] == 0


@pytest.mark.parametrize(
    "sent",
    [
        b"\x00\x01\x02\x03\r\n\r\n",
        b"GET / HTTP/1.1\r\nhost: a\r\nhost: b\r\n\r\n",
        b"GET / HTTP/1.1\r\n\r\n",
        b"GET /" + b"x" * 70_000 + b" HTTP/1.1\r\n\r\n",
        b"POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes(9) + b"\xff" * 64,
        # A request of HTTP/2 without a path, and a piece of a stream that nobody has opened.
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes(3) + b"\x04" + bytes(5)
        + b"\x00\x00\x01\x01\x05\x00\x00\x00\x01\x82",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes(3) + b"\x04" + bytes(5)
        + b"\x00\x00\x01\x00\x00\x00\x00\x00\x07x",
        b"GET / HTTP/1.1\r\nhost: localhost\r\nupgrade: h2c\r\nhttp2-settings: !!\r\n\r\n",
    ],
)  # fmt: skip
async def test_invalid_bytes_close_only_their_own_connection(
    autojump_clock: MockClock, sent: bytes
) -> None:
    world = simulated_world()
    async with served_plane(world, {"/hello": hello}, idle_timeout_ms=3_000) as served:
        async with http_client(world, served.endpoints[0]) as hostile:
            await hostile.send(sent)
            with trio.fail_after(5):
                await hostile.wait_closed()
        async with http_client(world, served.endpoints[0]) as good:
            assert (await good.ask("GET", "/hello")).status == 200
            assert served.figures["connections"] == 1


async def test_upgrade_to_http_2_is_ignored(autojump_clock: MockClock) -> None:
    async with one_client({"/hello": hello}) as (served, client):
        await client.send(
            b"GET /hello HTTP/1.1\r\nhost: localhost\r\nconnection: upgrade, http2-settings\r\n"
            b"upgrade: h2c\r\nhttp2-settings: AAMAAABkAAQAAP__\r\n\r\n"
        )
        with trio.fail_after(60):
            answer = await client.wait_closed()

        assert answer.startswith(b"HTTP/1.1 200 ")
        assert served.figures["status_200"] == 1


async def test_http_2_without_an_upgrade_is_refused(autojump_clock: MockClock) -> None:
    async with one_client({"/hello": hello}) as (served, client):
        await client.send(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
        with trio.fail_after(60):
            answer = await client.wait_closed()

        assert answer.startswith(b"HTTP/1.1 505 ")
        assert served.figures["status_505"] == 1


async def test_websocket_is_refused_with_501(autojump_clock: MockClock) -> None:
    async with one_client({"/hello": hello}) as (_served, client):
        await client.send(
            b"GET /hello HTTP/1.1\r\nhost: localhost\r\n"
            b"connection: upgrade\r\nupgrade: websocket\r\n"
            b"sec-websocket-version: 13\r\nsec-websocket-key: AQIDBAUGBwgJCgsMDQ4PEA==\r\n\r\n"
        )
        with trio.fail_after(60):
            result = await client.wait_closed()

        assert result.startswith(b"HTTP/1.1 501 ")


async def test_endless_response_ends_when_its_client_leaves(autojump_clock: MockClock) -> None:
    world = simulated_world()
    async with served_plane(world, {"/endless": endless}) as served:
        async with http_client(world, served.endpoints[0]) as client:
            await client.send(ASK % b"/endless")
            await client.receive()
        await trio.sleep(1)

        assert served.figures["connections"] == 0
        assert served.figures["in_flight"] == 0


async def test_client_that_reads_nothing_is_disconnected_after_the_send_timeout(
    autojump_clock: MockClock,
) -> None:
    async with one_client({"/endless": endless}, send_timeout_ms=4_000) as (served, client):
        await client.send(ASK % b"/endless")
        await trio.sleep(3.5)
        assert served.figures["connections"] == 1
        await trio.sleep(1.5)

        assert served.figures["connections"] == 0


async def test_client_that_reads_too_slowly_is_disconnected_at_the_deadline(
    autojump_clock: MockClock,
) -> None:
    async with one_client({"/endless": endless}, deadline_s=10.0) as (served, client):
        await client.send(ASK % b"/endless")
        with trio.move_on_after(14), suppress(ConnectionError):
            while await client.receive(1024):
                await trio.sleep(0.5)

        assert served.figures["connections"] == 0


async def test_drained_plane_answers_requests_in_flight_and_accepts_no_connections(
    autojump_clock: MockClock,
) -> None:
    async def patient(scope: object, receive: object, send: object) -> None:
        await trio.sleep(3)
        await hello(scope, receive, send)

    world = simulated_world()
    async with (
        served_plane(world, {"/patient": patient}) as served,
        http_client(world, served.endpoints[0]) as busy,
        http_client(world, served.endpoints[0]) as idle,
        trio.open_nursery() as nursery,
    ):
        replies = []

        async def ask() -> None:
            replies.append(await busy.ask("GET", "/patient"))

        assert (await idle.ask("GET", "/healthz")).status == 200
        nursery.start_soon(ask)
        await trio.sleep(1)
        began = trio.current_time()
        await served.plane.drain()

        assert 1.9 < trio.current_time() - began < 2.5
        assert await idle.wait_closed() == b""
        with pytest.raises(ConnectionRefusedError):
            await world.network.connect(served.endpoints[0].host, served.endpoints[0].port)
    assert [reply.status for reply in replies] == [200]


async def test_connections_and_requests_are_in_the_tree_until_they_end(
    autojump_clock: MockClock,
) -> None:
    world = simulated_world()
    async with served_plane(world, {"/slow": slow}) as served:
        async with http_client(world, served.endpoints[0]) as client:
            await client.send(ASK % b"/slow/one?token=secret")
            await trio.sleep(1)

            (plane,), (listener,) = served.nodes("plane"), served.nodes("listener")
            (connection,), (request,) = served.nodes("connection"), served.nodes("task")
            assert plane.name == "plane http"
            assert listener.name == f"http://{served.endpoints[0]}"
            assert connection.parent is listener
            assert (request.parent, request.name) == (connection, "GET /slow/one")
            assert request.figures()["mount"] == "/slow"
            assert plane.figures()["in_flight"] == 1
        await trio.sleep(60)

        assert served.nodes("connection") == served.nodes("task") == []
    assert served.nodes("plane") == []


async def test_plane_without_free_descriptors_waits_and_continues(
    autojump_clock: MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    world = simulated_world()
    async with served_plane(world, {"/hello": hello}) as served:
        world.universe.fault = fault_on("accept", OSError(errno.EMFILE, "too many"))
        async with http_client(world, served.endpoints[0]) as client:
            await trio.sleep(1)
            assert "descriptors exhausted" in caplog.text
            world.universe.fault = lambda *_: None

            assert (await client.ask("GET", "/hello")).status == 200


async def test_address_in_use_is_named_in_the_error(autojump_clock: MockClock) -> None:
    world = simulated_world()
    async with served_plane(world) as served:
        taken = f"http://{served.endpoints[0]}"
        with pytest.raises(ExceptionGroup) as caught:
            async with served_plane(world, listeners=(taken,)):
                pass

    [leaf] = leaves(caught.value)
    assert taken in str(leaf)


async def test_hypercorn_is_imported_for_the_first_client(autojump_clock: MockClock) -> None:
    world = simulated_world()
    async with served_plane(world) as served:
        await trio.sleep(1)
        assert served.plane._engine is None
        async with http_client(world, served.endpoints[0]) as client:
            assert (await client.ask("GET", "/healthz")).status == 200

        assert served.plane._engine is not None


async def test_exception_in_hypercorn_is_logged_and_counted(
    autojump_clock: MockClock, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(server: object) -> None:
        raise KeyError(7)

    monkeypatch.setattr("hypercorn.trio.tcp_server.TCPServer._read_data", fail)
    async with one_client() as (served, client):
        await client.wait_closed()

        assert served.figures["broken"] == 1
        assert served.figures["connections"] == 0
        assert "connection broken" in caplog.text


async def test_connection_is_closed_if_hypercorn_cannot_be_imported(
    autojump_clock: MockClock, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails() -> None:
        raise ImportError("no hypercorn")

    monkeypatch.setattr("trio_kafka_http.plane._engine", fails)
    async with one_client() as (served, client):
        with trio.fail_after(5):
            await client.wait_closed()

        assert served.figures["broken"] == 1
        assert not served.nodes("connection")
        assert "connection broken" in caplog.text


async def test_plane_cancelled_during_the_import_of_hypercorn_closes_its_connections(
    autojump_clock: MockClock,
) -> None:
    world = simulated_world()
    async with served_plane(world) as served:
        await served.plane._loading.acquire()  # the import takes its time
        async with http_client(world, served.endpoints[0]) as client:
            await trio.sleep(1)
            assert served.figures["connections"] == 1
            served.cancel()

            with trio.fail_after(5), suppress(ConnectionError):
                await client.wait_closed()
        assert not served.nodes("connection")


async def test_connection_reset_raised_by_hypercorn_is_logged_as_debug(
    autojump_clock: MockClock, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(server: object) -> None:
        raise ExceptionGroup("of a nursery", [trio.BrokenResourceError("reset by peer")])

    monkeypatch.setattr("hypercorn.trio.tcp_server.TCPServer._read_data", fail)
    caplog.set_level(logging.DEBUG, "trio_kafka")
    async with one_client() as (served, client):
        await client.wait_closed()

        assert served.figures["broken"] == 0
        (record,) = [entry for entry in caplog.records if entry.message == "connection broken"]
        assert record.levelno == logging.DEBUG


# --- the real world: nothing but time and the kernel ends these


@pytest.fixture
def real_clock() -> SkippingClock:
    """pytest-trio gives it to `trio.run`."""
    return SkippingClock()


@pytest.mark.slow
async def test_plane_with_100_stalled_clients_is_cancelled_within_seconds(
    real_clock: SkippingClock,
) -> None:
    world = RealWorld(real_clock)
    async with (
        served_plane(world, {"/endless": endless}, send_timeout_ms=3_600_000) as served,
        trio.open_nursery() as nursery,
    ):
        sockets = []
        for _ in range(100):
            endpoint = served.endpoints[0]
            socket = await world.network.connect(endpoint.host, endpoint.port, receive_buffer=4096)
            socket.send(ASK % b"/endless")
            sockets.append(socket)
        with trio.fail_after(30):
            while served.figures["in_flight"] < 100 or not await all_stalled(served):
                await trio.sleep(0.05)

        began = trio.current_time()
        served.cancel()
        with trio.fail_after(10):
            await served.ended.wait()
        took_s = trio.current_time() - began
        for socket in sockets:
            socket.close()
        nursery.cancel_scope.cancel()
    assert took_s < 5.0  # of an hour that each may stall


async def all_stalled(served: object) -> bool:
    """Whether no connection takes any more."""
    before = [node.figures()["sent"] for node in served.nodes("connection")]
    await trio.sleep(0.1)
    after = [node.figures()["sent"] for node in served.nodes("connection")]
    return before == after and all(before)


@pytest.mark.slow
async def test_plane_serves_over_real_sockets(real_clock: SkippingClock) -> None:
    world = RealWorld(real_clock)
    async with (
        served_plane(world, {"/hello": hello, "/echo": echo}) as served,
        http_client(world, served.endpoints[0]) as client,
    ):
        assert (await client.ask("GET", "/hello")).body == b"GET /hello /hello"
        assert (await client.ask("POST", "/echo", body=bytes(100_000))).body == bytes(100_000)
        assert (await client.ask("GET", "/healthz")).status == 200
        assert served.figures["connections"] == 1
