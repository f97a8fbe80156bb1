"""Groups, as a page: the list, and one group down to its partitions."""

import trio
from trio.testing import MockClock

from tests.apis.authorizers import allow_only
from tests.apis.kit import write
from tests.apis.test_k09_offset_fetch import commit
from tests.trio_kafka_admin.group_kit import HOSTILE, heartbeat, lagging_groups, live_part
from tests.trio_kafka_admin.kit import DASH, admin_ui, table_of
from trio_kafka.plugin_host.group_access import read_groups_as
from trio_kafka.security.principal import NOBODY


async def test_list_shows_the_most_troubled_group_first_with_its_lag(
    autojump_clock: MockClock,
) -> None:
    async with admin_ui() as ui:
        await lagging_groups(ui.served)

        rows = table_of(await ui.page("/admin/groups"), "groups")

        assert [row["group"] for row in rows] == ["b", "a", "c"]
        assert [row["lag"] for row in rows] == ["5", "2", "0"]
        assert {row["state"] for row in rows} == {"Empty"}
        assert rows[0]["trend /s"] == DASH  # before the second sample


async def test_list_shows_trend_chart_and_time_to_catch_up_after_a_second_look(
    autojump_clock: MockClock,
) -> None:
    async with admin_ui() as ui:
        await lagging_groups(ui.served)
        await ui.page("/admin/groups")
        await trio.sleep(10)
        await write(ui.served, "orders", *[b"x"] * 20)
        await commit(ui.served, "a", "orders", 0, 25)
        page = await ui.page("/admin/groups")
        twin = await ui.json("/admin/api/groups")

        rows = {row["group"]: row for row in table_of(page, "groups")}
        assert (rows["b"]["lag"], rows["b"]["trend /s"]) == ("25", "+2.0")
        assert rows["b"]["caught up in"] == DASH
        assert (rows["a"]["lag"], rows["a"]["trend /s"]) == ("1", "-0.1")
        assert rows["a"]["caught up in"] == "10 s"
        lines = [svg.attributes["aria-label"] for svg in live_part(page).all("svg")]
        assert "lag over 0.2 minutes: now 25, lowest 5, highest 25" in lines
        assert twin["groups"][0]["history"] == [[10.0, 5], [0.0, 25]]


async def test_list_is_paged_before_facts_are_computed(autojump_clock: MockClock) -> None:
    async with admin_ui() as ui:
        await lagging_groups(ui.served)

        page = await ui.page("/admin/groups?limit=1")
        second = await ui.json("/admin/api/groups?limit=1&first=1")
        named = await ui.json("/admin/api/groups?of=C")

        assert [row["group"] for row in table_of(page, "groups")] == ["b"]
        more = live_part(page).find("p", class_="more").find("a")
        assert more.text == "2 more, with less trouble"
        assert more.attributes["href"] == "/admin/groups?first=1"
        assert [row["group_id"] for row in second["groups"]] == ["a"]
        assert (second["total"], second["first"]) == (3, 1)
        assert [row["group_id"] for row in named["groups"]] == ["c"]


async def test_one_group_shows_members_partitions_rebalances_and_joins(
    autojump_clock: MockClock,
) -> None:
    async with admin_ui() as ui:
        await lagging_groups(ui.served)
        await heartbeat(ui.served, "b", "m" * 22, "orders")
        await trio.sleep(5)

        page = await ui.page("/admin/groups?name=b")

        (member,) = table_of(page, "members")
        assert member["assigned"] == "orders 0"
        assert (member["heard"], member["removed in"], member["owes"]) == ("5.0 s", "40 s", DASH)
        (partition,) = table_of(page, "partitions")
        assert (partition["topic"], partition["offset"], partition["end"]) == ("orders", "1", "6")
        assert (partition["lag"], partition["member"]) == ("5", "m" * 22)
        (rebalance,) = table_of(page, "rebalances")
        assert rebalance["cause"] == f"new member {'m' * 22}"
        (client,) = table_of(page, "membership")
        assert (client["joins"], client["leaves"]) == ("1", "0")
        assert client["latest"] == "joined 5.0 s ago"
        assert [fact.text for fact in live_part(page).find("dl").all("dd")][:2] == [
            "consumer",
            "Stable",
        ]


