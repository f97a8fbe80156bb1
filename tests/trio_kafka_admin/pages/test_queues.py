"""Queues, as a page."""

from trio.testing import MockClock

from tests.trio_kafka_admin.kit import DASH, admin_ui, read_html, table_of
from trio_kafka.introspect.snapshots import QueueLoad
from trio_kafka_admin.page import Place
from trio_kafka_admin.pages.queues import PAGE, fill_of


def queue(waiting: int, bound: int | None, taken: int | None = None) -> QueueLoad:
    return QueueLoad(
        path="p",
        kind="channel",
        waiting=waiting,
        taken=taken,
        bound=bound,
        most=9,
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
        found = await ui.json("/admin/api/queues")
        kinds = {"channel", "limiter", "purgatory"}
        walked = [node.path for _, node in ui.served.broker.node.walk() if node.kind in kinds]

        assert sorted(one["node"] for one in found["queues"]) == sorted(walked)
        assert found["total"] == len(walked)


async def test_fullest_queue_is_first_and_links_to_its_tree_node(autojump_clock: MockClock) -> None:
    async with admin_ui() as ui:
        node = ui.served.broker.node.add("strange & new", "part")
        node.add("full", "channel", lambda: {"depth": 9, "bound": 10, "high_water": 10})
        node.add("half", "limiter", lambda: {"waiting": 0, "borrowed": 5, "tokens": 10})
        node.add("endless", "channel", lambda: {"depth": 1000, "bound": None, "oldest_s": 1.5})
        page = await ui.page("/admin/queues")

        rows = table_of(page, "queues")
        assert [one["what waits"] for one in rows][:2] == [
            "strange & new/full",
            "strange & new/half",
        ]
        assert (rows[0]["now"], rows[0]["bound"], rows[0]["full"]) == ("9", "10", "90 %")
        assert rows[1]["full"] == "50 %"
        meter = page.all("meter")[0]
        assert (meter.attributes["value"], meter.attributes["max"]) == ("90", "100")
        [endless] = [one for one in rows if one["what waits"] == "strange & new/endless"]
        assert (endless["bound"], endless["full"], endless["oldest s"]) == (DASH, DASH, "1.500")
        target = page.one("table").all("a")[0].attributes["href"]
        assert target is not None
        assert (await ui.page(target)).one("div", id="tree").all("a")[0].text == "full"


def test_queues_page_counts_the_queues_above_its_limit() -> None:
    data = {"seconds": None, "total": 12, "queues": []}
    page = read_html("".join(PAGE.show(data, Place("/admin"))))

    assert page.all("p")[-1].text == "12 more, no fuller than these: use ?limit="
