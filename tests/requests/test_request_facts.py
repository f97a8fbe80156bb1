"""Facts of requests in flight."""

import pytest
import trio
from trio.testing import MockClock

from tests.apis.kit import fetch_request
from tests.introspect.waiting import waiting
from trio_kafka.introspect.stamps import Stamps
from trio_kafka.network.inflight import Stage
from trio_kafka.plugin_host.state_access import read_request_facts_as
from trio_kafka.protocol.messages.k18_api_versions import ApiVersionsRequest
from trio_kafka.requests.request_facts import hop_times
from trio_kafka.security.principal import NOBODY


async def test_facts_of_a_parked_request_name_its_client_and_its_hops(
    autojump_clock: MockClock,
) -> None:
    async with waiting() as waits, waits.served.connect() as client:
        topic = await waits.served.create_topic("t")
        await client.ask(ApiVersionsRequest("soft", "1.0"), 3)
        waits.nursery.start_soon(client.ask, fetch_request(topic, 0, max_wait_ms=9_000), 13)
        await trio.sleep(2)
        (facts,) = await waits.facts("Fetch")
        waits.nursery.cancel_scope.cancel()

    assert (facts.plane, facts.api, facts.version, facts.stage) == ("data", "Fetch", 13, "parked")
    assert (facts.client_id, facts.software) == ("scripted", "soft 1.0")
    assert facts.principal == "User:ANONYMOUS"
    assert facts.connection is not None
    assert facts.age_s == pytest.approx(2, 0.1)
    assert list(facts.hops_s) == ["queue", "local", "remote"]
    assert facts.hops_s["remote"] == pytest.approx(2, 0.1)


async def test_facts_are_filtered_and_bounded_before_they_are_read(
    autojump_clock: MockClock,
) -> None:
    async with waiting() as waits:
        topic = await waits.served.create_topic("t")
        for _ in range(3):
            await waits.ask(fetch_request(topic, 0, max_wait_ms=30_000))
        parts = waits.served.broker.parts
        every = await read_request_facts_as(NOBODY, parts)
        some = await read_request_facts_as(NOBODY, parts, most=2)
        others = await read_request_facts_as(NOBODY, parts, keys=[0])
        clients = await read_request_facts_as(NOBODY, parts, client_id="nobody")

    assert [row.api for row in every] == ["Fetch"] * 3
    assert some == every[:2] or [row.correlation for row in some] == [
        row.correlation for row in every[:2]
    ]
    assert others == clients == []


@pytest.mark.parametrize(
    ("stage", "marks", "hops"),
    [
        (Stage.QUEUED, {"begun": 1.0}, {"queue": 9.0}),
        (Stage.HANDLER, {"begun": 3.0}, {"queue": 2.0, "local": 7.0}),
        (
            Stage.PARKED,
            {"begun": 3.0, "handled": 4.0},
            {"queue": 2.0, "local": 1.0, "remote": 6.0},
        ),
        (
            Stage.SENDING,
            {"begun": 3.0, "handled": 4.0, "answered": 6.0, "sending": 7.0},
            {"queue": 2.0, "local": 1.0, "remote": 2.0, "response_queue": 1.0, "send": 3.0},
        ),
    ],
)
def test_time_of_each_hop_ends_with_the_next_hop(
    stage: Stage, marks: dict[str, float], hops: dict[str, float]
) -> None:
    stamps = Stamps(**{"received": 1.0, "begun": 0.0, **marks})

    assert hop_times(stamps, stage, 10.0) == hops
