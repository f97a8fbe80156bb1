"""The landing page."""

import re

import trio
from trio.testing import MockClock

from tests.trio_kafka_admin.kit import Element, admin_ui, table_of
from trio_kafka.protocol.messages.k18_api_versions import ApiVersionsRequest
from trio_kafka.records.leaf import RECORDS_BY
from trio_kafka.testing.broker import ServedBroker


async def test_overview_shows_broker_id_cluster_id_listeners_and_counts(
    autojump_clock: MockClock,
) -> None:
    async with admin_ui() as ui:
        await ui.served.create_topic("orders")
        overview = await ui.json("/admin/api/overview")
        parts = ui.served.broker.parts

        assert (overview["node_id"], overview["cluster_id"]) == (
            int(parts.node_id),
            parts.cluster_id,
        )
        assert overview["records_by"] == RECORDS_BY
        assert overview["listeners"] == [f"PLAINTEXT://{ui.served.broker.endpoint}"]
        assert overview["counts"] == {
            "partitions": 1,
            "led here": 1,
            "logs": 1,
            "groups": 0,
            "connections": 1,
        }
        [loop] = overview["loops"]
        assert (loop["plane"], loop["connections"]) == ("plane data", 1)


async def test_first_view_of_the_overview_has_rates_and_later_ones_cover_ten_seconds(
    autojump_clock: MockClock,
) -> None:
    async with admin_ui() as ui:
        first = await ui.json("/admin/api/overview")
        for _ in range(20):
            await ui.served.ask(ApiVersionsRequest())
        await trio.sleep(9.5)
        second = await ui.json("/admin/api/overview")

        assert first["seconds"] == 0.5
        assert first["loops"][0]["passes_per_s"] is not None
        assert round(second["seconds"]) == 10
        assert second["apis"][0]["api"] == "ApiVersions"
        assert round(second["apis"][0]["per_s"]) == 2
        page = await ui.page("/admin/overview")
        [row] = [row for row in table_of(page, "apis") if row["API"] == "ApiVersions"]
        assert row["/s"].startswith(("1.9", "2.0"))
        assert "of the last 10" in page.all("p", class_="more")[-1].text


async def test_quiet_broker_is_folded_to_a_line_a_stage_and_has_no_problem(
    autojump_clock: MockClock,
) -> None:
    async with admin_ui() as ui:
        page = await ui.page("/admin/overview")

        assert page.find("p", class_="good").text == "No problem found."
        assert page.find("p", class_="headline").text == (
            "1 client, 0 requests a second, nothing is wrong"
        )
        stages = page.find("ol", class_="way").all("details")
        assert len(stages) == 8
        assert [stage.attributes["class"] for stage in stages] == ["stage well"] * 8
        assert not [stage for stage in stages if "open" in stage.attributes]


def figure_of(page: Element, stage: str) -> str:
    count = page.find("details", id=f"stage-data-{stage}").find("span", class_="count")
    return count.find("b").text


def digits(text: str) -> float:
    return float(re.sub(r"[^\d.]", "", text))


def registry_of(served: ServedBroker) -> dict[str, dict[str, object]]:
    """Figures of the broker's nodes by path without the root."""
    nodes = {}
    for _, node in served.broker.node.walk():
        names, above = [], node
        while above.parent is not None:
            names.append(above.name)
            above = above.parent
        nodes["/".join(reversed(names))] = dict(node.figures())
    return nodes


async def test_every_number_of_the_landing_page_is_that_of_its_json_twin_and_of_the_broker(
    autojump_clock: MockClock,
) -> None:
    async with admin_ui() as ui, ui.served.connect(), ui.served.connect():
        await ui.served.create_topic("orders", 3)
        await ui.served.serve_groups("g")
        await ui.page("/admin/overview")
        await trio.sleep(12)
        page, twin = await ui.page("/admin/overview"), await ui.json("/admin/api/overview")
        nodes = registry_of(ui.served)

        [lane] = twin["lanes"]
        stages = {stage["name"]: stage for stage in lane["stages"]}
        for name, stage in stages.items():
            assert digits(figure_of(page, name)) == round(stage["count"])
        selectors = [
            figures["connections"]
            for path, figures in nodes.items()
            if "network-thread" in path and "connections" in figures
        ]
        handlers = nodes["plane data/request-handlers/num.io.threads"]
        channel = nodes["plane data/request-channel/requests"]
        assert {name: stage["count"] for name, stage in stages.items()} == {
            "listener": 3,
            "connections": sum(int(str(count)) for count in selectors),
            "channel": channel["depth"],
            "handlers": handlers["borrowed"],
            "parked": 0,
            "coordinator": nodes["group-coordinator"]["groups"],
            "log": nodes["replica-manager"]["partitions"],
            "answers": twin["headline"]["requests_per_s"],
        }
        assert stages["channel"]["bar"] == [channel["depth"], channel["bound"]]
        assert stages["handlers"]["unit"] == f"of {handlers['tokens']} busy"

        dots = page.find("details", id="stage-data-connections").all("a", class_="dot")
        facts = [dot for row in stages["connections"]["rows"] for dot in row["dots"]]
        assert [dot.attributes["title"] for dot in dots] == [dot["words"] for dot in facts]
        assert len(dots) == twin["headline"]["connections"] == 3

        shown = {row["API"]: row["count"] for row in table_of(page, "idle-apis")}
        counts = {
            path.rpartition("/")[2]: figures["count"]
            for path, figures in nodes.items()
            if path.startswith("plane data/requests/")
        }
        assert {name: digits(count) for name, count in shown.items()} == counts
        assert {row["api"]: row["count"] for row in twin["apis"]} == counts
        facts_shown = page.find("dl")
        texts = [fact.text for fact in facts_shown.all("dd")]
        assert texts[-len(twin["counts"]) :] == [str(count) for count in twin["counts"].values()]
