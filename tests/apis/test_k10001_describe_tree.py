"""DescribeTree: the live tree as rows, in slices, within bounds."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from hypothesis import given
from hypothesis import strategies as st
from trio.testing import MockClock

from trio_kafka.introspect.tree import Figures, Node
from trio_kafka.protocol.compiler import decoder, to_bytes
from trio_kafka.protocol.messages.k18_api_versions import ApiVersionsRequest
from trio_kafka.protocol.messages.k10001_describe_tree import (
    DescribeTreeRequest,
    DescribeTreeResponse,
    TreeFigure,
    TreeRow,
)
from trio_kafka.testing.planes import running_plane
from trio_kafka.testing.scripted_client import ScriptedClient, connected
from trio_kafka.testing.simulation import simulated_world
from trio_kafka_apis import k10001_describe_tree as module
from trio_kafka_apis.k18_api_versions import api_versions
from trio_kafka_apis.k10001_describe_tree import (
    LONGEST,
    MOST,
    SLICE,
    describe_tree,
    encode_row,
    walk,
)


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


async def test_rows_are_nodes_before_their_children_with_kind_and_figures(
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


async def test_the_tree_of_a_running_plane_is_the_one_that_asks(autojump_clock: MockClock) -> None:
    world = simulated_world()
    async with running_plane(world, [describe_tree]) as plane:
        plane.parts.tree = plane.node
        async with connected(world, plane.endpoint) as client:
            await ask(client)
            answer = await ask(client)

    assert names(answer) == [(depth, node.name) for depth, node in answer_walk(answer)]
    (connection,) = [row for row in answer.rows if row.kind == "connection"]
    figures = {one.name: one.value for one in connection.figures}
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
    ("path", "found"),
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
async def test_a_path_is_what_the_node_calls_its_path(
    autojump_clock: MockClock, path: str | None, found: int
) -> None:
    async with asking(small_tree()) as client:
        answer = await ask(client, path)

    assert len(answer.rows) == found
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
async def test_a_path_that_leads_nowhere_is_an_answer(autojump_clock: MockClock, path: str) -> None:
    async with asking(small_tree()) as client:
        answer = await ask(client, path)

        assert (answer.error_code, answer.rows) == (91, [])
        assert answer.error_message == f"broker-1 has no node {path!r}"
        assert len((await ask(client)).rows) == 6


@pytest.mark.parametrize(("depth", "found"), [(0, 1), (1, 3), (2, 5), (3, 6), (-1, 6)])
async def test_depth_counts_from_the_node_that_is_asked_for(
    autojump_clock: MockClock, depth: int, found: int
) -> None:
    async with asking(small_tree()) as client:
        answer = await ask(client, None, depth)
        below = await ask(client, "plane data", 1)

    assert (len(answer.rows), answer.truncated) == (found, False)
    assert [row.name for row in below.rows] == [
        "plane data",
        "listener A://[::1]:1",
        "request-channel",
    ]


@pytest.mark.parametrize(
    ("most", "found", "truncated"),
    [(0, 0, True), (1, 1, True), (5, 5, True), (6, 6, False), (7, 6, False), (-1, 6, False)],
)
async def test_an_answer_says_that_there_was_more(
    autojump_clock: MockClock, most: int, found: int, truncated: bool
) -> None:
    async with asking(small_tree()) as client:
        answer = await ask(client, None, -1, most)

    assert (len(answer.rows), answer.truncated) == (found, truncated)


async def test_no_client_gets_more_than_the_bound(autojump_clock: MockClock) -> None:
    root = Node("root", "broker")
    for n in range(MOST):
        root.add(str(n), "part")

    async with asking(root) as client:
        for most in (-1, MOST + 1, 0x7FFFFFFF):
            answer = await ask(client, None, -1, most)
            assert (len(answer.rows), answer.truncated) == (MOST, True)


async def test_others_run_between_slices(autojump_clock: MockClock) -> None:
    world = simulated_world()
    async with (
        running_plane(world, [describe_tree]) as plane,
        connected(world, plane.endpoint) as client,
    ):
        root = plane.parts.tree = Node("root", "broker")
        passes: list[int] = []
        for n in range(10 * SLICE):
            root.add(str(n), "part", lambda: passes.append(plane.turn.passes) or {})
        await ask(client)

    assert len(passes) == 10 * SLICE
    assert max(passes.count(one) for one in set(passes)) <= SLICE


async def test_a_node_whose_figures_fail_hides_no_other(autojump_clock: MockClock) -> None:
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


async def test_the_text_of_a_figure_is_cut(autojump_clock: MockClock) -> None:
    root = Node("root", "broker", lambda: {"client_id": "é" * 30000})

    async with asking(root) as client:
        answer = await ask(client)

    assert answer.rows[0].figures[0].value == "é" * LONGEST


def test_what_left_during_the_walk_is_passed_over_and_what_came_is_seen() -> None:
    root = Node("root", "broker")
    first, second, third = (root.add(name, "part") for name in ("first", "second", "third"))
    second.add("below", "part")

    found = []
    for _, node in walk(root, -1):
        found.append(node.name)
        if node is first:
            second.remove()
            third.add("late", "part")

    assert found == ["root", "first", "third", "late"]


def test_a_part_that_has_left_the_tree_can_still_be_walked() -> None:
    root = Node("root", "broker")
    part = root.add("part", "part")
    part.add("below", "part")
    part.remove()

    assert [node.name for _, node in walk(part, -1)] == ["part", "below"]


async def test_without_a_tree_the_answer_is_an_error(autojump_clock: MockClock) -> None:
    world = simulated_world()
    async with (
        running_plane(world, [describe_tree]) as plane,
        connected(world, plane.endpoint) as client,
    ):
        if isinstance(plane.parts.tree, Node):
            plane.parts.tree = None  # type: ignore[assignment]  # as good as missing
        assert (await ask(client)).error_code == -1


async def test_api_versions_lists_it(autojump_clock: MockClock) -> None:
    async with asking(small_tree()) as client:
        answer = await client.ask(ApiVersionsRequest("trio", "1"), 3)

    assert [(one.api_key, one.min_version, one.max_version) for one in answer.api_keys] == [
        (18, 0, 5),
        (10001, 0, 0),
    ]


def test_the_messages_have_these_bytes() -> None:
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
    st.text(),
    st.dictionaries(
        st.text(), st.none() | st.booleans() | st.integers() | st.floats() | st.text(), max_size=9
    ),
)
def test_a_row_has_the_bytes_that_the_message_has(
    depth: int, name: str, figures: dict[str, float | str | bool | None]
) -> None:
    row = TreeRow(depth, "part", name, [figure_of(*one) for one in figures.items()])

    assert encode_row(depth, Node(name, "part", lambda: figures)) == to_bytes(row, 0)
