"""DescribeTree: the live tree as rows, in slices, within bounds."""

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager

import pytest
from hypothesis import given
from hypothesis import strategies as st
from trio.testing import MockClock

from tests.apis.kit import broker, write
from trio_kafka.introspect.tree import Figures, Node
from trio_kafka.introspect.tree_reader import KINDS, LONGEST, MOST, PASSED, walk
from trio_kafka.protocol.compiler import decoder, to_bytes
from trio_kafka.protocol.messages.k18_api_versions import ApiVersionsRequest
from trio_kafka.protocol.messages.k49_alter_client_quotas import (
    AlterClientQuotasRequest,
    EntryData,
    OpData,
)
from trio_kafka.protocol.messages.k10001_describe_tree import (
    DescribeTreeRequest,
    DescribeTreeResponse,
    TreeFigure,
    TreeRow,
)
from trio_kafka.protocol.structs.cluster import EntityData
from trio_kafka.testing.planes import running_plane
from trio_kafka.testing.scripted_client import ScriptedClient, connected
from trio_kafka.testing.simulation import simulated_world
from trio_kafka_apis import k10001_describe_tree as module
from trio_kafka_apis.k18_api_versions import api_versions
from trio_kafka_apis.k10001_describe_tree import SLICE, describe_tree, encode_row


@asynccontextmanager
async def asking(root: Node) -> AsyncIterator[ScriptedClient]:
    world = simulated_world()
    async with running_plane(world, [describe_tree, api_versions]) as plane:
        plane.parts.tree = root
        async with connected(world, plane.endpoint) as client:
            yield client


async def ask(client: ScriptedClient, *arguments: object) -> DescribeTreeResponse:
    answer = await client.ask(DescribeTreeRequest(*arguments), 0)
    assert isinstance(answer, DescribeTreeResponse)
    return answer


async def ask_kinds(
    client: ScriptedClient, *kinds: str, path: str | None = None, depth: int = -1, most: int = -1
) -> DescribeTreeResponse:
    answer = await client.ask(DescribeTreeRequest(path, depth, most, list(kinds)), 1)
    assert isinstance(answer, DescribeTreeResponse)
    return answer


def names(answer: DescribeTreeResponse) -> list[tuple[int, str]]:
    return [(row.depth, row.name) for row in answer.rows]


def small_tree() -> Node:
    root = Node("broker-1", "broker")
    plane = root.add("plane data", "plane")
    listener = plane.add("listener A://[::1]:1", "listener")
    listener.add("processor-0", "selector")
    plane.add("request-channel", "channel")
    root.add("scheduler", "task")
    return root


async def test_rows_list_each_node_before_its_children_with_kind_and_figures(
    autojump_clock: MockClock,
) -> None:
    root = Node("broker-1", "broker", lambda: {"epoch": 3, "ready": True, "idle": False})
    child = root.add("a", "part", lambda: {"rate": 0.1, "none": None, "peer": "x:1"})
    child.add("b", "file", lambda: {"big": 1 << 70, "endless": float("inf")})
    root.add("c", "task")

    async with asking(root) as client:
        answer = await ask(client)

    assert (answer.error_code, answer.error_message, answer.truncated) == (0, None, False)
    assert answer.rows == [
        TreeRow(
            0,
            "broker",
            "broker-1",
            [
                TreeFigure("epoch", 2, "3"),
                TreeFigure("ready", 1, "true"),
                TreeFigure("idle", 1, "false"),
            ],
        ),
        TreeRow(
            1,
            "part",
            "a",
            [
                TreeFigure("rate", 3, "0.1"),
                TreeFigure("none", 0, ""),
                TreeFigure("peer", 4, "x:1"),
            ],
        ),
        TreeRow(
            2,
            "file",
            "b",
            [TreeFigure("big", 2, str(1 << 70)), TreeFigure("endless", 3, "inf")],
        ),
        TreeRow(1, "task", "c", []),
    ]


async def test_the_tree_of_a_running_plane_contains_the_requesting_connection(
    autojump_clock: MockClock,
) -> None:
    world = simulated_world()
    async with running_plane(world, [describe_tree]) as plane:
        plane.parts.tree = plane.node
        async with connected(world, plane.endpoint) as client:
            await ask(client)
            answer = await ask(client)

    assert names(answer) == [(depth, node.name) for depth, node in answer_walk(answer)]
    (connection,) = [row for row in answer.rows if row.kind == "connection"]
    figures = {figure.name: figure.value for figure in connection.figures}
    assert (figures["client_id"], figures["requests"]) == ("scripted", "2")
    assert "DescribeTree" in {row.name for row in answer.rows}


