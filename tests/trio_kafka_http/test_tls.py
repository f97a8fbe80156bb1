"""The plane over TLS, in the simulated world."""

from pathlib import Path
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from tests.certificates import authority, now, server, trusting, write_pem
from tests.network.secured import secured
from tests.trio_kafka_http.kit import Served, hello, served_plane
from trio_kafka.config.setting import ConfigError
from trio_kafka.introspect.log import fields_of
from trio_kafka.security.tls.errors import TlsError
from trio_kafka.testing.scripted_client import ScriptedClient, connected
from trio_kafka.testing.simulation import simulated_world
from trio_kafka.world.world import World
from trio_kafka_http.settings import HttpSettings
from trio_kafka_http.tls import HttpTls

ASK = b"GET /hello HTTP/1.1\r\nhost: localhost\r\n\r\n"
HTTPS = ("https://127.0.0.1:0",)
INLINE: dict[str, Any] = {
    "listeners": HTTPS,
    "ssl_keystore_type": "PEM",
    "ssl_keystore_key": server().key_pem(),
    "ssl_keystore_certificate_chain": server().pem,
}


@pytest.fixture
def clock(autojump_clock: MockClock) -> MockClock:
    return autojump_clock


async def get(client: ScriptedClient) -> str:
    """The answer to a request, as far as one receive has it."""
    await client.send(ASK)
    data = bytearray()
    while not data.endswith(b"GET /hello /hello"):
        data += await client.receive(1)
    return data.decode()


async def secured_client(world: World, served: Served) -> ScriptedClient:
    return await secured(world, served.endpoints[0], trusting())


async def test_a_request_over_tls_is_answered_and_its_scheme_is_https(clock: MockClock) -> None:
    schemes = []

    async def noting(scope: Any, receive: Any, send: Any) -> None:
        schemes.append(scope["scheme"])
        await hello(scope, receive, send)

    world = simulated_world()
    async with served_plane(world, {"/hello": noting}, **INLINE) as served:
        client = await secured_client(world, served)

        assert "HTTP/1.1 200" in await get(client)
        assert "HTTP/1.1 200" in await get(client)
        assert schemes == ["https", "https"]
        (listener,) = served.nodes("listener")
        assert listener.name == f"https://{served.endpoints[0]}"
        client.close()


async def test_a_plain_request_to_https_is_named_in_the_log(
    clock: MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "trio_kafka")
    world = simulated_world()
    async with (
        served_plane(world, {"/hello": hello}, **INLINE) as served,
        connected(world, served.endpoints[0]) as client,
    ):
        await client.send(ASK)
        assert await client.wait_closed()

        other = await secured_client(world, served)
        assert "HTTP/1.1 200" in await get(other)
        other.close()
    (line,) = [line for line in caplog.records if line.getMessage() == "TLS handshake failed"]
    assert fields_of(line)["reason"] == "TLS: the peer speaks HTTP, not TLS"


async def test_a_silent_client_is_closed_at_the_idle_timeout(clock: MockClock) -> None:
    world = simulated_world()
    async with (
        served_plane(world, {"/hello": hello}, idle_timeout_ms=3000, **INLINE) as served,
        connected(world, served.endpoints[0]) as client,
    ):
        began = trio.current_time()
        assert await client.wait_closed()
        assert trio.current_time() - began == pytest.approx(3, abs=0.1)


async def test_the_end_of_the_plane_ends_a_handshake(clock: MockClock) -> None:
    world = simulated_world()
    async with (
        served_plane(world, {"/hello": hello}, **INLINE) as served,
        connected(world, served.endpoints[0]),
    ):
        await trio.sleep(1)
        began = trio.current_time()
        served.cancel()
        await served.ended.wait()
        assert trio.current_time() - began < 1


async def test_a_file_that_changes_is_served_to_later_clients(
    clock: MockClock, tmp_path: Path
) -> None:
    store = write_pem(server(), tmp_path / "http.pem")
    world = simulated_world()
    settings = {
        "listeners": HTTPS,
        "ssl_keystore_type": "PEM",
        "ssl_keystore_location": str(store),
    }
    async with served_plane(world, {"/hello": hello}, **settings) as served:
        seen = []
        for change in (lambda: None, lambda: write_pem(renewal(), store), store.unlink):
            change()
            await trio.sleep(60)
            client = await secured_client(world, served)
            assert "HTTP/1.1 200" in await get(client)
            seen.append(client.socket.peer_certificate)  # type: ignore[attr-defined]
            client.close()

    assert seen[0] != seen[1] == seen[2]


def renewal() -> Any:
    return authority().issue(now(), "renewed", hosts=("127.0.0.1",))


async def test_stores_that_cannot_be_used_are_named_by_the_settings_of_the_plane(
    clock: MockClock,
) -> None:
    world = simulated_world()
    for settings, reason in (
        ({}, r"plugin\.http\.ssl\.keystore\.location: is missing"),
        (
            {"ssl_keystore_location": "/absent.pem"},
            r"plugin\.http\.ssl\.keystore\.location: /absent\.pem: No such file",
        ),
    ):
        tls = HttpTls(HttpSettings(listeners=HTTPS, **settings), world, None)
        with pytest.raises(ConfigError, match=reason):
            await tls.load()


async def test_a_client_without_trust_is_refused(clock: MockClock) -> None:
    world = simulated_world()
    async with served_plane(world, {"/hello": hello}, **INLINE) as served:
        strange = trusting(truststore_certificates=server("other").pem)
        with pytest.raises(TlsError, match="not accepted"):
            await secured(world, served.endpoints[0], strange)


async def test_a_handshake_that_breaks_does_not_continue_without_tls(
    clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(self: HttpTls, socket: object) -> object:
        raise AttributeError("a bug")

    monkeypatch.setattr(HttpTls, "wrap", broken)
    world = simulated_world()
    async with (
        served_plane(world, {"/hello": hello}, **INLINE) as served,
        connected(world, served.endpoints[0]) as client,
    ):
        await client.send(ASK)

        with pytest.raises((EOFError, ConnectionError)):
            await client.receive(1)
