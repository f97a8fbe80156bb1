"""`trio-kafka top`: rates and means between two looks at a tree."""

import json
from itertools import pairwise

import pytest
import trio

from trio_kafka.cli import main
from trio_kafka.cli.top import lines, look
from trio_kafka.introspect.snapshots import NodeSnapshot as Node
from trio_kafka.introspect.snapshots import TreeSnapshot
from trio_kafka.introspect.tree import Figures
from trio_kafka.testing.planes import running_plane
from trio_kafka.world.clock import SkippingClock
from trio_kafka.world.real import RealWorld
from trio_kafka_apis.k18_api_versions import api_versions
from trio_kafka_apis.k10001_describe_tree import describe_tree

PLANE = ("broker-1", "plane data")


def look_at(at: float, count: int) -> TreeSnapshot:
    turn: Figures = {
        "passes": 10 * count,
        "busy_s": 0.1 * count,
        "lag_ms": 3.0,
        "tasks": 44,
        "wake_ms": 2.0 * count,
        "wakes": count,
    }
    fetch: Figures = {"count": 5 * count, "total_ms": 10.0 * count, "total_max_ms": 9.0}
    queue: Figures = {"depth": 2, "bound": 500, "high_water": 7, "items": count, "oldest_s": 0.25}
    return TreeSnapshot(
        at,
        {
            (*PLANE, "loop"): Node("part", "loop", turn),
            (*PLANE, "requests", "Fetch"): Node("part", "Fetch", fetch),
            (*PLANE, "request-channel", "requests"): Node("channel", "requests", queue),
            (*PLANE, "listener", "p-0"): Node("selector", "p-0", {"connections": 3}),
            (*PLANE, "num.io.threads"): Node("limiter", "l", {"waiting": 1, "tokens": 8}),
            ("broker-1", "replicas", "Fetch"): Node("purgatory", "Fetch", {"waiting": 4}),
        },
    )


def cells(line: str) -> list[str]:
    return line.split()


def test_top_computes_rates_between_two_snapshots() -> None:
    shown = list(lines(look_at(100.0, 1), look_at(102.0, 3)))

    loop = cells(shown[1])
    assert loop == ["plane", "data", "3", "10.0", "10.0", "2.000", "3.0", "44"]
    fetch = cells(next(line for line in shown if line.startswith("Fetch")))
    assert (fetch[1], fetch[-2], fetch[-1]) == ("5.0", "2.000", "9.0")
    queue = cells(next(line for line in shown if "request-channel" in line))
    assert queue[2:] == ["2", "500", "7", "0.250", "1.0"]
    limiter = cells(next(line for line in shown if "num.io.threads" in line))
    assert limiter[2:4] == ["1", "8"]
    assert any(cells(line)[:2] == ["replicas/Fetch", "4"] for line in shown if line)


def test_first_snapshot_of_top_shows_totals_since_the_start() -> None:
    shown = list(lines(None, look_at(100.0, 2)))

    assert shown[-1].startswith("Totals since the start")
    fetch = cells(next(line for line in shown if line.startswith("Fetch")))
    assert (fetch[1], fetch[-2]) == ("-", "2.000")


def test_node_that_is_new_since_the_last_snapshot_is_counted_from_zero() -> None:
    before = TreeSnapshot(100.0, {(*PLANE, "loop"): Node("part", "loop", {})})
    shown = list(lines(before, look_at(101.0, 1)))

    fetch = cells(next(line for line in shown if line.startswith("Fetch")))
    assert (fetch[1], fetch[-2]) == ("5.0", "2.000")


def test_rates_of_a_restarted_broker_are_not_negative() -> None:
    shown = list(lines(look_at(100.0, 3), look_at(101.0, 1)))

    assert not [
        cell for line in shown for cell in cells(line) if cell.startswith("-") and cell != "-"
    ]


def test_busiest_api_is_listed_first() -> None:
    before, after = look_at(0.0, 1), look_at(1.0, 2)
    nodes = dict(after.nodes)
    nodes[*PLANE, "requests", "Produce"] = Node("part", "Produce", {"count": 900})
    shown = list(lines(before, TreeSnapshot(1.0, nodes)))

    starts = [line.split(" ")[0] for line in shown]
    assert ("Produce", "Fetch") in list(pairwise(starts))


async def test_top_does_not_read_nodes_of_logs_and_connections() -> None:
    async with running_plane(RealWorld(SkippingClock()), [describe_tree, api_versions]) as plane:
        root = plane.parts.tree = plane.node
        logs = root.add("log-manager", "part")
        for number in range(3):
            logs.add(f"orders-{number}", "log")
        seen = await trio.to_thread.run_sync(look, plane.endpoint, 5.0)

    assert ("plane data", "log-manager") in seen.nodes
    assert not {"log", "connection"} & {node.kind for node in seen.nodes.values()}


async def test_top_prints_a_running_broker_the_requested_number_of_times(
    capsys: pytest.CaptureFixture[str],
) -> None:
    async with running_plane(RealWorld(SkippingClock()), [describe_tree, api_versions]) as plane:
        root = plane.parts.tree = plane.node
        assert root.name == "plane data"
        arguments = ["top", "--bootstrap", str(plane.endpoint), "--interval", "0", "--times", "2"]
        assert await trio.to_thread.run_sync(main, arguments) == 0

    assert capsys.readouterr().out.count("what waits") == 2


async def test_top_json_is_one_object_per_snapshot(
    capsys: pytest.CaptureFixture[str],
) -> None:
    async with running_plane(RealWorld(SkippingClock()), [describe_tree, api_versions]) as plane:
        plane.parts.tree = plane.node
        arguments = ["top", "--bootstrap", str(plane.endpoint), "--interval", "0", "--times", "2"]
        assert await trio.to_thread.run_sync(main, [*arguments, "--json"]) == 0

    first, second = map(json.loads, capsys.readouterr().out.splitlines())
    assert first.keys() == {"loops", "requests", "queues"}
    assert all(request["per_s"] is None for request in first["requests"])
    assert second["queues"][0].keys() >= {"path", "kind", "waiting", "bound"}


def test_top_with_an_invalid_address_ends_with_one_line_and_status_1(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["top", "--bootstrap", "nowhere"]) == 1
    assert (
        capsys.readouterr().err
        == "trio-kafka: nowhere: not an address: give HOST:PORT, with a port from 1 to 65535\n"
    )