def answer_walk(answer: DescribeTreeResponse) -> list[tuple[int, Node]]:
    """The rows as a tree again, walked."""
    places: list[Node] = []
    for row in answer.rows:
        del places[row.depth :]
        parent = places[-1] if places else None
        places.append(Node(row.name, "part") if parent is None else parent.add(row.name, "part"))
    return list(places[0].walk())


@pytest.mark.parametrize(
    ("path", "count"),
    [
        (None, 6),
        ("", 6),
        ("broker-1", 6),
        ("broker-1/plane data", 4),
        ("plane data", 4),
        ("broker-1/plane data/listener A://[::1]:1", 2),
        ("broker-1/plane data/listener A://[::1]:1/processor-0", 1),
        ("plane data/request-channel", 1),
    ],
)
async def test_a_request_with_a_path_returns_the_subtree_of_its_node(
    autojump_clock: MockClock, path: str | None, count: int
) -> None:
    async with asking(small_tree()) as client:
        answer = await ask(client, path)

    assert len(answer.rows) == count
    assert answer.rows[0].depth == 0
    assert (path or "broker-1").endswith(answer.rows[0].name)


async def test_every_node_is_found_by_its_path(autojump_clock: MockClock) -> None:
    root = small_tree()

    for _, node in root.walk():
        assert module.find(root, node.path) is node


@pytest.mark.parametrize(
    "path",
    ["x", "broker-1/x", "broker-1/", "plane data/", "plane", "plane data-request-channel", "/"],
)
async def test_an_unknown_path_is_answered_with_an_error_message(
    autojump_clock: MockClock, path: str
) -> None:
    async with asking(small_tree()) as client:
        answer = await ask(client, path)

        assert (answer.error_code, answer.rows) == (91, [])
        assert answer.error_message == f"broker-1 has no node {path!r}"
        assert len((await ask(client)).rows) == 6


@pytest.mark.parametrize(("depth", "count"), [(0, 1), (1, 3), (2, 5), (3, 6), (-1, 6)])
async def test_depth_is_counted_from_the_requested_node(
    autojump_clock: MockClock, depth: int, count: int
) -> None:
    async with asking(small_tree()) as client:
        answer = await ask(client, None, depth)
        below = await ask(client, "plane data", 1)

    assert (len(answer.rows), answer.truncated) == (count, False)
    assert [row.name for row in below.rows] == [
        "plane data",
        "listener A://[::1]:1",
        "request-channel",
    ]


@pytest.mark.parametrize(
    ("most", "count", "truncated"),
    [(0, 0, True), (1, 1, True), (5, 5, True), (6, 6, False), (7, 6, False), (-1, 6, False)],
)
async def test_an_answer_cut_at_the_requested_maximum_is_marked_truncated(
    autojump_clock: MockClock, most: int, count: int, truncated: bool
) -> None:
    async with asking(small_tree()) as client:
        answer = await ask(client, None, -1, most)

    assert (len(answer.rows), answer.truncated) == (count, truncated)


async def test_an_answer_has_at_most_the_maximum_number_of_rows(autojump_clock: MockClock) -> None:
    root = Node("root", "broker")
    for n in range(MOST):
        root.add(str(n), "part")

    async with asking(root) as client:
        for most in (-1, MOST + 1, 0x7FFFFFFF):
            answer = await ask(client, None, -1, most)
            assert (len(answer.rows), answer.truncated) == (MOST, True)


async def test_other_tasks_run_between_slices_of_a_walk(autojump_clock: MockClock) -> None:
    world = simulated_world()
    async with (
        running_plane(world, [describe_tree]) as plane,
        connected(world, plane.endpoint) as client,
    ):
        root = plane.parts.tree = Node("root", "broker")
        passes: list[int] = []
        for n in range(10 * SLICE):
            root.add(str(n), "part", lambda: passes.append(plane.budget.passes) or {})
        await ask(client)

    assert len(passes) == 10 * SLICE
    assert max(passes.count(turn) for turn in set(passes)) <= SLICE


async def test_version_1_without_kinds_answers_as_version_0(
    autojump_clock: MockClock,
) -> None:
    async with asking(small_tree()) as client:
        assert await ask_kinds(client) == await ask(client)


