"""The page of one request."""

from typing import Any

import pytest
import trio
from trio.testing import MockClock

from tests.apis.classic import join, join_request, sync
from tests.apis.kit import batch, fetch_request, produce_request
from tests.trio_kafka_admin.kit import Element, Ui, admin_ui, table_of
from trio_kafka.controls.faults import FaultRule, Faults
from trio_kafka.peers.session import Request
from trio_kafka.protocol.messages.k18_api_versions import ApiVersionsRequest
from trio_kafka.protocol.messages.k44_incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from trio_kafka.testing.simulation import fault_on

SECRET = "swordfish"


async def opened(
    ui: Ui, nursery: trio.Nursery, request: Request[Any], version: int
) -> tuple[Element, Any]:
    """Have a client ask, and follow the link of its request in the list after 5 s."""

    async def client() -> None:
        async with ui.served.connect() as connection:
            await connection.ask(request, version)

    nursery.start_soon(client)
    await trio.sleep(5)
    name = type(request).__name__.removesuffix("Request")
    page = await ui.page(f"/admin/requests?api={name}")
    (link,) = [link for link in page.find("main").all("a") if link.text == name]
    target = link.attributes["href"] or ""
    return await ui.page(target), await ui.json(target.replace("/admin/", "/admin/api/", 1))


async def test_request_of_a_group_shows_the_chain_down_to_the_silent_member(
    autojump_clock: MockClock,
) -> None:
    settings = {"group.initial.rebalance.delay.ms": "0"}
    async with admin_ui(more=settings) as ui, trio.open_nursery() as nursery:
        await ui.served.serve_groups("settle")
        silent = await join(ui.served, group="settle", session_timeout_ms=30_000)
        await sync(ui.served, silent, {silent.member_id: b""})
        page, twin = await opened(ui, nursery, join_request(3, group="settle"), 3)
        nursery.cancel_scope.cancel()

    group, member = page.find("ol", class_="why").all("li")
    assert group.text.startswith("group settle (member)1 of 2 members of group settle have joined")
    assert group.find("a").attributes["href"] == "/admin/groups?name=settle"
    assert group.find("meter").attributes["value"] == "1"
    assert f"member {silent.member_id} has not rejoined for 5.0 s" in member.text
    assert "then it is removed from the group" in member.text
    why = twin["request"]["why"]
    assert [wait["on"]["kind"] for wait in why] == ["group", "member"]
    assert (why[0]["has"], why[0]["needs"], why[0]["unit"]) == (1, 2, "members")
    fields = {row["field"]: row["value"] for row in table_of(page, "field-table")}
    assert fields["groupId"] == "settle"
    assert fields["protocols[0].metadataSizeInBytes"] == "13"


async def test_waiting_request_shows_its_hops_and_its_client(autojump_clock: MockClock) -> None:
    async with admin_ui() as ui, trio.open_nursery() as nursery:
        topic = await ui.served.create_topic("orders")
        page, twin = await opened(ui, nursery, fetch_request(topic, 0, max_wait_ms=30_000), 13)
        nursery.cancel_scope.cancel()

    assert page.find("h2", id="request").text == (
        "Fetch v13 of scripted: parked, in flight for 5.0 s"
    )
    request = twin["request"]
    assert list(request["hops_s"]) == ["queue", "local", "remote"]
    rows = table_of(page, "hops-table")
    assert [row["hop"] for row in rows] == ["queue", "local", "remote"]
    assert rows[-1]["%"] == "100.0"
    svg = page.find("svg", class_="hops")
    assert [part.attributes["class"] for part in svg.all("rect")] == ["queue", "local", "remote"]
    client = page.find("a", href="/admin/clients?name=scripted")
    assert client.text == "scripted"
    fields = {row["field"]: row["value"] for row in table_of(page, "field-table")}
    assert fields["topics[0].partitions[0].fetchOffset"] == "0"


