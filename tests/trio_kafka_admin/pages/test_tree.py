"""The tree, as a page."""

from trio.testing import MockClock

from tests.trio_kafka_admin.kit import DASH, Element, admin_ui, read_html
from trio_kafka_admin.page import Place
from trio_kafka_admin.pages.tree import PAGE


def row(depth: int, path: str, kind: str = "part", /, **figures: object) -> dict[str, object]:
    name = path.rpartition("/")[2]
    return {"depth": depth, "kind": kind, "name": name, "path": path, "figures": figures}


def shown(*rows: object, path: str = "") -> Element:
    data = {
        "path": path,
        "left_out": [],
        "truncated": False,
        "logs_as_partitions": 0,
        "rows": rows,
    }
    return read_html("".join(PAGE.show(data, Place("/admin"))))


def nesting(element: Element) -> list[object]:
    """Names of nodes, each with a list of those below it."""
    result: list[object] = []
    for child in element.content:
        assert isinstance(child, Element)
        if child.name == "details":
            summary, *rest = child.content
            assert isinstance(summary, Element)
            names = [name.text for name in summary.all("b")] or [summary.text]
            result.append([*names, *nesting(Element("", {}, rest))])
        elif child.name == "span":
            continue  # links of the node
        else:
            result.append(child.all("a")[0].text)
    return result


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

    assert nesting(page.find("div", id="tree")) == [
        ["b", ["x", ["1", "deep"]], "y", ["z", "2"]],
    ]
    folds = page.all("details")
    assert [fold.attributes["id"] for fold in folds] == ["b", "b/x", "b/x/1", "b/z"]
    assert [fold.attributes["id"] for fold in folds if "open" in fold.attributes] == [
        "b",
        "b/x",
        "b/z",
    ]


def test_all_below_a_node_that_was_chosen_is_open() -> None:
    page = shown(row(0, "b"), row(1, "b/x"), row(2, "b/x/1"), row(3, "b/x/1/deep"), path="b")

    assert ["open" in fold.attributes for fold in page.all("details")] == [True, True, True]


def test_rate_that_is_kafkas_largest_number_has_no_limit() -> None:
    page = shown(row(0, "b", rate=2**63 - 1, bytes=2**63 - 2))

    assert [figure.text for figure in page.all("span")] == [
        "rate no limit",
        f"bytes {2**63 - 2}",
    ]


def test_zero_empty_and_missing_figures_are_shown_as_quiet() -> None:
    figures = {"depth": 3, "zero": 0, "none": None, "off": False, "on": True, "empty": ""}
    node = row(0, "b", ms=1.23456, text="<x>", **figures)
    page = shown(node, path="b")

    whole = [span.text for span in shown(node).all("span")]
    assert whole == ["ms 1.235", "text <x>", "depth 3", "on yes"]
    assert [span.text for span in page.all("span")] == [
        "ms 1.235",
        "text <x>",
        "depth 3",
        "zero 0",
        f"none {DASH}",
        "off no",
        "on yes",
        f"empty {DASH}",
    ]
    quiet = [span.find("i").text for span in page.all("span", class_="quiet")]
    assert quiet == ["zero", "none", "off", "empty"]


async def test_the_whole_tree_of_a_broker_is_shown(autojump_clock: MockClock) -> None:
    async with admin_ui() as ui:
        await ui.served.create_topic("orders")
        page = await ui.page("/admin/tree?own=1")
        result = await ui.json("/admin/api/tree?own=1")

        tree = page.find("div", id="tree")
        names = {element.text for kind in ("a", "b") for element in tree.all(kind)}
        assert names >= {"broker-1", "scheduler", "orders-0", "request-handlers", "plugins", "loop"}
        walked = [node for _, node in ui.served.broker.node.walk()]
        partitions = {node.name for node in walked if node.kind == "partition"}
        expected = [
            (node.kind, node.path)
            for node in walked
            if node.kind != "log" or node.name not in partitions
        ]
        assert sorted((entry["kind"], entry["path"]) for entry in result["rows"]) == sorted(
            expected
        )
        assert result["logs_as_partitions"] == len(walked) - len(expected) == 1
        assert {"connection", "task", "channel", "partition"} <= {kind for kind, _ in expected}


async def test_every_node_links_to_itself(autojump_clock: MockClock) -> None:
    async with admin_ui() as ui:
        for _ in range(2):  # what is asked for the first time is in the tree from then on
            rows = (await ui.json("/admin/api/tree"))["rows"]
        page = await ui.page("/admin/tree")
        links = [
            link.attributes["href"] or ""
            for link in page.find("div", id="tree").all("a")
            if (link.attributes["href"] or "").startswith("/admin/tree?path=")
        ]

        targets = {}
        for target in links:
            below = (await ui.json(target.replace("/admin/", "/admin/api/")))["rows"]
            targets[below[0]["path"]] = below[0]["kind"]
        assert targets == {entry["path"]: entry["kind"] for entry in rows}