@pytest.mark.parametrize(
    ("kinds", "nodes"),
    [
        (["task"], [(0, "broker-1"), (1, "scheduler")]),
        (
            ["selector"],
            [
                (0, "broker-1"),
                (1, "plane data"),
                (2, "listener A://[::1]:1"),
                (3, "processor-0"),
            ],
        ),
        (
            ["channel", "task", "channel"],
            [(0, "broker-1"), (1, "plane data"), (2, "request-channel"), (1, "scheduler")],
        ),
        (["plane"], [(0, "broker-1"), (1, "plane data")]),
        (["broker"], [(0, "broker-1")]),
        (["nonsense", "", "Task", "tas"], [(0, "broker-1")]),
    ],
)
async def test_a_request_for_kinds_returns_matching_nodes_and_their_ancestors(
    autojump_clock: MockClock, kinds: list[str], nodes: list[tuple[int, str]]
) -> None:
    async with asking(small_tree()) as client:
        answer = await ask_kinds(client, *kinds)

    assert names(answer) == nodes
    assert not answer.truncated


async def test_an_ancestor_of_several_matching_nodes_is_returned_once_with_its_figures(
    autojump_clock: MockClock,
) -> None:
    root = Node("root", "broker")
    for name in ("a", "b", "c"):
        part = root.add(name, "part", lambda name=name: {"is": name})  # type: ignore[misc]
        part.add("not this", "log").add("nor this", "file")
        if name != "b":
            for n in range(2):
                part.add(f"log {n}", "log").add("task", "task")
            part.add("task", "task")

    async with asking(root) as client:
        answer = await ask_kinds(client, "task")

    below = [(2, "log 0"), (3, "task"), (2, "log 1"), (3, "task"), (2, "task")]
    assert names(answer) == [(0, "root"), (1, "a"), *below, (1, "c"), *below]
    assert answer.rows[1] == TreeRow(1, "part", "a", [TreeFigure("is", 4, "a")])


async def test_figures_of_skipped_nodes_are_not_read(autojump_clock: MockClock) -> None:
    read: list[str] = []
    root = Node("root", "broker", lambda: read.append("root") or {})
    root.add("part", "part", lambda: read.append("part") or {})
    root.add("task", "task", lambda: read.append("task") or {})

    async with asking(root) as client:
        await ask_kinds(client, "task")

    assert read == ["root", "task"]


@pytest.mark.parametrize(
    ("path", "depth", "nodes"),
    [
        ("plane data", -1, ["plane data", "listener A://[::1]:1", "processor-0"]),
        ("plane data", 1, ["plane data"]),
        ("plane data/request-channel", -1, ["request-channel"]),
        (None, 2, ["broker-1"]),
        (None, 3, ["broker-1", "plane data", "listener A://[::1]:1", "processor-0"]),
        (None, 0, ["broker-1"]),
    ],
)
async def test_kinds_are_searched_below_the_path_down_to_the_requested_depth(
    autojump_clock: MockClock, path: str | None, depth: int, nodes: list[str]
) -> None:
    async with asking(small_tree()) as client:
        answer = await ask_kinds(client, "selector", path=path, depth=depth)

    assert [row.name for row in answer.rows] == nodes
    assert [row.depth for row in answer.rows] == list(range(len(nodes)))


@pytest.mark.parametrize(
    ("most", "count", "truncated"),
    [(0, 0, True), (1, 1, True), (2, 2, True), (3, 3, False), (4, 3, False), (-1, 3, False)],
)
async def test_skipped_nodes_do_not_mark_an_answer_truncated(
    autojump_clock: MockClock, most: int, count: int, truncated: bool
) -> None:
    async with asking(small_tree()) as client:
        answer = await ask_kinds(client, "channel", most=most)

    assert (len(answer.rows), answer.truncated) == (count, truncated)


async def test_the_row_limit_counts_only_returned_rows(autojump_clock: MockClock) -> None:
    root = Node("root", "broker")
    for n in range(MOST):
        root.add(f"part {n}", "part")
        root.add(f"task {n}", "task")

    async with asking(root) as client:
        one_too_many = await ask_kinds(client, "task")
        root.children[-1].remove()
        just_so = await ask_kinds(client, "task")

    assert (len(one_too_many.rows), one_too_many.truncated) == (MOST, True)
    assert (len(just_so.rows), just_so.truncated) == (MOST, False)


async def test_too_many_kinds_are_refused(autojump_clock: MockClock) -> None:
    async with asking(small_tree()) as client:
        refused = await ask_kinds(client, *["task"] * (KINDS + 1))
        taken = await ask_kinds(client, *["task"] * KINDS)

    assert (refused.error_code, refused.rows) == (42, [])
    assert refused.error_message == f"{KINDS + 1} kinds: expected at most {KINDS}"
    assert len(taken.rows) == 2


