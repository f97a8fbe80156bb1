"""A plane whose listener has TLS; on the simulated world."""

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
import trio
from trio.testing import MockClock

from tests.certificates import CLIENT_NAME, client, server, serving, trusting
from tests.network.echoing import echo, echoes, numbers
from tests.network.secured import secured
from trio_kafka.network import handshakes
from trio_kafka.network.listener_tls import ListenerTls
from trio_kafka.network.settings import ListenerSettings
from trio_kafka.plugin import Context, api
from trio_kafka.records.file_range import FileRange
from trio_kafka.security.tls.contexts import client_context, server_identity
from trio_kafka.security.tls.errors import TlsError
from trio_kafka.security.tls.principal_rules import PrincipalRules
from trio_kafka.security.tls.settings import TlsSettings
from trio_kafka.security.tls.socket import TlsSocket, new_arrival_buffer
from trio_kafka.testing.planes import RunningPlane, running_plane
from trio_kafka.testing.sample_apis import EchoRequest, EchoResponse, ReadRequest, ReadResponse
from trio_kafka.testing.scripted_client import ScriptedClient, connected, request_frame
from trio_kafka.testing.simulation import simulated_world
from trio_kafka.world.world import World

SSL = ListenerSettings(name="SSL", security_protocol="SSL", processors=1)


@pytest.fixture
def clock(autojump_clock: MockClock) -> MockClock:
    return autojump_clock


@asynccontextmanager
async def tls_plane(
    world: World,
    *more: object,
    settings: TlsSettings | None = None,
    rules: str = "DEFAULT",
    listener: ListenerSettings = SSL,
) -> AsyncIterator[tuple[RunningPlane, ListenerTls]]:
    tls = ListenerTls(server_identity(settings or serving()), PrincipalRules(rules))
    async with running_plane(
        world, [echo, *more], listener=listener, tls={listener.name: tls}
    ) as plane:
        yield plane, tls


@asynccontextmanager
async def plane_with_client(
    world: World, *more: object, **options: object
) -> AsyncIterator[tuple[RunningPlane, ScriptedClient]]:
    async with tls_plane(world, *more, **options) as (plane, _):
        asking = await secured(world, plane.endpoint)
        yield plane, asking
        asking.close()


@pytest.mark.parametrize("moody", [False, True])
async def test_pipelined_requests_over_tls_are_answered_in_order(
    clock: MockClock, moody: bool
) -> None:
    world = simulated_world(seed=3, moody=moody)
    async with plane_with_client(world) as (_, asking), trio.open_nursery() as nursery:
        nursery.start_soon(asking.send, echoes(500, text="y" * 400))
        assert await numbers(asking, 500) == list(range(500))


async def test_two_requests_in_one_record_are_both_answered(clock: MockClock) -> None:
    async with plane_with_client(simulated_world()) as (_, asking):
        await trio.sleep(1)  # nothing follows that could wake the broker
        assert asking.socket.send(echoes(2)) == len(echoes(2))

        assert await numbers(asking, 2) == [0, 1]


async def test_a_request_that_follows_the_handshake_at_once_is_answered(clock: MockClock) -> None:
    world = simulated_world()
    async with tls_plane(world) as (plane, _):
        plain = await world.network.connect(plane.endpoint.host, plane.endpoint.port)
        context = client_context(trusting(endpoint_identification_algorithm=""))
        socket = TlsSocket(plain, context, arrived=new_arrival_buffer(), host="broker")
        while not socket.is_open:
            try:
                socket.handshake()
            except BlockingIOError:
                await socket.wait_readable()
        asking = ScriptedClient(socket)
        socket.send(echoes(1, start=7))  # in the packet of the last flight

        assert await numbers(asking, 1) == [7]
        asking.close()


@pytest.mark.parametrize("size", [100_000, 700_000, 3_000_000])
async def test_large_requests_and_answers_cross_small_buffers(clock: MockClock, size: int) -> None:
    @api(ReadRequest)
    def read(request: ReadRequest, context: Context) -> ReadResponse:
        return ReadResponse(data=memoryview(bytes(request.size)))

    text = "z" * 30_000
    listener = ListenerSettings(name="SSL", security_protocol="SSL", processors=1, largest_buffer=0)
    async with plane_with_client(simulated_world(), read, listener=listener) as (_, asking):
        response = await asking.ask(ReadRequest(position=0, size=size), 0)
        assert len(response.data or b"") == size
        response = await asking.ask(EchoRequest(text=text, number=1), 0)
        assert response.text == text


