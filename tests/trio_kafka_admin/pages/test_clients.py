"""Clients, as a page: the list, one client, one connection."""

import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from tests.apis.kit import fetch_request
from tests.trio_kafka_admin.group_kit import HOSTILE, heartbeat, live_part
from tests.trio_kafka_admin.kit import DASH, admin_ui, table_of
from trio_kafka.protocol.messages.k18_api_versions import ApiVersionsRequest
from trio_kafka.testing.scripted_client import request_frame


async def test_list_shows_clients_with_software_rates_and_groups(
    autojump_clock: MockClock,
) -> None:
    async with admin_ui() as ui:
        await ui.served.ask(ApiVersionsRequest("soft", "1.0"))
        await ui.served.create_topic("orders")
        await ui.served.serve_groups("g")
        await heartbeat(ui.served, "g", "m" * 22, "orders")
        (first,) = table_of(await ui.page("/admin/clients"), "clients")
        await trio.sleep(10)
        for _ in range(5):
            await ui.served.ask(ApiVersionsRequest("soft", "1.0"))
        (second,) = table_of(await ui.page("/admin/clients"), "clients")
        twin = (await ui.json("/admin/api/clients"))["clients"]

        assert (first["client"], first["software"], first["from"]) == (
            "scripted",
            "soft 1.0",
            "127.0.0.1",
        )
        assert (first["connections"], first["groups"], first["requests/s"]) == ("1", "g", DASH)
        assert second["requests/s"] == "0.5"
        assert twin[0]["requests"] == int(second["requests"])


async def test_one_client_shows_what_it_reads_and_waits_for(autojump_clock: MockClock) -> None:
    async with admin_ui() as ui:
        await ui.served.create_topic("orders")
        await ui.served.serve_groups("g")
        await heartbeat(ui.served, "g", "m" * 22, "orders")
        async with ui.served.connect() as consumer:
            consumer.client_id = "scripted"
            fetch = fetch_request("orders", 0, max_wait_ms=30_000)
            await consumer.send(request_frame(fetch, 12))
            await trio.sleep(2)

            page = await ui.page("/admin/clients?name=scripted")
            twin = (await ui.json("/admin/api/clients?name=scripted"))["client"]

        connections = table_of(page, "connections")
        assert len(connections) == 2
        assert {row["client id"] for row in connections} == {"scripted"}
        uses = {(row["topic"], row["how"]) for row in table_of(page, "uses")}
        assert uses == {("orders", "is assigned in group g"), ("orders", "Fetch in flight")}
        (in_flight,) = table_of(page, "in-flight")
        assert (in_flight["API"], in_flight["age"]) == ("Fetch", "2.0 s")
        assert "bytes from orders-0" in in_flight["waits for"]
        assert "ConsumerGroupHeartbeat" in {row["API"] for row in table_of(page, "recent")}
        assert live_part(page).find("ul").text == "g"
        pauses = table_of(page, "pauses")
        assert [row["lasted"] for row in pauses] == ["2.0 s"]
        assert round(twin["in_flight"][0]["age_s"], 1) == 2.0
        assert twin["groups"] == ["g"]


async def test_one_connection_is_shown_by_its_id(autojump_clock: MockClock) -> None:
    async with admin_ui() as ui, ui.served.connect() as other:
        await ui.served.ask(ApiVersionsRequest("soft", "1.0"))
        other.client_id = "other"
        await other.ask(ApiVersionsRequest("soft", "1.0"), 3)
        detail = (await ui.json("/admin/api/clients?name=other"))["client"]
        key = detail["connections"][0]["id"]

        page = await ui.page(f"/admin/clients?name={key}")

        rows = table_of(page, "connections")
        assert [(row["connection"], row["client id"]) for row in rows] == [(key, "other")]
        assert [row["API"] for row in table_of(page, "recent")] == ["ApiVersions"]


async def test_connections_that_were_closed_are_listed_with_their_reason(
    autojump_clock: MockClock,
) -> None:
    async with admin_ui() as ui:
        async with ui.served.connect() as other:
            other.client_id = "gone"
            await other.ask(ApiVersionsRequest("soft", "1.0"), 3)
            await trio.sleep(3)
        await wait_all_tasks_blocked()

        (row,) = table_of(await ui.page("/admin/clients"), "closed")
        (own,) = table_of(await ui.page("/admin/clients?name=gone"), "closed")

        assert row == own
        assert (row["client"], row["reason"], row["was open"]) == ("gone", "left", "3.0 s")
        assert (row["requests"], row["software"]) == ("1", "soft 1.0")


async def test_list_is_paged_and_can_be_searched(autojump_clock: MockClock) -> None:
    async with admin_ui() as ui, ui.served.connect() as other:
        await ui.served.ask(ApiVersionsRequest("soft", "1.0"))
        other.client_id = "Other"
        await other.ask(ApiVersionsRequest("soft", "1.0"), 3)

        page = await ui.page("/admin/clients?limit=1")
        named = await ui.json("/admin/api/clients?of=other")

        more = live_part(page).find("p", class_="more").find("a")
        assert len(table_of(page, "clients")) == 1
        assert (more.text, more.attributes["href"]) == ("1 more", "/admin/clients?first=1")
        assert [row["client_id"] for row in named["clients"]] == ["Other"]


async def test_unknown_client_is_not_found(autojump_clock: MockClock) -> None:
    async with admin_ui() as ui:
        await ui.json("/admin/api/clients?name=none", status=404)


async def test_hostile_client_id_is_shown_as_text(autojump_clock: MockClock) -> None:
    async with admin_ui() as ui, ui.served.connect() as other:
        for client_id in (HOSTILE, "x" * 30_000):
            other.client_id = client_id
            await other.ask(ApiVersionsRequest("soft", "1.0"), 3)
            page = await ui.page("/admin/clients")
            assert not live_part(page).all("script")
            links = [link for link in live_part(page).all("a") if "name=" in str(link.attributes)]
            client_page = await ui.page(str(links[0].attributes["href"]))
            assert len(table_of(client_page, "connections")) == 1
            await trio.sleep(2)
