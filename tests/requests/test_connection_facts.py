"""Facts of connections."""

import pytest
from trio.testing import MockClock

from tests.introspect.waiting import waiting
from tests.requests.test_connection_waits import in_flight
from trio_kafka.introspect.facts.connections import ConnectionFacts


async def test_facts_of_a_connection_name_its_client_and_listener(
    autojump_clock: MockClock,
) -> None:
    async with waiting() as waits:
        await in_flight(waits)
        rows = await waits.all_connections()

    row = next(row for row in rows if row.waits)
    assert isinstance(row, ConnectionFacts)
    assert (row.plane, row.listener, row.client_id) == ("data", "PLAINTEXT", "scripted")
    assert (row.in_flight, row.unsent_bytes, row.unsent_s) == (1, 0, None)
    assert row.age_s == pytest.approx(1, 0.2)
    assert row.processor.startswith("data-plane-kafka-network-thread-")
