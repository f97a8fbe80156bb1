"""Closed connections that a broker remembers."""

import trio
from trio.testing import MockClock

from trio_kafka.protocol.messages.k18_api_versions import ApiVersionsRequest
from trio_kafka.testing.broker import served_broker
from trio_kafka.testing.simulation import simulated_world


async def test_closed_connection_of_a_broker_keeps_client_reason_and_requests(
    autojump_clock: MockClock,
) -> None:
    async with served_broker(simulated_world()) as served:
        async with served.connect() as other:
            await other.ask(ApiVersionsRequest("soft", "1.0"), 3)
        await trio.sleep(1)  # the close crosses the network
        (plane,) = served.broker.parts.planes
        closed = [
            connection
            for processor in plane.processors
            for connection in processor.table.recently_closed
        ]

    (connection,) = closed
    assert connection.client_id == "scripted"
    assert connection.origin.software == ("soft", "1.0")
    assert (connection.reason, connection.requests) == ("left", 1)
    assert connection.since is not None
    assert connection.at >= connection.since
