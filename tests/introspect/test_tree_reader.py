"""The tree read in process: values of JSON, in slices, within bounds."""

import json

import pytest
import trio
from trio.testing import MockClock

from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.introspect.snapshots import NodeSnapshot
from trio_kafka.introspect.tree import CROWD, Figures, Node
from trio_kafka.introspect.tree_reader import (
    KINDS,
    LONGEST,
    LONGEST_NAME,
    MOST,
    PASSED,
    SLICE,
    find,
    read_tree,
    walk,
)


def small_tree() -> Node:
    root = Node("broker-1", "broker", lambda: {"epoch": 3, "ready": True})
    plane = root.add("plane data", "plane")
    listener = plane.add("listener A://[::1]:1", "listener")
    listener.add("processor-0", "selector", lambda: {"rate": 0.5, "peer": None})
    plane.add("request-channel", "channel")
    root.add("scheduler", "task")
    return root


async def test_rows_are_nodes_before_their_children_with_their_figures(
    autojump_clock: MockClock,
) -> None:
    reading = await read_tree(small_tree())

    assert [(row.depth, row.kind, row.name) for row in reading.rows] == [
        (0, "broker", "broker-1"),
        (1, "plane", "plane data"),
        (2, "listener", "listener A://[::1]:1"),
        (3, "selector", "processor-0"),
        (2, "channel", "request-channel"),
        (1, "task", "scheduler"),
    ]
    assert reading.rows[0].figures == {"epoch": 3, "ready": True}
    assert reading.rows[3].figures == {"rate": 0.5, "peer": None}
    assert reading.rows[4].path == ("broker-1", "plane data", "request-channel")
    assert not reading.truncated


async def test_snapshot_has_the_nodes_by_path(autojump_clock: MockClock) -> None:
    snapshot = (await read_tree(small_tree())).snapshot(12.5)

    assert snapshot.at == 12.5
    assert snapshot.nodes["broker-1", "scheduler"] == NodeSnapshot("task", "scheduler", {})
    assert len(snapshot.nodes) == 6


@pytest.mark.parametrize("path", ["plane data/listener A://[::1]:1", "broker-1/plane data", ""])
def test_node_is_found_by_its_path(path: str) -> None:
    assert find(small_tree(), path).path.endswith(path)


async def test_path_without_a_node_is_refused(autojump_clock: MockClock) -> None:
    with pytest.raises(KafkaError, match="broker-1 has no node 'nowhere'") as caught:
        await read_tree(small_tree(), path="nowhere")

    assert caught.value.code is ErrorCode.RESOURCE_NOT_FOUND


async def test_depth_counts_from_the_top_node_of_the_reading(autojump_clock: MockClock) -> None:
    reading = await read_tree(small_tree(), path="plane data", depth=1)

    assert [row.name for row in reading.rows] == [
        "plane data",
        "listener A://[::1]:1",
        "request-channel",
    ]


async def test_kinds_select_their_nodes_with_all_ancestors(autojump_clock: MockClock) -> None:
    reading = await read_tree(small_tree(), kinds=["selector"])

    assert [row.name for row in reading.rows] == [
        "broker-1",
        "plane data",
        "listener A://[::1]:1",
        "processor-0",
    ]


async def test_too_many_kinds_are_refused(autojump_clock: MockClock) -> None:
    with pytest.raises(KafkaError, match=f"expected at most {KINDS}"):
        await read_tree(small_tree(), kinds=["job"] * (KINDS + 1))


@pytest.mark.parametrize(("most", "rows"), [(2, 2), (-1, MOST), (MOST + 1, MOST)])
async def test_reading_ends_at_its_limit_and_is_marked_as_truncated(
    autojump_clock: MockClock, most: int, rows: int
) -> None:
    root = Node("broker-1", "broker")
    for number in range(MOST):
        root.add(f"job-{number}", "job")

    reading = await read_tree(root, most=most)

    assert (len(reading.rows), reading.truncated) == (rows, True)


@pytest.mark.parametrize("kinds", [(), ("file",)])
async def test_other_tasks_run_between_slices_of_a_reading(
    autojump_clock: MockClock, kinds: tuple[str, ...]
) -> None:
    root = Node("broker-1", "broker")
    for number in range(10 * PASSED):
        root.add(f"job-{number}", "job")
    turns = 0

    async def count_turns() -> None:
        nonlocal turns
        while True:
            turns += 1
            await trio.lowlevel.checkpoint()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(count_turns)
        await read_tree(root, kinds=kinds)
        nursery.cancel_scope.cancel()

    assert turns >= 10 * PASSED / (PASSED if kinds else SLICE)


