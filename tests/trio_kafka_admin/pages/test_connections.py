"""Connections, as a page."""

from trio.testing import MockClock

from tests.trio_kafka_admin.kit import admin_ui, table_of
from trio_kafka.introspect.tree import Figures
from trio_kafka.protocol.messages.k18_api_versions import ApiVersionsRequest


async def test_connections_page_shows_each_client_with_software_requests_and_listener(
    autojump_clock: MockClock,
) -> None:
    async with admin_ui() as ui, ui.served.connect() as other:
        await ui.served.ask(ApiVersionsRequest("soft", "1.0"))
        await other.ask(ApiVersionsRequest("other", "2.0"), 3)
        await other.ask(ApiVersionsRequest("other", "2.0"), 3)
        rows = table_of(await ui.page("/admin/connections"), "connections")
        twin = await ui.json("/admin/api/connections")

        assert [one["software"] for one in rows] == ["soft 1.0", "other 2.0"]
        assert [one["requests"] for one in rows] == ["1", "2"]
        assert {one["plane"] for one in rows} == {"data"}
        assert {one["listener"] for one in rows} == {f"PLAINTEXT://{ui.served.broker.endpoint}"}
        assert twin["total"] == 2
        assert "buffer" in twin["connections"][0]["others"]


async def test_connections_page_can_be_filtered_by_client_software_or_listener(
    autojump_clock: MockClock,
) -> None:
    async with admin_ui() as ui, ui.served.connect() as other:
        await ui.served.ask(ApiVersionsRequest("first", "1.0"))
        await other.ask(ApiVersionsRequest("second", "2.0"), 3)

        listener = ui.served.broker.node.add("listener", "listener")
        listener.add("127.0.0.1:5", "connection")  # of which neither client nor software is known
        for wanted, found in (
            ("SECOND", ["second 2.0"]),
            ("nobody", []),
            ("none", []),
            ("plaintext", [1, 2]),
        ):
            rows = (await ui.json(f"/admin/api/connections?of={wanted}"))["connections"]
            assert len(rows) == len(found)
        page = await ui.page("/admin/connections?of=nobody%22%3E")
        assert page.one("div", id="live").text == "No client is connected."
        assert page.one("input", name="of").attributes["value"] == 'nobody">'


async def test_connections_page_counts_the_connections_above_its_limit(
    autojump_clock: MockClock,
) -> None:
    async with admin_ui() as ui, ui.served.connect():
        page = await ui.page("/admin/connections?limit=1")

        assert len(table_of(page, "connections")) == 1
        assert page.one("div", id="live").all("p")[0].text.startswith("1 more")


async def test_connections_page_shows_http_connections(autojump_clock: MockClock) -> None:
    async with admin_ui() as ui:
        plane = ui.served.broker.node.add("plane http", "plane")
        listener = plane.add("http://127.0.0.1:1", "listener")
        listener.add("127.0.0.1:5", "connection", lambda: {"requests": 3, "age_s": 1.0})
        rows = (await ui.json("/admin/api/connections?of=http"))["connections"]

        assert [(one["plane"], one["peer"], one["requests"]) for one in rows] == [
            ("http", "127.0.0.1:5", 3)
        ]
        assert (rows[0]["client_id"], rows[0]["others"]) == (None, {"age_s": 1.0})


async def test_connections_page_reads_only_the_connections_that_it_shows(
    autojump_clock: MockClock,
) -> None:
    reads = []

    def figures() -> Figures:
        reads.append(1)
        return {"client_id": f"client {len(reads)}"}

    async with admin_ui() as ui:
        listener = ui.served.broker.node.add("listener", "listener")
        for number in range(1000):
            listener.add(f"{number}", "connection", figures)
        twin = await ui.json("/admin/api/connections?limit=10")
        for_a_page = len(reads)
        found = await ui.json("/admin/api/connections?limit=10&of=client%20999")

    assert len(twin["connections"]) == 10
    assert (twin["total"], twin["truncated"]) == (1001, False)  # the kit has one of its own
    assert for_a_page < 150
    assert len(reads) == for_a_page + 1000
    assert (found["total"], found["truncated"]) == (1, False)
