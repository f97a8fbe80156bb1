"""Queues, as a page."""

from trio.testing import MockClock

from tests.trio_kafka_admin.kit import DASH, admin_ui, read_html, table_of
from trio_kafka.introspect.snapshots import QueueLoad
from trio_kafka_admin.page import Place
from trio_kafka_admin.pages.queues import PAGE, fill_of, has_waited


def queue(
    waiting: int, bound: int | None, taken: int | None = None, most: int | None = 9
) -> QueueLoad:
    return QueueLoad(
        path="p",
        kind="channel",
        waiting=waiting,
        taken=taken,
        bound=bound,
        most=most,
        oldest_s=None,
        done_per_s=None,
    )


def test_fill_is_the_share_of_queued_items_or_of_taken_tokens() -> None:
    assert fill_of(queue(5, 20)) == 0.25
    assert fill_of(queue(5, 20, taken=10)) == 0.5
    assert fill_of(queue(5, None)) == 0.0
    assert fill_of(queue(5, 0)) == 0.0


async def test_queues_page_lists_every_channel_limiter_and_purgatory(
    autojump_clock: MockClock,
) -> None:
    async with admin_ui() as ui:
        result = await ui.json("/admin/api/queues?own=1")
        kinds = {"channel", "limiter", "purgatory"}
        walked = [node.path for _, node in ui.served.broker.node.walk() if node.kind in kinds]

        assert sorted(row["node"] for row in result["queues"]) == sorted(walked)
        assert result["total"] == len(walked)


async def test_fullest_queue_is_first_and_links_to_its_tree_node(autojump_clock: MockClock) -> None:
    async with admin_ui() as ui:
        node = ui.served.broker.node.add("strange & new", "part")
        node.add("full", "channel", lambda: {"depth": 9, "bound": 10, "high_water": 10})
        node.add("half", "limiter", lambda: {"waiting": 0, "borrowed": 5, "tokens": 10})
        node.add("endless", "channel", lambda: {"depth": 1000, "bound": None, "oldest_s": 1.5})
        page = await ui.page("/admin/queues")

        rows = table_of(page, "queues")
        assert [row["what waits"] for row in rows][:2] == [
            "strange & new/full",
            "strange & new/half",
        ]
        assert (rows[0]["now"], rows[0]["bound"], rows[0]["full"]) == ("9", "10", "90 %")
        assert rows[1]["full"] == "50 %"
        bar = page.all("rect", class_="bar-part warn")[0]
        assert (bar.attributes["width"], page.all("rect")[0].attributes["width"]) == ("90.0", "100")
        [endless] = [row for row in rows if row["what waits"] == "strange & new/endless"]
        assert (endless["bound"], endless["full"], endless["oldest s"]) == (DASH, DASH, "1.500")
        target = page.find("table", id="queues").all("a")[0].attributes["href"]
        assert target is not None
        assert (await ui.page(target)).find("div", id="tree").all("a")[0].text == "full"


def test_queues_page_counts_the_queues_above_its_limit() -> None:
    data = {"seconds": None, "total": 12, "queues": []}
    page = read_html("".join(PAGE.show(data, Place("/admin"))))

    assert page.all("p")[-1].text == "12 more, no fuller than these: use ?limit="


def test_queue_has_waited_if_it_waits_now_ever_waited_or_has_tokens_in_use() -> None:
    assert has_waited(queue(1, None, most=None))
    assert has_waited(queue(0, None, most=1))
    assert has_waited(queue(0, 8, taken=1, most=None))
    assert not has_waited(queue(0, 8, taken=0, most=None))
    assert not has_waited(queue(0, 8, most=0))


async def test_queues_that_never_waited_are_folded_below_the_others(
    autojump_clock: MockClock,
) -> None:
    async with admin_ui() as ui:
        node = ui.served.broker.node.add("strange", "part")
        node.add("idle", "channel", lambda: {"depth": 0, "bound": 10, "high_water": 0})
        node.add("was full", "channel", lambda: {"depth": 0, "bound": 10, "high_water": 7})
        page = await ui.page("/admin/queues")

        used = [row["what waits"] for row in table_of(page, "queues")]
        fold = page.find("details", id="idle")
        idle = [row["what waits"] for row in table_of(fold, "idle-queues")]
        assert ("strange/was full" in used, "strange/idle" in idle) == (True, True)
        assert set(used).isdisjoint(idle)
        assert fold.find("summary").text == f"{len(idle)} in which nothing has waited yet"
        assert "open" not in fold.attributes


async def test_queue_of_the_ui_itself_is_left_out_unless_it_is_asked_for(
    autojump_clock: MockClock,
) -> None:
    async with admin_ui() as ui:
        for address, expected in (("queues", 0), ("queues?own=1", 1)):
            listed = (await ui.json(f"/admin/api/{address}"))["queues"]
            assert sum(row["path"].endswith("/admin-requests") for row in listed) == expected