async def test_records_of_a_request_are_shown_by_their_size_only(
    autojump_clock: MockClock,
) -> None:
    async with admin_ui() as ui, trio.open_nursery() as nursery:
        topic = await ui.served.create_topic("t", configs={"flush.messages": "1"})
        await trio.sleep(1)
        ui.served.broker.world.universe.fault = fault_on("sync", 20.0, "/data/t-0")
        records = batch(SECRET.encode())
        page, twin = await opened(ui, nursery, produce_request(topic, (0, records)), 13)
        ui.served.broker.world.universe.fault = fault_on("none", None)
        nursery.cancel_scope.cancel()

    fields = {row["field"]: row["value"] for row in twin["request"]["fields"]}
    assert fields["topicData[0].partitionData[0].recordsSizeInBytes"] == str(len(records))
    assert SECRET not in page.text
    assert [item.find("a").text for item in page.find("ol", class_="why").all("li")] == [
        "t-0",
        "/data",
    ]


async def test_value_of_a_secret_setting_is_hidden(autojump_clock: MockClock) -> None:
    change = AlterableConfig("ssl.keystore.password", 0, SECRET)
    request = IncrementalAlterConfigsRequest([AlterConfigsResource(4, "1", [change])])
    async with admin_ui() as ui, trio.open_nursery() as nursery:
        Faults(ui.served.broker).add(FaultRule(api="IncrementalAlterConfigs", delay_s=60))
        page, _ = await opened(ui, nursery, request, 1)
        nursery.cancel_scope.cancel()

    values = [row["value"] for row in table_of(page, "field-table")]
    assert "[hidden]" in values
    assert SECRET not in page.text


async def test_request_that_has_ended_shows_its_hops(autojump_clock: MockClock) -> None:
    async with admin_ui() as ui:
        await ui.served.ask(ApiVersionsRequest("soft", "1.0"))
        (ended,) = (await ui.json("/admin/api/requests?which=latest&api=ApiVersions"))["requests"]
        connection = f"{ended['local']}-{ended['peer']}-{ended['number']}"
        target = f"request?connection={connection}&correlation={ended['correlation_id']}"
        page = await ui.page(f"/admin/{target}")
        twin = await ui.json(f"/admin/api/{target}")

    assert "ApiVersions v5 of scripted has ended" in page.find("h2", id="request").text
    assert twin["request"]["stage"] == "ended"
    assert sum(twin["request"]["hops_s"].values()) == pytest.approx(
        ended["total_us"] / 1e6, abs=1e-5
    )


@pytest.mark.parametrize("query", ["", "?connection=x&correlation=1", "?connection=a-b-0"])
async def test_unknown_request_is_said_to_be_over(autojump_clock: MockClock, query: str) -> None:
    async with admin_ui() as ui:
        page = await ui.page(f"/admin/request{query}")

    assert page.find("div", id="live").text.startswith("No such request is in flight")


async def test_correlation_id_out_of_bounds_is_rejected(autojump_clock: MockClock) -> None:
    async with admin_ui() as ui:
        await ui.json("/admin/api/request?connection=x&correlation=99999999999", status=400)


async def test_hostile_names_are_escaped_and_cut(autojump_clock: MockClock) -> None:
    hostile = "<script>alert(1)</script>\u202e" + "x" * 30_000
    settings = {"group.initial.rebalance.delay.ms": "9000"}
    async with admin_ui(more=settings) as ui, trio.open_nursery() as nursery:
        await ui.served.serve_groups(hostile)
        page, twin = await opened(ui, nursery, join_request(3, group=hostile), 3)
        nursery.cancel_scope.cancel()

    assert page.all("script")[1:] == page.find("head").all("script")[1:]
    (wait,) = twin["request"]["why"]
    assert len(wait["words"]) <= 400
    assert len(wait["on"]["name"]) <= 400
    assert page.find("ol", class_="why").find("a").text.startswith("<script>alert(1)")
