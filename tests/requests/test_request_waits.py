"""Waits of requests whose answer is made, or is not read."""

import pytest
import trio
from trio.testing import MockClock

from tests.apis.kit import batch, fetch_request, produce
from tests.introspect.waiting import chain, waiting
from trio_kafka.network.inflight import requests_in_flight
from trio_kafka.testing.scripted_client import connect, request_frame


async def test_answer_that_the_client_does_not_read_waits_for_it(
    autojump_clock: MockClock,
) -> None:
    async with waiting() as waits:
        await waits.served.create_topic("t")
        for _ in range(4):
            await produce(waits.served, "t", batch(bytes(900_000)))
        world, endpoint = waits.served.broker.world, waits.served.broker.endpoint
        client = await connect(world.network, endpoint)
        request = fetch_request("t", 0, max_bytes=4 << 20, partition_max_bytes=4 << 20)
        await client.send(request_frame(request, 12))
        await trio.sleep(10)

        (facts,) = await waits.facts("Fetch")
        (row,) = [row for row in await waits.connections("scripted") if row.unsent_bytes]
        client.socket.abort()

    (wait,) = facts.why
    assert facts.stage == "sending"
    assert chain((wait,)) == [("client", "connection", facts.connection)]
    assert wait.needs == row.unsent_bytes > 1_000_000
    assert wait.age_s == row.unsent_s == pytest.approx(10, 0.1)
    assert wait.left_s == pytest.approx(590, 0.1)
    assert wait in row.waits
    assert row.id == facts.connection


async def test_answer_that_is_made_waits_for_its_processor(autojump_clock: MockClock) -> None:
    async with waiting() as waits:
        topic = await waits.served.create_topic("t")
        await waits.ask(fetch_request(topic, 0, max_wait_ms=30_000))
        (plane,) = waits.served.broker.parts.planes
        (request,) = [row for row in requests_in_flight(plane.processors) if row is not None]
        request.stamps.answered = 1.0  # as it is until the end of the round
        facts = await waits.facts("Fetch")
        request.stamps.answered = 0.0

    ((wait,),) = [row.why for row in facts]
    assert chain((wait,)) == [("processor", "connection", facts[0].connection)]
    assert wait.words == "its processor to send the answer"