async def test_a_line_that_opens_has_no_link_in_it(autojump_clock: MockClock) -> None:
    """A key press on it would have two meanings: axe's rule nested-interactive."""
    async with admin_ui() as ui:
        page = await ui.page("/admin/tree")

        summaries = page.find("div", id="tree").all("summary")
        assert len(summaries) > 10
        assert [summary for summary in summaries if summary.all("a")] == []


async def test_many_children_of_one_kind_are_a_closed_fold_that_counts_them(
    autojump_clock: MockClock,
) -> None:
    async with admin_ui() as ui:
        node = ui.served.broker.node.add("manager", "part")
        for number in range(5):
            node.add(f"orders-{number}", "partition", lambda end=number: {"end": end})
        page = await ui.page("/admin/tree?path=manager")

        [fold] = page.find("details", id="manager").all("details")
        assert fold.find("summary").text == "5 partitions, 4 written to"
        assert "open" not in fold.attributes
        assert [leaf.all("a")[0].text for leaf in fold.all("div", class_="leaf")] == [
            f"orders-{number}" for number in range(5)
        ]


async def test_request_and_queue_of_the_ui_are_left_out_unless_asked_for(
    autojump_clock: MockClock,
) -> None:
    async with admin_ui() as ui:
        node = ui.served.broker.node.add("a connection", "connection")
        node.add("GET /admin/tree", "task", lambda: {"mount": "/admin"})
        node.add("GET /metrics", "task", lambda: {"mount": "/metrics"})

        names = [entry["name"] for entry in (await ui.json("/admin/api/tree"))["rows"]]
        all_names = [entry["name"] for entry in (await ui.json("/admin/api/tree?own=1"))["rows"]]

        own = {"GET /admin/tree", "admin-requests"}
        assert own.isdisjoint(names)
        assert own < set(all_names)
        assert "GET /metrics" in names
        [top] = (await ui.json("/admin/api/tree?path=plugins/admin/generation-1/admin-requests"))[
            "rows"
        ]
        assert top["name"] == "admin-requests"


async def test_node_names_that_end_with_a_slash_are_found_by_path(
    autojump_clock: MockClock,
) -> None:
    async with admin_ui() as ui:
        group = ui.served.broker.node.add("shard", "part").add("g/", "group")
        group.add("member/", "member")
        both = ["broker-1/shard/g/", "broker-1/shard/g//member/"]
        for path, result in ((both[0], both), (both[1], both[1:])):
            rows = (await ui.json(f"/admin/api/tree?path={path}"))["rows"]
            assert [entry["path"] for entry in rows] == result


async def test_page_of_a_node_links_to_its_parent(autojump_clock: MockClock) -> None:
    async with admin_ui() as ui:
        page = await ui.page("/admin/tree?path=broker-1/scheduler&depth=0")

        assert len(page.find("div", id="tree").all("small")) == 1
        [way] = [paragraph for paragraph in page.all("p") if "broker-1/scheduler" in paragraph.text]
        assert way.find("a").attributes["href"] == "/admin/tree"


async def test_too_large_tree_is_shown_without_logs_connections_and_other_numerous_kinds(
    autojump_clock: MockClock,
) -> None:
    async with admin_ui() as ui:
        logs = ui.served.broker.node.add("log-manager-2", "part")
        for number in range(600):
            logs.add(f"orders-{number}", "log")
        result = await ui.json("/admin/api/tree")
        page = await ui.page("/admin/tree")
        below = await ui.json("/admin/api/tree?path=broker-1/log-manager-2")

        kinds = {entry["kind"] for entry in result["rows"]}
        assert "log" not in kinds
        assert {"plane", "plugin", "selector", "channel"} <= kinds
        assert not result["truncated"]
        assert result["left_out"] == [
            "connection",
            "file",
            "group",
            "log",
            "member",
            "partition",
            "transaction",
        ]
        assert "Too many nodes to show: connection, file," in page.find("div", id="live").text
        # Of one node all is shown that there is room for, in its order.
        assert below["truncated"]
        assert {entry["kind"] for entry in below["rows"][1:]} == {"log"}
        assert len(below["rows"]) == 500


async def test_every_link_to_a_stack_finds_its_task(autojump_clock: MockClock) -> None:
    async with admin_ui() as ui:
        page = await ui.page("/admin/tree")
        links = [link.attributes["href"] or "" for link in page.all("a") if link.text == "stack"]

        assert len(links) > 5
        for link in links:
            result = await ui.json(link.replace("/admin/", "/admin/api/"))
            assert result["stack"] or result["rows"], link
