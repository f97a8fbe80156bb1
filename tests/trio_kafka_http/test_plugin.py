"""The plane in a whole broker: its life, its settings, and what it says of the broker."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from tests.trio_kafka_http.kit import broken, endless, hello, http_client, slow
from trio_kafka.broker import RunningBroker
from trio_kafka.cli.embedded import banner
from trio_kafka.errors import LogDirError
from trio_kafka.model import Endpoint
from trio_kafka.plugin import Plugin, PluginContext, plugin
from trio_kafka.plugin_host.lifecycle import State
from trio_kafka.testing.broker import ServedBroker, served_broker
from trio_kafka.testing.simulation import simulated_world
from trio_kafka.world.world import World
from trio_kafka_http.plugin import http, unready


@plugin("apps")
@asynccontextmanager
async def apps(context: PluginContext[object]) -> AsyncIterator[None]:
    """Mounts what the tests ask."""
    context.mount("/hello", hello)
    context.mount("/broken", broken)
    context.mount("/slow", slow)
    context.mount("/endless", endless)
    yield


def address_of(broker: RunningBroker) -> Endpoint:
    (name,) = [
        node.name
        for _, node in broker.node.walk()
        if node.kind == "listener" and node.name.startswith("http://")
    ]
    host, _, port = name.removeprefix("http://").rpartition(":")
    return Endpoint(host.strip("[]"), int(port))


@asynccontextmanager
async def served(
    plugins: tuple[Plugin, ...] = (http, apps), **settings: str
) -> AsyncIterator[ServedBroker]:
    broker_settings = {
        f"plugin.http.{name.replace('_', '.')}": text for name, text in settings.items()
    }
    async with served_broker(simulated_world(), broker_settings, plugins=plugins) as broker:
        yield broker


async def test_apps_of_plugins_are_served_together_with_health_and_readiness(
    autojump_clock: MockClock,
) -> None:
    async with served() as server:
        async with http_client(server.broker.world, address_of(server.broker)) as client:
            result = [
                (await client.ask("GET", f"/{path}")).status for path in ("hello", "no", "readyz")
            ]
            health = await client.ask("GET", "/healthz")

        assert result == [200, 404, 200]
        assert health.body == b'{"status": "alive"}\n'
        counted = server.broker.counters.value(
            "http_requests", plugin="http", mount="/hello", status="200"
        )
        assert counted == 1


async def test_banner_shows_the_http_address(autojump_clock: MockClock) -> None:
    async with served() as server:
        assert banner(server.broker).endswith(f"\n  curl http://{address_of(server.broker)}/readyz")


@pytest.mark.parametrize("settings", [{"listeners": ""}, {"enabled": "false"}])
async def test_http_plane_can_be_disabled(
    autojump_clock: MockClock, settings: dict[str, str]
) -> None:
    async with served(**settings) as server:
        assert [node for _, node in server.broker.node.walk() if node.name == "plane http"] == []
        assert "curl" not in banner(server.broker)


async def test_public_listener_without_a_token_fails_the_plugin(autojump_clock: MockClock) -> None:
    async with served(listeners="http://0.0.0.0:0") as server:
        hosted = server.broker.plugins.find("http")

        assert hosted.state is State.FAILED
        assert "plugin.http.token" in hosted.error
        assert [node for _, node in server.broker.node.walk() if node.name == "plane http"] == []


async def test_address_in_use_fails_the_plugin_and_not_the_broker(
    autojump_clock: MockClock,
) -> None:
    async with served(listeners="http://127.0.0.1:1,http://127.0.0.1:1") as server:
        hosted = server.broker.plugins.find("http")

        assert hosted.state is State.FAILED
        assert "http://127.0.0.1:1" in hosted.error


async def test_request_deadline_is_that_of_the_plugin_setting(autojump_clock: MockClock) -> None:
    async with (
        served(deadline_ms="4000") as server,
        http_client(server.broker.world, address_of(server.broker)) as client,
    ):
        began = trio.current_time()
        assert (await client.ask("GET", "/slow")).status == 503
        assert 4.0 <= trio.current_time() - began < 5.0


async def test_failure_of_an_app_counts_for_the_plugin_that_mounted_the_app(
    autojump_clock: MockClock,
) -> None:
    async with (
        served() as server,
        http_client(server.broker.world, address_of(server.broker)) as client,
    ):
        assert (await client.ask("GET", "/broken")).status == 500
        generation = server.broker.plugins.find("apps").current
        assert generation is not None
        assert generation.failures == 1
        assert server.broker.plugins.find("http").state is State.READY


async def test_readiness_is_503_while_the_broker_stops(autojump_clock: MockClock) -> None:
    async with served() as server:
        parts = server.broker.parts
        assert unready(parts) == []
        server.broker.lifecycle.leave()
        async with http_client(server.broker.world, address_of(server.broker)) as client:
            answer = await client.ask("GET", "/readyz")

        assert (answer.status, b"shutting down" in answer.body) == (503, True)

    assert unready(parts) == ["fenced"]


@pytest.mark.parametrize("is_connected", [True, False])
async def test_connected_client_gets_the_reason_of_a_failure_before_the_broker_ends(
    autojump_clock: MockClock, is_connected: bool
) -> None:
    answers = list[tuple[int, bytes]]()
    ended = trio.Event()

    async def ask(world: World, address: Endpoint) -> None:
        async with http_client(world, address) as client:
            assert (await client.ask("GET", "/hello")).status == 200
            await ended.wait()
            await trio.sleep(2)  # until the next refresh of an open page
            answer = await client.ask("GET", "/hello")
            answers.append((answer.status, answer.body))

    async with trio.open_nursery() as nursery:
        with pytest.raises(LogDirError, match="no log directory is online"):
            async with served() as server:
                if is_connected:
                    nursery.start_soon(ask, server.broker.world, address_of(server.broker))
                await trio.sleep(1)
                failed = trio.current_time()
                server.broker.tasks.fail(LogDirError("/data", "no log directory is online"))
                ended.set()
                await trio.sleep_forever()
        took_s = trio.current_time() - failed

    if is_connected:
        [(status, body)] = answers
        assert status == 503
        assert b"the broker is stopping: " in body
        assert b"no log directory is online" in body
        assert 2 < took_s < 6
    else:
        assert took_s < 2
    assert server.broker.lifecycle.failure.endswith("no log directory is online")


async def test_broker_is_not_ready_while_plugins_start(
    autojump_clock: MockClock,
) -> None:
    said = []

    @plugin("late")
    @asynccontextmanager
    async def late(context: PluginContext[object]) -> AsyncIterator[None]:
        """Asks at its start."""
        said.append(list(unready(context.parts)))
        yield

    async with served((late, http)) as server:
        said.append(list(unready(server.broker.parts)))

    assert said == [["unfenced"], []]


async def test_clients_that_stopped_reading_do_not_delay_the_stop_of_the_broker(
    autojump_clock: MockClock,
) -> None:
    async with served(send_timeout_ms="3600000") as server:
        world, sockets = server.broker.world, []
        address = address_of(server.broker)
        for _ in range(20):
            socket = await world.network.connect(address.host, address.port)
            socket.send(b"GET /endless HTTP/1.1\r\nhost: localhost\r\n\r\n")
            sockets.append(socket)
        await trio.sleep(1)
        hosted, began = server.broker.plugins.find("http"), trio.current_time()

    assert hosted.state is State.STOPPED
    # Of the 10 s that a plugin has to go, apps that are cut off have theirs; the plane takes 2.
    assert trio.current_time() - began < 15


async def test_request_in_flight_is_answered_before_the_plane_stops(
    autojump_clock: MockClock,
) -> None:
    """Of a plugin that goes after the plane: those that go before it are drained by the host."""
    replies, hosts = [], []

    async def patient(scope: Any, receive: Any, send: Any) -> None:
        while hosts[0].find("http").state is State.READY:
            await trio.sleep(0.1)
        await trio.sleep(1)
        await hello(scope, receive, send)

    @plugin("early", order=5)
    @asynccontextmanager
    async def early(context: PluginContext[object]) -> AsyncIterator[None]:
        """Starts before the plane."""
        context.mount("/patient", patient)
        yield

    async def ask(world: World, address: Endpoint) -> None:
        async with http_client(world, address) as client:
            replies.append(await client.ask("GET", "/patient"))

    async with trio.open_nursery() as nursery, served((early, http)) as server:
        hosts.append(server.broker.plugins)
        nursery.start_soon(ask, server.broker.world, address_of(server.broker))
        await trio.sleep(0.5)
    assert [reply.status for reply in replies] == [200]


async def test_reloaded_http_plugin_serves_the_same_apps(autojump_clock: MockClock) -> None:
    async with served() as server:
        await server.broker.plugins.reload("http")

        async with http_client(server.broker.world, address_of(server.broker)) as client:
            assert (await client.ask("GET", "/hello")).status == 200
        hosted = server.broker.plugins.find("http")
        assert (hosted.state, hosted.generation) == (State.READY, 2)


@pytest.mark.parametrize(("listener", "lines"), [("http://0.0.0.0:0", 1), ("http://[::1]:0", 0)])
async def test_listener_that_sends_passwords_in_clear_to_other_machines_is_logged(
    autojump_clock: MockClock, caplog: pytest.LogCaptureFixture, listener: str, lines: int
) -> None:
    async with served(listeners=listener, token="t0ken"):
        pass

    assert caplog.text.count("sent in clear") == lines
