"""Facts of connections."""

from typing import Any

import pytest
import trio
from trio.testing import MockClock

from tests.introspect.waiting import waiting
from tests.requests.test_connection_waits import in_flight
from trio_kafka.introspect.facts.connections import ConnectionFacts
from trio_kafka.network.plane import Plane
from trio_kafka.requests import connection_facts
from trio_kafka.requests.connection_facts import search_connections
from trio_kafka.scheduling.chunked_work import step


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


async def test_search_computes_the_facts_of_those_that_it_shows_and_counts_all(
    autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    computed = list[str]()
    compute = connection_facts.connection_facts

    def count(plane: Plane, *args: Any, **how: Any) -> ConnectionFacts:
        computed.append(plane.name)
        return compute(plane, *args, **how)

    monkeypatch.setattr(connection_facts, "connection_facts", count)
    async with waiting() as waits, waits.served.connect(), waits.served.connect():
        await trio.sleep(1)
        steps = search_connections(waits.served.broker.parts, "PLAIN", 2)
        while (end := step(steps)) is None:
            pass

    assert (len(end.value.rows), end.value.total, len(computed)) == (2, 3, 2)
    assert all(row.received_bytes is not None for row in end.value.rows)
