"""The tree, as a page."""

from trio.testing import MockClock

from tests.trio_kafka_admin.kit import DASH, Element, admin_ui, read_html
from trio_kafka_admin.page import Place
from trio_kafka_admin.pages.tree import PAGE


def row(depth: int, path: str, kind: str = "part", /, **figures: object) -> dict[str, object]:
    name = path.rpartition("/")[2]
    return {"depth": depth, "kind": kind, "name": name, "path": path, "figures": figures}


def shown(*rows: object, left_out: object = (), truncated: bool = False) -> Element:
    data = {"path": "", "left_out": left_out, "truncated": truncated, "rows": rows}
    return read_html("".join(PAGE.show(data, Place("/admin"))))


def nesting(element: Element) -> list[object]:
    """Names of nodes, each with a list of those below it."""
    found: list[object] = []
    for one in element.content:
        assert isinstance(one, Element)
        if one.name == "details":
            summary, *rest = one.content
            assert isinstance(summary, Element)
            found.append([summary.one("a").text, *nesting(Element("", {}, rest))])
        else:
            found.append(one.one("a").text)
    return found


def test_tree_page_nests_nodes_in_their_parents() -> None:
    page = shown(
        row(0, "b"),
        row(1, "b/x"),
        row(2, "b/x/1"),
        row(3, "b/x/1/deep"),
        row(1, "b/y"),
        row(1, "b/z"),
        row(2, "b/z/2"),
    )

    assert nesting(page.one("div", id="tree")) == [
        ["b", ["x", ["1", "deep"]], "y", ["z", "2"]],
    ]
    folds = page.all("details")
    assert [one.attributes["id"] for one in folds] == ["b", "b/x", "b/x/1", "b/z"]
    assert all("open" in one.attributes for one in folds)


def test_zero_empty_and_missing_figures_are_shown_as_quiet() -> None:
    figures = {"depth": 3, "zero": 0, "none": None, "off": False, "on": True, "empty": ""}
    page = shown(row(0, "b", ms=1.23456, text="<x>", **figures))

    assert [one.text for one in page.all("span")] == [
        "ms 1.235",
        "text <x>",
        "depth 3",
        "zero 0",
        f"none {DASH}",
        "off no",
        "on yes",
        f"empty {DASH}",
    ]
    quiet = [one.one("i").text for one in page.all("span", class_="quiet")]
    assert quiet == ["zero", "none", "off", "empty"]


async def test_the_whole_tree_of_a_broker_is_shown(autojump_clock: MockClock) -> None:
    async with admin_ui() as ui:
        await ui.served.create_topic("orders")
        page = await ui.page("/admin/tree")
        rows = (await ui.json("/admin/api/tree"))["rows"]

        names = {one.text for one in page.one("div", id="tree").all("a")}
        assert names >= {"broker-1", "scheduler", "orders-0", "request-handlers", "plugins", "loop"}
        walked = [node.name for _, node in ui.served.broker.node.walk()]
        assert [one["name"] for one in rows] == walked
        assert {"connection", "task", "channel", "log"} <= {one["kind"] for one in rows}


async def test_every_node_links_to_itself(autojump_clock: MockClock) -> None:
    async with admin_ui() as ui:
        for _ in range(2):  # what is asked for the first time is in the tree from then on
            rows = (await ui.json("/admin/api/tree"))["rows"]
        page = await ui.page("/admin/tree")
        links = page.one("div", id="tree").all("a")

        for one, link in zip(rows, links, strict=True):
            target = link.attributes["href"]
            assert target is not None
            assert one["name"] == link.text
            below = (await ui.json(target.replace("/admin/", "/admin/api/")))["rows"]
            assert (below[0]["path"], below[0]["kind"]) == (one["path"], one["kind"])


async def test_node_names_that_end_with_a_slash_are_found_by_path(
    autojump_clock: MockClock,
) -> None:
    async with admin_ui() as ui:
        group = ui.served.broker.node.add("shard", "part").add("g/", "group")
        group.add("member/", "member")
        both = ["broker-1/shard/g/", "broker-1/shard/g//member/"]
        for path, found in ((both[0], both), (both[1], both[1:])):
            rows = (await ui.json(f"/admin/api/tree?path={path}"))["rows"]
            assert [one["path"] for one in rows] == found


async def test_page_of_a_node_links_to_its_parent(autojump_clock: MockClock) -> None:
    async with admin_ui() as ui:
        page = await ui.page("/admin/tree?path=broker-1/scheduler&depth=0")

        assert len(page.one("div", id="tree").all("small")) == 1
        [way] = [one for one in page.all("p") if "broker-1/scheduler" in one.text]
        assert way.one("a").attributes["href"] == "/admin/tree"


async def test_too_large_tree_is_shown_without_logs_connections_and_other_numerous_kinds(
    autojump_clock: MockClock,
) -> None:
    async with admin_ui() as ui:
        logs = ui.served.broker.node.add("log-manager-2", "part")
        for number in range(600):
            logs.add(f"orders-{number}", "log")
        found = await ui.json("/admin/api/tree")
        page = await ui.page("/admin/tree")
        below = await ui.json("/admin/api/tree?path=broker-1/log-manager-2")

        kinds = {one["kind"] for one in found["rows"]}
        assert "log" not in kinds
        assert {"plane", "plugin", "selector", "channel"} <= kinds
        assert not found["truncated"]
        assert found["left_out"] == ["connection", "file", "group", "log", "member", "partition"]
        assert "Too many nodes to show: connection, file," in page.one("div", id="live").text
        # Of one node all is shown that there is room for, in its order.
        assert below["truncated"]
        assert {one["kind"] for one in below["rows"][1:]} == {"log"}
        assert len(below["rows"]) == 500
