"""Drills: handlers all busy, a full request channel, a fetch for min.bytes, a fault rule."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import trio
from trio.testing import MockClock

from tests.apis.kit import batch, fetch_request, produce_request
from tests.trio_kafka_admin.drills.kit import drill
from tests.trio_kafka_admin.drills.troubles import tell
from trio_kafka.controls.faults import FaultRule, Faults
from trio_kafka.plugin import PluginContext, plugin
from trio_kafka.protocol.messages.k00_produce import ProduceRequest
from trio_kafka.protocol.messages.k03_metadata import MetadataRequest


@plugin("enricher", order=900)
@asynccontextmanager
async def enricher(context: PluginContext[None]) -> AsyncIterator[None]:
    """Look up each Metadata, in a service that takes three seconds."""

    async def look_up(request: Any, context: Any, forward: Any) -> Any:
        if isinstance(request, MetadataRequest):
            await trio.sleep(3)
        return await forward(request)

    context.around(None, look_up)
    yield


async def test_handlers_that_are_all_in_one_slow_plugin_name_the_plugin(
    autojump_clock: MockClock,
) -> None:
    async with drill(enricher) as exercise:
        for number in range(40):
            exercise.hang(MetadataRequest(), f"client-{number}")
        await trio.sleep(1)
        finding = await exercise.find("slow-plugin")
        await tell(exercise.ui, "slow-plugin", finding)

    assert finding["subject"] == {"kind": "plugin", "name": "enricher"}
    assert finding["severity"] == "wrong"
    assert "all 8 handlers of plane data are in it" in finding["words"]
    assert "busy-handlers" in [below["kind"] for below in finding["consequences"]]


async def test_full_request_channel_is_below_the_plugin_that_causes_it(
    autojump_clock: MockClock,
) -> None:
    settings = {"num.io.threads": "2", "queued.max.requests": "20"}
    async with drill(enricher, settings=settings) as exercise:
        for number in range(60):
            exercise.hang(MetadataRequest(), f"client-{number}")
        await trio.sleep(1)
        finding = await exercise.find("slow-plugin")
        page = exercise.seen[-1]
        channel = next(row for row in finding["consequences"] if row["kind"] == "full-channel")
        await tell(exercise.ui, "full-channel", channel)

    assert [row["kind"] for row in page["findings"]] == ["slow-plugin"]
    below = {row["kind"]: row["words"] for row in finding["consequences"]}
    assert below["full-channel"].endswith("is full: 20 of 20 items")
    stage = next(stage for stage in page["lanes"][0]["stages"] if stage["name"] == "channel")
    assert (stage["count"], stage["state"]) == (20, "wrong")


async def test_fetch_that_waits_for_min_bytes_says_what_is_there_and_until_when(
    autojump_clock: MockClock,
) -> None:
    async with drill() as exercise:
        topic = await exercise.served.create_topic("rare")
        await exercise.served.ask(produce_request(topic, (0, batch(*[b"x"] * 12))))
        request = fetch_request(topic, 0, max_wait_ms=30_000, min_bytes=100_000)
        exercise.hang(request, "nightly-export")
        finding = await exercise.find("waiting-fetch")
        await tell(exercise.ui, "min-bytes", finding)
        await trio.sleep(32)
        afterwards = await exercise.findings()

    assert finding["title"].startswith("fetch of nightly-export has waited ")
    assert " of 100,000 bytes from rare-0; it is answered in " in finding["more"]
    assert (finding["severity"], finding["link"]["kind"]) == ("waits", "request")
    assert afterwards == []


async def test_fault_rule_that_delays_produce_is_one_finding_with_its_text(
    autojump_clock: MockClock,
) -> None:
    async with drill() as exercise:
        broker = exercise.served.broker
        faults = Faults(broker, node=broker.node.add("rules", "part"))
        faults.add(FaultRule(name="late", api="Produce", delay_s=2.0))
        finding = await exercise.find("fault-rule")
        await tell(exercise.ui, "fault-rule", finding)
        kinds = await exercise.findings()

    assert finding["subject"] == {"kind": "fault rule", "name": "late"}
    assert '"delay_s": 2' in finding["words"]
    assert kinds == ["fault-rule"]
    assert ProduceRequest.__name__.removesuffix("Request") in finding["words"]