class Steps(trio.abc.Instrument):
    """Counts the steps of all tasks."""

    count = 0

    def before_task_step(self, task: trio.lowlevel.Task) -> None:
        self.count += 1


@pytest.mark.parametrize("kinds", [(), ("part",)])
async def test_figures_of_a_node_with_many_children_have_a_turn_of_their_own(
    autojump_clock: MockClock, kinds: tuple[str, ...]
) -> None:
    steps, read_in = Steps(), dict[str, int]()

    def part(name: str) -> Node:
        def figures() -> Figures:
            read_in[name] = steps.count
            return {}

        return root.add(name, "part", figures)

    root = Node("broker-1", "broker")
    part("before")
    for name in ("logs", "partitions"):
        crowded = part(name)
        for number in range(CROWD + 1):
            crowded.add(f"orders-{number}", "log")
    part("after")
    trio.lowlevel.add_instrument(steps)
    await read_tree(root, kinds=kinds)
    trio.lowlevel.remove_instrument(steps)

    assert len(set(read_in.values())) == 4


async def test_figures_and_names_are_converted_to_valid_json_values(
    autojump_clock: MockClock,
) -> None:
    figures: Figures = {
        "endless": float("inf"),
        "unknown": float("nan"),
        "long": "x" * (LONGEST + 1),
        "no text": "\udc80",
        "umlaut": "ä",
    }
    root = Node("broker-1", "broker", lambda: figures)
    root.add("file \udc80", "file")
    root.add("n" * (LONGEST_NAME + 1), "part")

    rows = (await read_tree(root)).rows

    assert rows[0].figures == {
        "endless": "inf",
        "unknown": "nan",
        "long": "x" * LONGEST,
        "no text": "\\udc80",
        "umlaut": "ä",
    }
    assert rows[1].name == "file \\udc80"
    assert len(rows[2].name) <= LONGEST_NAME
    assert json.dumps([row.figures for row in rows], allow_nan=False).encode()


async def test_node_whose_figures_or_children_fail_does_not_hide_other_nodes(
    autojump_clock: MockClock,
) -> None:
    def fail(*_: object) -> Figures:
        raise ZeroDivisionError

    root = Node("broker-1", "broker")
    root.add("bad", "part", fail)
    root.add("childless", "part", transient=fail)  # type: ignore[arg-type]
    root.add("good", "part")

    rows = (await read_tree(root)).rows

    assert [(row.name, row.figures) for row in rows] == [
        ("broker-1", {}),
        ("bad", {"figures": "failed: ZeroDivisionError"}),
        ("childless", {}),
        ("children failed: ZeroDivisionError", {}),
        ("good", {}),
    ]


def test_node_removed_during_the_walk_is_skipped() -> None:
    root = small_tree()
    steps = walk(root, -1)
    seen = [next(steps)[1].name]
    root.children[0].remove()
    seen += [node.name for _, node in steps]

    assert seen == ["broker-1", "scheduler"]


async def test_nodes_behind_the_last_row_are_counted_without_reading_their_figures(
    autojump_clock: MockClock,
) -> None:
    reads = []

    def figures() -> Figures:
        reads.append(1)
        return {}

    root = Node("broker-1", "broker")
    for name in ("A", "B"):
        listener = root.add(name, "listener", figures)
        listener.add("channel", "channel", figures)
        for number in range(500):
            listener.add(f"{number}", "connection", figures)

    kinds = ("listener", "connection")
    reading = await read_tree(root, most=12, kinds=kinds, counts=True)
    whole = await read_tree(root, kinds=kinds, counts=True)
    uncounted = await read_tree(root, most=12, kinds=kinds)

    assert len(reading.rows) == 12  # the root, a listener, 10 connections
    assert reading.unread == {"connection": 990, "listener": 1}
    assert (whole.unread, uncounted.unread) == ({}, {})
    assert (reading.truncated, whole.truncated, uncounted.truncated) == (True, False, True)
    assert len(reads) == 11 + 1002 + 11


async def test_other_tasks_run_while_nodes_are_counted(autojump_clock: MockClock) -> None:
    root = Node("broker-1", "broker")
    for number in range(5000):
        root.add(f"{number}", "connection")
    turns, done = 0, False

    async def others() -> None:
        nonlocal turns
        while not done:
            turns += 1
            await trio.lowlevel.checkpoint()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(others)
        await read_tree(root, most=1, kinds=["connection"], counts=True)
        done = True

    assert turns >= 5000 // PASSED
