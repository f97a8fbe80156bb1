"""Limits of connections as settings, also while the broker runs."""

from typing import Any

import pytest
import trio
from trio.testing import MockClock

from tests.apis.configs import BROKER, DELETE, SET, alter
from trio_kafka.broker.parts.connections import bounds_of, request_memory
from trio_kafka.config.load import broker_config
from trio_kafka.errors import ErrorCode
from trio_kafka.model import Endpoint
from trio_kafka.protocol.messages.k18_api_versions import ApiVersionsRequest
from trio_kafka.quotas.connection import ConnectionBounds, ListenerBounds
from trio_kafka.testing.broker import ServedBroker, served_broker
from trio_kafka.testing.scripted_client import ScriptedClient
from trio_kafka.testing.simulation import simulated_world

TWO = {
    "listeners": "INSIDE://127.0.0.1:0,OUTSIDE://127.0.0.1:0",
    "listener.security.protocol.map": "INSIDE:PLAINTEXT,OUTSIDE:PLAINTEXT",
    "inter.broker.listener.name": "INSIDE",
}
OK = (0, None)


def clock() -> float:
    return 0.0


async def connect(served: ServedBroker, endpoint: Endpoint) -> ScriptedClient:
    network = served.broker.world.network
    return ScriptedClient(await network.connect(endpoint.host, endpoint.port))


async def is_served(client: ScriptedClient) -> bool:
    """Within ten seconds."""
    with trio.move_on_after(10):
        try:
            await client.ask(ApiVersionsRequest("trio", "1"), 3)
        except (EOFError, ConnectionError):
            return False
        return True
    return False


def test_connection_bounds_are_read_from_the_settings() -> None:
    assert bounds_of(broker_config()) == ConnectionBounds()
    settings = {
        **TWO,
        "max.connections": "9",
        "max.connection.creation.rate": "8",
        "max.connections.per.ip": "7",
        "max.connections.per.ip.overrides": "10.0.0.1:6,host:5",
        "listener.name.inside.max.connections": "4",
        "listener.name.nowhere.max.connections": "3",
    }

    assert bounds_of(broker_config(settings)) == ConnectionBounds(
        connections=9,
        rate=8,
        per_address=7,
        addresses={"10.0.0.1": 6, "host": 5},
        listeners={"INSIDE": ListenerBounds(connections=4, rate=8)},
    )


@pytest.mark.parametrize(("text", "size"), [("-1", None), ("0", None), ("104857600", 104857600)])
def test_request_memory_is_limited_only_by_queued_max_request_bytes(
    text: str, size: int | None
) -> None:
    pool = request_memory(broker_config({"queued.max.request.bytes": text}), clock)

    assert (None if pool is None else pool.size) == size


@pytest.mark.parametrize("broker", ["1", ""])
async def test_connection_limits_change_while_the_broker_runs(
    autojump_clock: MockClock, broker: str
) -> None:
    async with served_broker(simulated_world()) as served:
        limits, endpoint = served.broker.parts.limits, served.broker.endpoint
        assert await is_served(served.client)
        assert limits.accounts.total == 1
        assert await alter(served, BROKER, broker, ("max.connections", SET, "2")) == OK
        second, third = [await connect(served, endpoint) for _ in range(2)]
        assert await is_served(second)
        assert not await is_served(third)

        assert await alter(served, BROKER, broker, ("max.connections", DELETE, None)) == OK
        assert await third.receive_frame()  # what it has asked meanwhile
        assert limits.accounts.total == 3

        assert await alter(served, BROKER, broker, ("max.connections.per.ip", SET, "3")) == OK
        assert not await is_served(await connect(served, endpoint))
        overrides = ("max.connections.per.ip.overrides", SET, "127.0.0.1:4")
        assert await alter(served, BROKER, broker, overrides) == OK
        await trio.sleep(1)
        assert await is_served(await connect(served, endpoint))


