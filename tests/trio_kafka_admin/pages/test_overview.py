"""The overview."""

import trio
from trio.testing import MockClock

from tests.trio_kafka_admin.kit import Element, admin_ui, read_html, table_of
from trio_kafka.protocol.messages.k18_api_versions import ApiVersionsRequest
from trio_kafka_admin.page import Data, Place
from trio_kafka_admin.pages.overview import PAGE

DATA: Data = {
    "node_id": 7,
    "cluster_id": "<c>",
    "version": "1",
    "seconds": 2.0,
    "findings": [{"words": "<it> is full", "node": "broker-7/plane data"}],
    "listeners": ["A://h:1", "B://h:2"],
    "counts": {"partitions": 12},
    "loops": [],
    "apis": [],
}


def shown(**data: object) -> Element:
    return read_html("".join(PAGE.show({**DATA, **data}, Place("/admin"))))


async def test_overview_shows_broker_id_cluster_id_listeners_and_counts(
    autojump_clock: MockClock,
) -> None:
    async with admin_ui() as ui:
        await ui.served.create_topic("orders")
        told = await ui.json("/admin/api/overview")
        parts = ui.served.broker.parts

        assert (told["node_id"], told["cluster_id"]) == (int(parts.node_id), parts.cluster_id)
        assert told["listeners"] == [f"PLAINTEXT://{ui.served.broker.endpoint}"]
        assert told["counts"] == {
            "partitions": 1,
            "led here": 1,
            "logs": 1,
            "groups": 0,
            "connections": 1,
        }
        [loop] = told["loops"]
        assert (loop["plane"], loop["connections"]) == ("plane data", 1)


async def test_overview_shows_rates_from_the_second_snapshot_on(autojump_clock: MockClock) -> None:
    async with admin_ui() as ui:
        first = await ui.json("/admin/api/overview")
        for _ in range(20):
            await ui.served.ask(ApiVersionsRequest())
        await trio.sleep(10)
        second = await ui.json("/admin/api/overview")

        assert (first["seconds"], first["loops"][0]["passes_per_s"]) == (None, None)
        assert round(second["seconds"]) == 10
        assert second["apis"][0]["api"] == "ApiVersions"
        assert round(second["apis"][0]["per_s"]) == 2
        page = await ui.page("/admin/overview")
        [row] = [one for one in table_of(page, "apis") if one["API"] == "ApiVersions"]
        assert row["/s"].startswith(("1.9", "2.0"))
        assert "of the last 10" in page.all("p", class_="more")[-1].text


def test_finding_on_the_overview_links_to_its_tree_node() -> None:
    page = shown()

    finding = page.one("ul", class_="bad").one("li")
    assert finding.text == "<it> is full look"
    assert finding.one("a").attributes["href"] == "/admin/tree?path=broker-7%2Fplane%20data"
    assert page.all("p", class_="good") == []


def test_overview_lists_the_facts_of_the_broker() -> None:
    facts = shown().one("dl")

    found = dict(zip((one.text for one in facts.all("dt")), facts.all("dd"), strict=True))
    assert {name: one.text for name, one in found.items()} == {
        "broker": "7",
        "cluster": "<c>",
        "trio-kafka": "1",
        "listeners": "A://h:1 B://h:2",
        "partitions": "12",
    }
    assert "since the start" in shown(seconds=None).all("p")[-1].text