async def test_a_large_frame_in_one_window_is_received_whole(clock: MockClock) -> None:
    @api(ReadRequest)
    def read(request: ReadRequest, context: Context) -> ReadResponse:
        return ReadResponse(data=None)

    listener = ListenerSettings(
        name="SSL", security_protocol="SSL", processors=1, receive_buffer=4 << 20
    )
    frame = request_frame(ReadRequest(position=0, size=0), 0)
    padded = (len(frame) - 4 + 2_000_000).to_bytes(4, "big") + frame[4:] + bytes(2_000_000)
    async with plane_with_client(simulated_world(), read, listener=listener) as (_, asking):
        with trio.fail_after(60):
            await asking.send(padded)
            assert await asking.receive_frame()


async def test_a_range_of_a_file_is_sent_over_tls(clock: MockClock) -> None:
    world = simulated_world()
    directory = world.directory("/data", create=True)
    file = directory.create("segment")
    data = bytes(range(256)) * 4000
    file.append([data])

    @api(ReadRequest)
    def read(request: ReadRequest, context: Context) -> ReadResponse:
        range_ = FileRange(file.lease(len(data)), 0, len(data))
        return ReadResponse(data=range_)  # type: ignore[arg-type]

    async with plane_with_client(world, read) as (_, asking):
        response = await asking.ask(ReadRequest(position=0, size=1), 0)

        assert bytes(response.data or b"") == data
    assert not file.leased
    file.close()


async def test_the_principal_is_that_of_the_certificate_by_the_rules(clock: MockClock) -> None:
    @api(EchoRequest)
    def whoami(request: EchoRequest, context: Context) -> EchoResponse:
        return EchoResponse(text=str(context.principal))

    names = {
        "DEFAULT": f"User:{CLIENT_NAME}",
        "RULE:^CN=(.*?),.*$/$1/U": "User:ANN",
    }
    world = simulated_world()
    for rules, name in names.items():
        tls = ListenerTls(server_identity(serving(client_auth="requested")), PrincipalRules(rules))
        async with running_plane(world, [whoami], listener=SSL, tls={"SSL": tls}) as plane:
            tls_user = await secured(
                world, plane.endpoint, trusting(client(), endpoint_identification_algorithm="")
            )
            anonymous = await secured(world, plane.endpoint)

            assert (await tls_user.ask(EchoRequest(text="", number=0), 0)).text == name
            assert (await anonymous.ask(EchoRequest(text="", number=0), 0)).text == "User:ANONYMOUS"
            tls_user.close()
            anonymous.close()