async def test_connection_limit_of_one_listener_changes_while_the_broker_runs(
    autojump_clock: MockClock,
) -> None:
    async with served_broker(simulated_world(), {**TWO, "max.connections": "50"}) as served:
        outside = served.broker.endpoints["OUTSIDE"]
        own = "listener.name.outside.max.connections"
        assert await alter(served, BROKER, "1", (own, SET, "1")) == OK

        assert await is_served(await connect(served, outside))
        assert not await is_served(await connect(served, outside))
        assert await is_served(await connect(served, served.broker.endpoints["INSIDE"]))

        code, text = await alter(served, BROKER, "1", (own, SET, "0"))
        assert code == ErrorCode.INVALID_REQUEST
        assert text is not None
        assert "would reject every connection" in text


async def test_inter_broker_listener_accepts_a_connection_at_the_broker_limit(
    autojump_clock: MockClock,
) -> None:
    settings: dict[str, Any] = {
        **TWO,
        "max.connections": "3",
        "listener.name.inside.max.connections": "9",
    }
    async with served_broker(simulated_world(), settings) as served:
        # The first connection, of the test kit, is on INSIDE.
        outside = [await connect(served, served.broker.endpoints["OUTSIDE"]) for _ in range(2)]
        for client in outside:
            assert await is_served(client)
            await trio.sleep(1)

        inside = await connect(served, served.broker.endpoints["INSIDE"])

        assert await is_served(inside)
        await trio.sleep(1)
        assert [await is_served(client) for client in outside] == [False, True]
        assert served.broker.parts.limits.accounts.total == 3


async def test_control_plane_accepts_a_connection_at_the_broker_limit(
    autojump_clock: MockClock,
) -> None:
    settings: dict[str, Any] = {
        "listeners": "OUTSIDE://127.0.0.1:0,CONTROL://127.0.0.1:0",
        "listener.security.protocol.map": "OUTSIDE:PLAINTEXT,CONTROL:PLAINTEXT",
        "inter.broker.listener.name": "OUTSIDE",
        "control.plane.listener.name": "CONTROL",
        "max.connections": "2",
    }
    async with served_broker(simulated_world(), settings) as served:
        # With the one of the test kit the broker is full.
        outside = await connect(served, served.broker.endpoints["OUTSIDE"])
        assert await is_served(outside)
        control = await connect(served, served.broker.endpoints["CONTROL"])

        assert await is_served(control)


async def test_connection_rate_of_an_address_is_limited(autojump_clock: MockClock) -> None:
    async with served_broker(simulated_world()) as served:
        assert await is_served(served.client)
        served.broker.parts.limits.set_ip_rate("127.0.0.1", 1)
        clients = [await connect(served, served.broker.endpoint) for _ in range(15)]

        assert sum([await is_served(client) for client in clients]) == 10


async def test_connection_rates_are_measured_over_the_quota_windows(
    autojump_clock: MockClock,
) -> None:
    windows = {"quota.window.num": "2", "quota.window.size.seconds": "5"}
    async with served_broker(simulated_world(), windows) as served:
        accounts = served.broker.parts.limits.accounts
        assert await is_served(served.client)

        # One connection, over one of the two windows.
        assert accounts.rate.measure(int(trio.current_time() * 1000)) == pytest.approx(0.2, rel=0.1)


async def test_tree_shows_connection_limits_and_request_memory(autojump_clock: MockClock) -> None:
    settings = {"queued.max.request.bytes": "104857600"}
    async with served_broker(simulated_world(), settings) as served:
        assert await is_served(served.client)
        nodes = {node.name: node for _, node in served.broker.node.walk()}

        assert nodes["connection-limits"].figures()["connections"] == 1
        assert nodes["memory-pool"].figures()["MemoryPoolAvailable"] == 104857600
        (gate,) = nodes["connection-limits"].children
        assert gate.name == "PLAINTEXT"
        assert gate.figures()["AcceptorBlockedPercent"] == 0.0
    assert served.broker.parts.limits.accounts.total == 0
