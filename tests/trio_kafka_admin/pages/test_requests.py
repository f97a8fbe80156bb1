"""Requests, as a page."""

import trio
from trio.testing import MockClock

from tests.trio_kafka_admin.kit import DASH, Element, Ui, admin_ui, read_html, table_of
from trio_kafka.introspect.snapshots import HOPS
from trio_kafka.protocol.messages.k01_fetch import FetchPartition, FetchRequest, FetchTopic
from trio_kafka.protocol.messages.k18_api_versions import ApiVersionsRequest
from trio_kafka.protocol.messages.k10001_describe_tree import DescribeTreeRequest
from trio_kafka_admin.pages.requests import bar


async def fetch(ui: Ui, topic: object) -> None:
    """One that waits for a record for half a minute."""
    expected = FetchTopic("orders", topic, [FetchPartition(partition=0, fetch_offset=0)])  # type: ignore[arg-type]
    async with ui.served.connect() as client:
        await client.ask(FetchRequest(max_wait_ms=30_000, min_bytes=1, topics=[expected]), 12)


async def test_request_in_flight_is_shown_with_its_stage_and_wait_reason(
    autojump_clock: MockClock,
) -> None:
    async with admin_ui() as ui, trio.open_nursery() as nursery:
        topic = await ui.served.create_topic("orders")
        nursery.start_soon(fetch, ui, topic)
        await trio.sleep(10)
        [row] = table_of(await ui.page("/admin/requests?api=fetch"), "requests-in-flight")
        twin = await ui.json("/admin/api/requests?api=1")

        assert (row["API"], row["stage"], row["waits for"]) == (
            "Fetch",
            "parked",
            "0 of 1 bytes from orders-0",
        )
        assert twin["which"] == "in-flight"
        assert [request["stage"] for request in twin["requests"]] == ["parked"]
        nursery.cancel_scope.cancel()


async def test_latest_and_slowest_requests_are_shown_with_their_hops(
    autojump_clock: MockClock,
) -> None:
    async with admin_ui() as ui:
        await ui.served.ask(ApiVersionsRequest("soft", "1.0"))
        for which in ("latest", "slowest"):
            page = await ui.page(f"/admin/requests?which={which}&api=ApiVersions")
            [row] = table_of(page, f"requests-{which}")
            assert (row["API"], row["listener"], row["error"]) == ("ApiVersions", "PLAINTEXT", DASH)
            assert [link.text for link in page.all("a") if "aria-current" in link.attributes] == [
                "Requests",
                which,
            ]
            assert len(page.all("svg", class_="hops")) == 1


async def test_requests_page_can_be_filtered_by_client_id(autojump_clock: MockClock) -> None:
    async with admin_ui() as ui:
        await ui.served.ask(ApiVersionsRequest("soft", "1.0"))
        client = "nobody%20%26%20co"
        page = await ui.page(f"/admin/requests?which=latest&client={client}")

        assert page.find("div", id="live").text == "No request has been served yet."
        assert page.find("input", name="client").attributes["value"] == "nobody & co"
        assert page.find("input", name="which").attributes["value"] == "latest"


async def test_requests_page_mentions_requests_above_its_limit(autojump_clock: MockClock) -> None:
    async with admin_ui() as ui:
        for _ in range(3):
            await ui.served.ask(ApiVersionsRequest("soft", "1.0"))
        page = await ui.page("/admin/requests?which=latest&limit=2")

        assert len(table_of(page, "requests-latest")) == 2
        assert page.find("div", id="live").all("p")[-1].text.startswith("There are more")


def drawn(**times: int) -> Element:
    return read_html(bar({f"{hop}_us": times.get(hop, 0) for hop in HOPS})).find("svg")


def test_request_bar_has_one_part_per_hop_with_the_width_of_its_share() -> None:
    result = drawn(queue=1000, local=3000, send=-1)

    parts = [
        (rect.attributes["class"], rect.attributes["x"], rect.attributes["width"])
        for rect in result.all("rect")
    ]
    assert parts == [("queue", "0.0", "40.0"), ("local", "40.0", "120.0")]
    assert result.find("title").text == "queue 1.000 ms, local 3.000 ms"


def test_a_request_that_took_no_time_has_an_empty_bar() -> None:
    assert drawn().all("rect") == []


async def test_requests_page_shows_no_request_of_its_own(autojump_clock: MockClock) -> None:
    async with admin_ui() as ui:
        page = await ui.page("/admin/requests?api=DescribeRequests")

        assert page.find("div", id="live").text == "No request is in flight."


async def test_request_error_is_shown_by_its_name(autojump_clock: MockClock) -> None:
    async with admin_ui() as ui:
        await ui.served.ask(DescribeTreeRequest("nowhere"), 0)
        page = await ui.page("/admin/requests?which=latest&api=DescribeTree")

        assert table_of(page, "requests-latest")[0]["error"] == "RESOURCE_NOT_FOUND"