async def test_member_that_owes_partitions_is_named_with_the_time_that_it_has_left(
    autojump_clock: MockClock,
) -> None:
    async with admin_ui() as ui:
        await ui.served.create_topic("orders", 4)
        await ui.served.serve_groups("g")
        first = await heartbeat(ui.served, "g", "a" * 22, "orders")
        await trio.sleep(2)
        await heartbeat(ui.served, "g", "b" * 22, "orders")
        await heartbeat(ui.served, "g", "a" * 22, epoch=first.member_epoch)
        await trio.sleep(20)

        rows = table_of(await ui.page("/admin/groups?name=g"), "members")
        (group,) = table_of(await ui.page("/admin/groups"), "groups")

        assert [row["owes"] for row in rows] == ["has not given up 2 partitions for 20 s", DASH]
        assert rows[0]["removed in"] == "25 s"  # its session ends before its rebalance timeout
        assert (group["state"], group["late"], group["joins"]) == ("Reconciling", "1", "2")


async def test_page_shows_what_its_json_says_and_what_the_broker_knows(
    autojump_clock: MockClock,
) -> None:
    async with admin_ui() as ui:
        await lagging_groups(ui.served)
        await heartbeat(ui.served, "b", "m" * 22, "orders")

        twin = (await ui.json("/admin/api/groups?name=b"))["group"]
        rows = table_of(await ui.page("/admin/groups?name=b"), "partitions")
        (facts,) = await read_groups_as(NOBODY, ui.served.broker.parts, only="b")

        (partition,) = facts.partitions
        assert twin["lag"] == facts.lag == partition.lag == int(rows[0]["lag"])
        assert twin["partitions"][0]["offset"] == partition.offset == int(rows[0]["offset"])
        assert twin["partitions"][0]["end"] == partition.end == int(rows[0]["end"])
        assert twin["members"][0]["left_s"] == facts.members[0].left_s
        assert twin["members"][0]["assigned"] == {"orders": [0]}
        assert twin["epoch"] == facts.epoch


async def test_partitions_of_a_group_are_cut_at_the_limit_the_greatest_lag_first(
    autojump_clock: MockClock,
) -> None:
    async with admin_ui() as ui:
        await lagging_groups(ui.served)
        await lagging_groups(ui.served, "returns")
        await commit(ui.served, "b", "returns", 0, 0)

        page = await ui.page("/admin/groups?name=b&limit=1")

        assert [row["topic"] for row in table_of(page, "partitions")] == ["returns"]
        assert live_part(page).find("p", class_="more").text.startswith("1 more")


async def test_unknown_group_is_not_found(autojump_clock: MockClock) -> None:
    async with admin_ui() as ui:
        await ui.json("/admin/api/groups?name=none", status=404)
        await ui.page("/admin/groups?name=none", status=404)


async def test_groups_that_the_viewer_may_not_see_are_left_out(autojump_clock: MockClock) -> None:
    async with admin_ui() as ui:
        await lagging_groups(ui.served)
        ui.served.broker.parts.authorizer = allow_only("a", "orders")

        rows = (await ui.json("/admin/api/groups"))["groups"]
        await ui.json("/admin/api/groups?name=b", status=403)

        assert [row["group_id"] for row in rows] == ["a"]


async def test_hostile_name_of_a_group_is_shown_as_text_and_can_be_followed(
    autojump_clock: MockClock,
) -> None:
    async with admin_ui() as ui:
        await ui.served.create_topic("orders")
        await write(ui.served, "orders", b"x")
        for name in (HOSTILE, "x" * 30_000):
            await ui.served.serve_groups(name)
            await commit(ui.served, name, "orders", 0, 0)

        page = await ui.page("/admin/groups")
        links = [link for link in live_part(page).all("a") if "name=" in str(link.attributes)]
        group_page = await ui.page(str(links[0].attributes["href"]))

        assert page.all("script", src="/admin/static/app.js")
        assert not live_part(page).all("script")
        assert len(links) == 1  # the long one is no address
        assert "<script>" in group_page.all("h2")[0].text
        assert table_of(group_page, "partitions")[0]["lag"] == "1"


async def test_groups_without_any_say_so(autojump_clock: MockClock) -> None:
    async with admin_ui() as ui:
        page = await ui.page("/admin/groups")

        assert live_part(page).text == "This broker coordinates no group."