async def test_a_client_without_a_certificate_is_refused_where_one_is_required(
    clock: MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    world = simulated_world()
    async with tls_plane(world, settings=serving(client_auth="required")) as (plane, _):
        asking = await secured(world, plane.endpoint)  # TLS 1.3: a client learns of it later

        with pytest.raises((TlsError, EOFError)):
            await asking.ask(EchoRequest(text="", number=0), 0)

        assert failed(plane) == 1
        assert reasons(caplog) == [
            "TLS: the client sent no certificate, and ssl.client.auth=required"
        ]
        asking.close()


async def test_a_name_that_no_rule_knows_is_refused(
    clock: MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    world = simulated_world()
    settings = serving(client_auth="required")
    async with tls_plane(world, settings=settings, rules="RULE:^OU=.*$/x/") as (plane, _):
        asking = await secured(
            world, plane.endpoint, trusting(client(), endpoint_identification_algorithm="")
        )
        with pytest.raises((TlsError, EOFError)):
            await asking.ask(EchoRequest(text="", number=0), 0)
        assert reasons(caplog) == [f"no rule applies to '{CLIENT_NAME}'"]
        asking.close()


async def test_new_certificates_serve_new_connections_and_keep_the_open_ones(
    clock: MockClock,
) -> None:
    world = simulated_world()
    async with tls_plane(world) as (plane, tls):
        first = await secured(world, plane.endpoint)
        before = first.socket.peer_certificate
        tls.identity = server_identity(serving(server("renewed")))
        second = await secured(world, plane.endpoint)

        assert second.socket.peer_certificate != before
        for asking in (first, second):
            await asking.send(echoes(1))
            assert await numbers(asking, 1) == [0]
            asking.close()


async def test_a_silent_peer_is_closed_after_the_time_of_a_handshake(
    clock: MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    world = simulated_world()
    async with tls_plane(world) as (plane, _):
        async with connected(world, plane.endpoint) as silent:
            began = trio.current_time()
            assert await silent.wait_closed()
            assert trio.current_time() - began == pytest.approx(10, abs=0.2)
        async with connected(world, plane.endpoint) as half:
            await half.send(b"\x16\x03\x01\x02\x00\x01")
            assert await half.wait_closed()

        assert failed(plane) == 2
        assert reasons(caplog) == ["the handshake was not finished in time"]


async def test_a_peer_that_leaves_within_the_handshake_has_not_failed_to_authenticate(
    clock: MockClock,
) -> None:
    world = simulated_world()
    async with tls_plane(world) as (plane, _):
        for sent in (b"", b"\x16\x03\x01"):
            peer = await world.network.connect(plane.endpoint.host, plane.endpoint.port)
            if sent:
                peer.send(sent)
            peer.close()
            await trio.sleep(0.1)

        ended = plane.counters.value("tls_handshakes", listener="SSL", result="ended")
        assert (ended, failed(plane)) == (2, 0)


async def test_the_oldest_handshake_makes_room_for_a_new_one(
    clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(handshakes, "MOST", 3)
    world = simulated_world()
    async with tls_plane(world) as (plane, _):
        silent = [
            await world.network.connect(plane.endpoint.host, plane.endpoint.port) for _ in range(5)
        ]
        began = trio.current_time()
        asking = await secured(world, plane.endpoint)
        await asking.send(echoes(1))

        assert await numbers(asking, 1) == [0]
        assert trio.current_time() - began < 1
        assert failed(plane) == 3
        for socket in (asking, *silent):
            socket.close()


@pytest.mark.parametrize(
    ("first", "reason"),
    [
        (b"GET / HTTP/1.1\r\n\r\n", "TLS: the peer speaks HTTP, not TLS"),
        (
            echoes(1),
            "TLS: the peer speaks Kafka's protocol without TLS: security.protocol=SSL",
        ),
    ],
)
async def test_the_log_names_a_peer_without_tls(
    clock: MockClock, caplog: pytest.LogCaptureFixture, first: bytes, reason: str
) -> None:
    world = simulated_world()
    async with tls_plane(world) as (plane, _), connected(world, plane.endpoint) as peer:
        await peer.send(first)
        assert await peer.wait_closed()
        assert reasons(caplog) == [reason]


@pytest.mark.parametrize(
    ("first", "protocol"),
    [(b"GET / HTTP/1.1\r\n\r\n", "HTTP"), (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", "TLS")],
)
async def test_the_log_names_another_protocol_on_a_plaintext_port(
    clock: MockClock, caplog: pytest.LogCaptureFixture, first: bytes, protocol: str
) -> None:
    world = simulated_world()
    async with running_plane(world, [echo]) as plane, connected(world, plane.endpoint) as peer:
        await peer.send(first)
        assert await peer.wait_closed()

    (line,) = [line for line in caplog.records if line.getMessage() == "connection closed"]
    assert f"the client speaks {protocol} on a plaintext port" in str(vars(line))


async def test_bytes_after_a_failed_handshake_do_not_turn_the_close_into_a_reset(
    clock: MockClock,
) -> None:
    world = simulated_world()
    async with tls_plane(world) as (plane, _):
        peer = await world.network.connect(plane.endpoint.host, plane.endpoint.port)
        peer.send(b"\x16\x03\x01\x00\x05wrong")
        await trio.sleep(0.01)
        peer.send(bytes(1000))
        await trio.sleep(0.01)

        received, buffer = [-1], bytearray(100)
        while received[-1]:
            received.append(peer.receive_into(buffer))
        assert buffer[:1] == b"\x15"  # the alert
        peer.close()


async def test_the_answer_before_a_bad_frame_arrives_before_the_close(clock: MockClock) -> None:
    async with plane_with_client(simulated_world()) as (_, asking):
        await asking.send(echoes(1) + b"\xff" * 8)

        assert await numbers(asking, 1) == [0]
        assert await asking.wait_closed()


async def test_the_end_of_a_listener_ends_its_handshakes(clock: MockClock) -> None:
    world = simulated_world()
    async with tls_plane(world) as (plane, _):
        silent = await world.network.connect(plane.endpoint.host, plane.endpoint.port)
        await trio.sleep(1)
        began = trio.current_time()
        assert await plane.plane.drain(trio.current_time() + 5)
        assert trio.current_time() - began < 1
        silent.close()


async def test_a_listener_without_a_certificate_accepts_nothing_until_it_has_one(
    clock: MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    world = simulated_world()
    certificates: dict[str, ListenerTls] = {}
    async with running_plane(world, [echo], listener=SSL, tls=certificates) as plane:
        async with connected(world, plane.endpoint) as early:
            await early.send(echoes(1))
            await trio.sleep(5)
            assert plane.connections == []
        assert "listener has no certificate: it accepts nothing" in caplog.messages

        certificates["SSL"] = ListenerTls(server_identity(serving()), PrincipalRules())
        await trio.sleep(2)
        asking = await secured(world, plane.endpoint)
        await asking.send(echoes(1))
        assert await numbers(asking, 1) == [0]
        asking.close()


def failed(plane: RunningPlane) -> int:
    return plane.counters.value("tls_handshakes", listener="SSL", result="failed")


def reasons(caplog: pytest.LogCaptureFixture) -> list[str]:
    """Reasons of the failed handshakes in the log."""
    from trio_kafka.introspect.log import fields_of

    return [
        str(fields_of(line)["reason"])
        for line in caplog.records
        if line.levelno == logging.WARNING and line.getMessage() == "TLS handshake failed"
    ]
