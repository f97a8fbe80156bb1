"""Connections, as a page."""

import trio
from trio.testing import MockClock

from tests.apis.kit import fetch_request
from tests.trio_kafka_admin.kit import admin_ui, read_html, table_of
from trio_kafka.introspect.facts.connections import ConnectionFacts
from trio_kafka.protocol.messages.k18_api_versions import ApiVersionsRequest
from trio_kafka.testing.scripted_client import newest
from trio_kafka_admin.page import Place
from trio_kafka_admin.pages.connections import PAGE


async def test_connections_page_shows_each_client_with_software_requests_and_listener(
    autojump_clock: MockClock,
) -> None:
    async with admin_ui() as ui, ui.served.connect() as other:
        await ui.served.ask(ApiVersionsRequest("soft", "1.0"))
        await other.ask(ApiVersionsRequest("other", "2.0"), 3)
        await other.ask(ApiVersionsRequest("other", "2.0"), 3)
        rows = table_of(await ui.page("/admin/connections"), "connections")
        twin = await ui.json("/admin/api/connections")

    assert [row["software"] for row in rows] == ["soft 1.0", "other 2.0"]
    assert [row["requests"] for row in rows] == ["1", "2"]
    assert {row["listener"] for row in twin["connections"]} == {"PLAINTEXT"}
    assert {row["state"] for row in rows} == {"\u25cbwaits for requests"}
    assert {row["plane"] for row in twin["connections"]} == {"data"}
    assert twin["total"] == 2


async def test_connections_page_counts_bytes_of_each_direction_and_opens_the_connection(
    autojump_clock: MockClock,
) -> None:
    async with admin_ui() as ui, ui.served.connect() as client:
        client.client_id = "talker"
        await client.ask(ApiVersionsRequest("soft", "1.0"), 3)
        [row] = (await ui.json("/admin/api/connections?of=talker"))["connections"]
        page = await ui.page("/admin/connections?of=talker")
        opened = await ui.json(
            page.find("tbody").all("a")[0].attributes["href"].replace("/admin/", "/admin/api/")
        )

    assert 0 < row["received_bytes"] < 100 < row["sent_bytes"]
    [detail] = opened["client"]["connections"]
    assert (detail["id"], detail["sent_bytes"]) == (row["id"], row["sent_bytes"])


async def test_connection_whose_request_waits_says_what_for_with_a_link(
    autojump_clock: MockClock,
) -> None:
    async with admin_ui() as ui, trio.open_nursery() as nursery, ui.served.connect() as client:
        client.client_id = "patient"
        topic = await ui.served.create_topic("rare")
        fetch = fetch_request(topic, 0, max_wait_ms=30_000, min_bytes=100_000)
        nursery.start_soon(client.ask, fetch, newest(type(fetch)))
        await trio.sleep(1)
        page = await ui.page("/admin/connections?of=patient")
        [row] = (await ui.json("/admin/api/connections?of=patient"))["connections"]
        nursery.cancel_scope.cancel()

    [wait] = row["waits"]
    assert (wait["cause"], wait["on"]["kind"], row["in_flight"]) == ("bytes", "request", 1)
    state = table_of(page, "connections")[0]["state"]
    assert "the answer to its request, which waits for 0 of 100,000 bytes" in state
    assert page.find("tbody").all("a")[-1].attributes["href"].startswith("/admin/request?")


async def test_connections_page_can_be_filtered_by_client_software_or_listener(
    autojump_clock: MockClock,
) -> None:
    async with admin_ui() as ui, ui.served.connect() as other:
        await ui.served.ask(ApiVersionsRequest("first", "1.0"))
        await other.ask(ApiVersionsRequest("second", "2.0"), 3)

        for search, count in (("SECOND", 1), ("nobody", 0), ("none", 0), ("plaintext", 2)):
            rows = (await ui.json(f"/admin/api/connections?of={search}"))["connections"]
            assert len(rows) == count
        page = await ui.page("/admin/connections?of=nobody%22%3E")
        assert page.find("div", id="live").text == "No client is connected."
        assert page.find("input", name="of").attributes["value"] == 'nobody">'


async def test_connections_page_counts_the_connections_above_its_limit(
    autojump_clock: MockClock,
) -> None:
    async with admin_ui() as ui, ui.served.connect():
        page = await ui.page("/admin/connections?limit=1")

        assert len(table_of(page, "connections")) == 1
        assert page.find("div", id="live").all("p")[0].text.startswith("1 more")


async def test_connections_page_shows_http_connections(autojump_clock: MockClock) -> None:
    async with admin_ui() as ui:
        plane = ui.served.broker.node.add("plane http", "plane")
        listener = plane.add("http://127.0.0.1:1", "listener")
        figures = {"requests": 3, "age_s": 1.0, "received": 10, "sent": 20}
        listener.add("127.0.0.1:5", "connection", lambda: figures)
        rows = (await ui.json("/admin/api/connections?of=http"))["connections"]
        page = await ui.page("/admin/connections")

    assert [(row["plane"], row["peer"], row["requests"]) for row in rows] == [
        ("http", "127.0.0.1:5", 3)
    ]
    assert (rows[0]["client_id"], rows[0]["age_s"], rows[0]["sent_bytes"]) == ("", 1.0, 20)
    assert [row["plane"] for row in table_of(page, "connections")] == ["data", "http"]


def test_connections_with_and_without_a_request_have_different_states() -> None:
    rows = [
        dict.fromkeys(ConnectionFacts.__annotations__)
        | {"id": f"1-{number}", "peer": f"peer-{number}", "waits": [], "in_flight": number}
        for number in range(2)
    ]
    data = {"total": 2, "truncated": False, "connections": rows}

    page = read_html("".join(PAGE.show(data, Place("/admin"))))

    assert [row["state"] for row in table_of(page, "connections")] == [
        "\u25cbwaits for requests",
        "\u25cfa request is in flight",
    ]