@pytest.mark.parametrize("every", [0, 10])
async def test_other_tasks_run_while_nodes_are_skipped(
    autojump_clock: MockClock, every: int
) -> None:
    """every: so many nodes apart is one that is asked for; 0: there is none."""
    world = simulated_world()
    async with (
        running_plane(world, [describe_tree]) as plane,
        connected(world, plane.endpoint) as client,
    ):
        root = plane.parts.tree = Node("root", "broker")
        written: list[int] = []
        walked: list[int] = []
        for n in range(40 * PASSED):
            is_wanted = every and not n % every
            root.add(
                str(n),
                "task" if is_wanted else "part",
                lambda: written.append(plane.budget.passes) or {},
                transient=lambda _: walked.append(plane.budget.passes) or (),
            )
        answer = await ask_kinds(client, "task")

    assert len(walked) == 40 * PASSED
    assert len(answer.rows) - 1 == len(written) == (4 * PASSED if every else 0)
    assert max(written.count(turn) for turn in {0, *written}) <= SLICE
    assert max(walked.count(turn) for turn in set(walked)) <= PASSED + SLICE


async def test_a_node_with_failing_figures_does_not_hide_other_nodes(
    autojump_clock: MockClock,
) -> None:
    def fail() -> Figures:
        raise OSError("a text that may hold anything")

    root = Node("root", "broker")
    root.add("broken", "part", fail)
    root.add("other", "part")

    async with asking(root) as client:
        answer = await ask(client)

    assert answer.rows[1:] == [
        TreeRow(1, "part", "broken", [TreeFigure("figures", 4, "failed: OSError")]),
        TreeRow(1, "part", "other", []),
    ]


async def test_a_node_with_failing_children_does_not_hide_other_nodes(
    autojump_clock: MockClock,
) -> None:
    def fail(parent: Node) -> Iterable[Node]:
        raise OSError(parent.name)

    root = Node("root", "broker")
    root.add("broken", "part", transient=fail)
    root.add("other", "part")

    async with asking(root) as client:
        answer = await ask(client)

    assert [(row.depth, row.name) for row in answer.rows[1:]] == [
        (1, "broken"),
        (2, "children failed: OSError"),
        (1, "other"),
    ]


async def test_very_long_and_undecodable_node_names_are_returned(autojump_clock: MockClock) -> None:
    root = Node("root", "broker")
    root.add("é" * 32_000, "connection")
    root.add("file-\udcff", "file")
    root.add("other", "part")

    async with asking(root) as client:
        answer = await ask(client)

    first, second, third = (row.name for row in answer.rows[1:])
    assert first.startswith("é" * 300)
    assert (second, third) == ("file-\\udcff", "other")


async def test_a_very_long_client_id_does_not_break_the_answer(autojump_clock: MockClock) -> None:
    async with broker() as served:
        await served.create_topic("t")
        rate = OpData("producer_byte_rate", 1e9, False)
        entry = EntryData([EntityData("client-id", None)], [rate])
        quota = AlterClientQuotasRequest(entries=[entry])
        await served.ask(quota, 1)
        async with served.connect() as client:
            client.client_id = "c" * 32_000
            await write(client, "t", b"a")
        answer = await served.ask(DescribeTreeRequest(), 1)

    names = [row.name for row in answer.rows]
    assert any("client-id=ccc" in name for name in names)


async def test_long_text_of_a_figure_is_truncated(autojump_clock: MockClock) -> None:
    root = Node("root", "broker", lambda: {"client_id": "é" * 30000})

    async with asking(root) as client:
        answer = await ask(client)

    assert answer.rows[0].figures[0].value == "é" * LONGEST


def test_a_walk_skips_removed_nodes_and_visits_added_nodes() -> None:
    root = Node("root", "broker")
    first, second, third = (root.add(name, "part") for name in ("first", "second", "third"))
    second.add("below", "part")

    result = []
    for _, node in walk(root, -1):
        result.append(node.name)
        if node is first:
            second.remove()
            third.add("late", "part")

    assert result == ["root", "first", "third", "late"]


def test_an_ancestor_removed_during_the_walk_is_still_returned() -> None:
    root = Node("root", "broker")
    part = root.add("part", "part")
    part.add("log", "log", transient=lambda _: part.remove() or ())
    part.add("task", "task")

    depths = [step and (step[0], step[1].name) for step in walk(root, -1, ["task"])]

    assert part.parent is None
    assert depths == [(0, "root"), (1, "part"), (2, "task")]


