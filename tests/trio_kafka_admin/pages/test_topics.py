"""Topics, as a page: the list, and one topic down to its partitions."""

import trio
from trio.testing import MockClock

from tests.apis.authorizers import RuleAuthorizer
from tests.apis.kit import batch, produce, write
from tests.trio_kafka_admin.group_kit import lagging_groups, live_part
from tests.trio_kafka_admin.kit import DASH, Ui, admin_ui, table_of
from trio_kafka.errors import LogDirError
from trio_kafka.security.operations import Operation


async def test_list_shows_sizes_rates_and_readers(autojump_clock: MockClock) -> None:
    async with admin_ui() as ui:
        await lagging_groups(ui.served)
        await ui.page("/admin/topics")
        await trio.sleep(10)
        await write(ui.served, "orders", *[b"x"] * 20)
        rows = table_of(await ui.page("/admin/topics"), "topics")
        twin = (await ui.json("/admin/api/topics"))["topics"]

        assert rows[0]["topic"] == "orders"
        assert (rows[0]["partitions"], rows[0]["led here"], rows[0]["troubled"]) == ("1", "1", "0")
        assert (rows[0]["records"], rows[0]["records in/s"]) == ("26", "2.0")
        assert rows[0]["read by"] == "a, b, c"
        assert twin[0]["records"] == 26
        assert twin[0]["bytes"] == ui.served.broker.replicas.partition("orders", 0).log.size


async def test_troubled_topic_comes_first_and_its_page_names_the_error(
    autojump_clock: MockClock,
) -> None:
    async with admin_ui() as ui:
        await ui.served.create_topic("a")
        await ui.served.create_topic("b", 2)
        ui.served.broker.replicas.partition("b", 1).fail(LogDirError("/data/b-1", "EIO"))

        rows = table_of(await ui.page("/admin/topics"), "topics")
        partitions = table_of(await ui.page("/admin/topics?name=b"), "partitions")

        assert [(row["topic"], row["troubled"]) for row in rows] == [("b", "1"), ("a", "0")]
        assert [row["here"] for row in partitions] == ["leading", "offline"]
        assert "EIO" in partitions[1]["error"]


async def test_list_is_paged_and_can_be_searched(autojump_clock: MockClock) -> None:
    async with admin_ui() as ui:
        for name in ("a", "b", "c"):
            await ui.served.create_topic(name)

        page = await ui.page("/admin/topics?limit=1")
        second = await ui.json("/admin/api/topics?limit=1&first=1")
        named = await ui.json("/admin/api/topics?of=C")

        more = live_part(page).find("p", class_="more").find("a")
        assert [row["topic"] for row in table_of(page, "topics")] == ["a"]
        assert (more.text, more.attributes["href"]) == ("2 more", "/admin/topics?first=1")
        assert [row["name"] for row in second["topics"]] == ["b"]
        assert ([row["name"] for row in named["topics"]], named["total"]) == (["c"], 1)


async def one_topic(ui: Ui) -> None:
    await lagging_groups(ui.served)
    records = batch(b"x", producer_id=7, producer_epoch=1, base_sequence=0)
    assert (await produce(ui.served, "orders", records)).error_code == 0


async def test_one_topic_shows_partitions_readers_producers_and_settings(
    autojump_clock: MockClock,
) -> None:
    async with admin_ui() as ui:
        await one_topic(ui)

        page = await ui.page("/admin/topics?name=orders")
        twin = (await ui.json("/admin/api/topics?name=orders"))["topic"]

        (partition,) = table_of(page, "partitions")
        assert (partition["leader"], partition["here"]) == ("1", "leading")
        assert (partition["start"], partition["end"]) == ("0", "7")
        assert (partition["in sync"], partition["replicas"]) == ("1", "1")
        assert partition["error"] == DASH
        readers = table_of(page, "readers")
        assert [(row["group"], row["lag"]) for row in readers] == [
            ("b", "6"),
            ("a", "3"),
            ("c", "1"),
        ]
        (producer,) = table_of(page, "producers")
        assert (producer["producer id"], producer["last sequence"]) == ("7", "0")
        settings = table_of(page, "settings")
        assert {row["source"] for row in settings} == {"all brokers, dynamic", "default"}
        assert twin["partitions"][0]["end"] == 7
        assert [reader["lag"] for reader in twin["readers"]] == [6, 3, 1]


async def test_rate_of_a_partition_is_shown_from_the_second_look_on(
    autojump_clock: MockClock,
) -> None:
    async with admin_ui() as ui:
        await one_topic(ui)
        (first,) = table_of(await ui.page("/admin/topics?name=orders"), "partitions")
        await trio.sleep(10)
        await write(ui.served, "orders", *[b"x"] * 50)
        (second,) = table_of(await ui.page("/admin/topics?name=orders"), "partitions")

        assert (first["records in/s"], second["records in/s"]) == (DASH, "5.0")


async def test_what_the_viewer_may_not_see_of_a_topic_is_said(autojump_clock: MockClock) -> None:
    async with admin_ui() as ui:
        await one_topic(ui)
        ui.served.broker.parts.authorizer = RuleAuthorizer(
            lambda operation, resource: (
                operation is Operation.DESCRIBE and resource.name == "orders"
            )
        )

        page = await ui.page("/admin/topics?name=orders")
        await ui.json("/admin/api/topics?name=returns", status=403)

        words = live_part(page).text
        assert "You need the permission READ on the topic" in words
        assert "You need the permission DESCRIBE_CONFIGS on the topic" in words
        assert "No group has committed offsets for it." in words


async def test_unknown_topic_is_not_found(autojump_clock: MockClock) -> None:
    async with admin_ui() as ui:
        await ui.json("/admin/api/topics?name=none", status=404)
        await ui.page("/admin/topics?name=%3Cscript%3E", status=404)


async def test_cluster_without_topics_says_so(autojump_clock: MockClock) -> None:
    async with admin_ui() as ui:
        page = await ui.page("/admin/topics")

        assert live_part(page).text == "There are no topics."
