"""Long waits and lag: what the overview finds beside the tree."""

import json
from typing import Any

import trio
from trio.testing import MockClock

from tests.apis.kit import fetch_request, write
from tests.apis.test_k09_offset_fetch import commit
from tests.trio_kafka_admin.kit import Ui, admin_ui
from trio_kafka.controls.faults import FaultRule, Faults
from trio_kafka.controls.faults.tables import table_of
from trio_kafka.protocol.messages.k03_metadata import MetadataRequest
from trio_kafka.protocol.messages.k10010_describe_requests import RequestLife
from trio_kafka.testing.scripted_client import newest
from trio_kafka_admin.derived_nodes import LEAST_LAG, long_waits


async def words_of(ui: Ui) -> list[str]:
    """Findings but that of the loop: in virtual time it is busy for all of it."""
    found = [one["words"] for one in (await ui.json("/admin/api/overview"))["findings"]]
    return [words for words in found if "% of the time" not in words]


def slow_down(ui: Ui, api: str, delay_s: float) -> dict[str, Any]:
    """A rule as the plugin `faults` has it, under that plugin's node."""
    broker = ui.served.broker
    faults = Faults(broker, node=broker.node.add("rules", "part"))
    return table_of(faults.add(FaultRule(name="late", api=api, delay_s=delay_s)).rule)


async def test_finding_for_a_slowed_api_names_the_plugin_and_its_rule(
    autojump_clock: MockClock,
) -> None:
    async with admin_ui() as ui:
        rule = slow_down(ui, "Metadata", 0.5)
        assert await words_of(ui) == []
        for _ in range(3):
            await ui.served.ask(MetadataRequest())
        await trio.sleep(2)
        found = await words_of(ui)
        await trio.sleep(30)
        await words_of(ui)
        await trio.sleep(2)
        later = await words_of(ui)

    assert found == [
        "plugin faults takes 500 ms of each request, around MetadataRequest",
        "Metadata takes 500 ms on average, 500 ms of it parked",
        f"rule late of plugin faults has matched 3 requests: {json.dumps(rule)}",
    ]
    assert later == []


async def test_long_waiting_request_is_a_finding_with_its_wait_reason(
    autojump_clock: MockClock,
) -> None:
    async with admin_ui() as ui, ui.served.connect() as client, trio.open_nursery() as nursery:
        slow_down(ui, "Metadata", 60)
        nursery.start_soon(client.ask, MetadataRequest(), newest(MetadataRequest))
        await trio.sleep(4)
        early = await words_of(ui)
        await trio.sleep(4)
        overview = await ui.json("/admin/api/overview")
        nursery.cancel_scope.cancel()

    assert not [one for one in early if "waited" in one]
    (found,) = [one for one in overview["findings"] if "waited" in one["words"]]
    assert found["words"] == (
        "Metadata requests that have waited for more than 5 s: 1; the oldest, of client scripted,"
        " for 8 s; they wait for fault rule late, which delays it by 60 s"
    )
    assert found["node"] == "broker-1/plane data"


async def test_fetch_that_waits_for_records_is_no_finding(autojump_clock: MockClock) -> None:
    async with admin_ui() as ui, ui.served.connect() as client, trio.open_nursery() as nursery:
        await ui.served.create_topic("t")
        poll = fetch_request("t", 0, max_wait_ms=60_000)
        nursery.start_soon(client.ask, poll, 12)
        await trio.sleep(30)
        in_flight = await ui.json("/admin/api/requests?which=in-flight&api=Fetch")
        found = await words_of(ui)
        nursery.cancel_scope.cancel()

    assert [one["stage"] for one in in_flight["requests"]] == ["parked"]
    assert found == []


async def test_long_waits_have_count_and_oldest_age_per_api_and_reason() -> None:
    lives = [
        RequestLife(plane="data", api_name="Produce", waits_for=what, age_us=age_s * 10**6)
        for what, age_s in (("a", 6), ("a", 9), ("b", 7), ("a", 5))
    ]

    found = await long_waits("broker-1", lives)

    shown = {
        path[-1]: (one.figures["count"], one.figures["oldest_s"]) for path, one in found.items()
    }
    assert shown == {"Produce waits for a": (2, 9.0), "Produce waits for b": (1, 7.0)}


async def test_group_with_growing_lag_is_a_finding_until_its_lag_shrinks(
    autojump_clock: MockClock,
) -> None:
    async with admin_ui() as ui:
        served = ui.served
        await served.create_topic("t")
        await served.serve_groups("g")
        await write(served, "t", *[b"x"] * LEAST_LAG)
        await commit(served, "g", "t", 0, 0)
        await words_of(ui)
        await trio.sleep(2)
        await write(served, "t", *[b"x"] * 500)
        growing = await words_of(ui)
        await trio.sleep(2)
        await commit(served, "g", "t", 0, 700)
        await trio.sleep(15)
        await words_of(ui)
        await trio.sleep(2)
        small = await words_of(ui)

    assert growing == ["group g lags by 1,500 records, 500 more than 2 s ago, and has no members"]
    assert small == []