def test_a_node_removed_from_the_tree_can_still_be_walked() -> None:
    root = Node("root", "broker")
    part = root.add("part", "part")
    part.add("below", "part")
    part.remove()

    assert [node.name for _, node in walk(part, -1)] == ["part", "below"]


async def test_a_broker_without_a_tree_answers_with_an_error(autojump_clock: MockClock) -> None:
    world = simulated_world()
    async with (
        running_plane(world, [describe_tree]) as plane,
        connected(world, plane.endpoint) as client,
    ):
        if isinstance(plane.parts.tree, Node):
            plane.parts.tree = None  # type: ignore[assignment]  # as good as missing
        assert (await ask(client)).error_code == -1


async def test_api_versions_lists_describe_tree(autojump_clock: MockClock) -> None:
    async with asking(small_tree()) as client:
        answer = await client.ask(ApiVersionsRequest("trio", "1"), 3)

    assert [(key.api_key, key.min_version, key.max_version) for key in answer.api_keys] == [
        (18, 0, 5),
        (10001, 0, 1),
    ]


def test_request_and_response_are_encoded_in_the_documented_bytes() -> None:
    request = DescribeTreeRequest("a/b", 2, 9)
    response = DescribeTreeResponse(
        error_code=1,
        error_message="e",
        truncated=True,
        rows=[TreeRow(2, "part", "n", [TreeFigure("f", 4, "v")])],
    )

    assert to_bytes(request, 0).hex() == "0003612f62" + "00000002" + "00000009"
    assert to_bytes(response, 0).hex() == (
        "0001" + "000165" + "01" + "00000001"
        "00000002" + "000470617274" + "00016e" + "00000001" + "000166" + "04" + "000176"
    )
    assert decoder(DescribeTreeResponse, 0)(to_bytes(response, 0))[0] == response


def test_version_1_appends_kinds_to_the_request_and_leaves_the_response_unchanged() -> None:
    request = DescribeTreeRequest("a/b", 2, 9, ["task", "log"])
    response = DescribeTreeResponse(rows=[TreeRow(2, "part", "n", [TreeFigure("f", 4, "v")])])

    assert to_bytes(request, 1).hex() == (
        "0003612f62" + "00000002" + "00000009" + "00000002" + "00047461736b" + "00036c6f67"
    )
    assert to_bytes(response, 1) == to_bytes(response, 0)
    assert decoder(DescribeTreeResponse, 1)(to_bytes(response, 1))[0] == response


KIND_NAMES = ("task", "part", "log")


@st.composite
def trees(draw: st.DrawFn) -> Node:
    """Each new node goes below any that is there already."""
    nodes = [Node("root", "broker")]
    for n, (place, kind) in enumerate(
        draw(st.lists(st.tuples(st.integers(0, 1000), st.sampled_from(KIND_NAMES)), max_size=30))
    ):
        nodes.append(nodes[place % len(nodes)].add(str(n), kind))  # type: ignore[arg-type]
    return nodes[0]


@given(trees(), st.sets(st.sampled_from(KIND_NAMES), min_size=1), st.integers(-1, 5))
def test_a_walk_selects_exactly_the_nodes_with_a_match_at_or_below_them(
    root: Node, kinds: set[str], depth: int
) -> None:
    whole = list(walk(root, depth))
    leading = {root}
    for _, node in whole:
        above: Node | None = node
        while node.kind in kinds and above is not None:
            leading.add(above)
            above = above.parent

    chosen = list(walk(root, depth, sorted(kinds)))

    assert chosen == [step for step in whole if step[1] in leading]


def figure_of(name: str, value: float | str | bool | None) -> TreeFigure:
    """As the message says what kinds there are."""
    if value is None:
        return TreeFigure(name, 0)
    if isinstance(value, bool):
        return TreeFigure(name, 1, "true" if value else "false")
    if isinstance(value, int):
        return TreeFigure(name, 2, str(value))
    if isinstance(value, float):
        return TreeFigure(name, 3, repr(value))
    return TreeFigure(name, 4, value[:LONGEST])


@given(
    st.integers(0, 1000),
    st.text(max_size=300),
    st.dictionaries(
        st.text(), st.none() | st.booleans() | st.integers() | st.floats() | st.text(), max_size=9
    ),
)
def test_encode_row_gives_the_same_bytes_as_the_message_encoder(
    depth: int, name: str, figures: dict[str, float | str | bool | None]
) -> None:
    row = TreeRow(depth, "part", name, [figure_of(*item) for item in figures.items()])

    assert encode_row(depth, Node(name, "part", lambda: figures)) == to_bytes(row, 0)
