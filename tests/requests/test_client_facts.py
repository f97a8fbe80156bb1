"""Clients as facts: their connections together, and those that were closed."""

import trio
from trio.testing import MockClock

from trio_kafka.network.reasons import MuteReason
from trio_kafka.protocol.messages.k18_api_versions import ApiVersionsRequest
from trio_kafka.requests.client_facts import (
    read_client_connections,
    read_clients,
    read_closed_connections,
)
from trio_kafka.scheduling.chunked_work import whole
from trio_kafka.testing.broker import served_broker
from trio_kafka.testing.scripted_client import ScriptedClient
from trio_kafka.testing.simulation import simulated_world


async def greet(client: ScriptedClient, client_id: str, count: int = 1) -> None:
    client.client_id = client_id
    for _ in range(count):
        await client.ask(ApiVersionsRequest("soft", "1.0"), 3)


async def test_connections_with_the_same_client_id_are_one_client(
    autojump_clock: MockClock,
) -> None:
    async with (
        served_broker(simulated_world()) as served,
        served.connect() as first,
        served.connect() as second,
        served.connect() as third,
    ):
        await greet(first, "shop", 2)
        await greet(second, "shop")
        await greet(third, "mail")

        clients = {client.client_id: client for client in whole(read_clients(served.broker.parts))}

    assert (clients["shop"].connections, clients["shop"].requests) == (2, 3)
    assert clients["shop"].software == ("soft 1.0",)
    assert clients["shop"].hosts == ("127.0.0.1",)
    assert clients["mail"].connections == 1
    assert clients[""].connections == 1  # that of the kit, which has sent nothing


async def test_client_with_a_connection_that_is_not_read_comes_first(
    autojump_clock: MockClock,
) -> None:
    async with (
        served_broker(simulated_world()) as served,
        served.connect() as first,
        served.connect() as second,
    ):
        await greet(first, "busy")
        await greet(second, "muted")
        (plane,) = served.broker.parts.planes
        connections = [
            connection
            for processor in plane.processors
            for connection in processor.connections.values()
        ]
        muted = next(each for each in connections if each.latest_client_id == "muted")
        muted.muted |= MuteReason.MEMORY
        clients = whole(read_clients(served.broker.parts))
        muted.muted &= ~MuteReason.MEMORY

    assert [(client.client_id, client.muted) for client in clients] == [
        ("muted", 1),
        ("", 0),
        ("busy", 0),
    ]


async def test_connections_are_found_by_client_id_and_by_their_own_id(
    autojump_clock: MockClock,
) -> None:
    async with (
        served_broker(simulated_world()) as served,
        served.connect() as first,
        served.connect() as second,
    ):
        await greet(first, "shop", 3)
        await greet(second, "mail")
        parts = served.broker.parts

        def search(name: str, limit: int = 9) -> list[tuple[str, int]]:
            result = whole(
                read_client_connections(parts, lambda key, client: name in (key, client), limit)
            )
            return [(facts.id, requests) for facts, requests in result]

        ((by_client, requests),) = search("shop")
        assert requests == 3
        assert search(by_client) == [(by_client, 3)]
        assert search("none") == []
        assert len(whole(read_client_connections(parts, lambda *_: True, 2))) == 2


async def test_closed_connections_are_listed_with_the_newest_first(
    autojump_clock: MockClock,
) -> None:
    async with served_broker(simulated_world()) as served:
        for name in ("shop", "mail"):
            async with served.connect() as client:
                await greet(client, name)
                await trio.sleep(2)
            await trio.sleep(1)  # the close crosses the network
        parts = served.broker.parts

        closed = read_closed_connections(parts, lambda *_: True, 9)
        shop = read_closed_connections(parts, lambda _, client: client == "shop", 9)
        cut = read_closed_connections(parts, lambda *_: True, 1)

    assert [facts.client_id for facts in closed] == ["mail", "shop"]
    assert [facts.client_id for facts in shop] == ["shop"]
    assert cut == closed[:1]
    assert (closed[0].reason, closed[0].software, closed[0].requests) == ("left", "soft 1.0", 1)
    assert closed[1].age_s is not None
    assert (round(closed[1].age_s), round(closed[1].ago_s)) == (2, 4)
