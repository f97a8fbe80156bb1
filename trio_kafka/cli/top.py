"""`trio-kafka top`: what a broker does now, from two looks at its tree.

A rate is what was counted between two looks; a mean time is of the requests that ended between
them. The first look has nothing before it: it shows what has been since the start.
"""

import sys
import time
from argparse import ArgumentParser
from collections.abc import Iterator, Mapping
from typing import Final

from trio_kafka.attributes import frozen
from trio_kafka.cli.ask import AskError, declare_broker, give_up, parse_address
from trio_kafka.cli.columns import LEFT, RIGHT, columns
from trio_kafka.cli.tree import read_tree, value_of
from trio_kafka.model import Endpoint

DEPTH: Final = 3  # the processors of a plane; connections are below
CLEAR: Final = "\x1b[H\x1b[2J"

Figures = Mapping[str, int | float | str | bool | None]


@frozen
class Node:
    """One node of a look."""

    kind: str
    name: str
    figures: Figures

    def number(self, figure: str) -> float:
        """A figure; 0 where there is none."""
        value = self.figures.get(figure)
        return float(value) if isinstance(value, int | float) else 0.0


@frozen
class Look:
    """A tree, by path, and when it was read."""

    at: float
    nodes: Mapping[tuple[str, ...], Node]


def declare(parser: ArgumentParser) -> None:
    declare_broker(parser)
    parser.add_argument(
        "--interval",
        type=float,
        default=2.0,
        metavar="SECONDS",
        help="between two looks (%(default)g)",
    )
    parser.add_argument(
        "--times",
        type=int,
        default=0,
        metavar="NUMBER",
        help="end after so many looks; 0, which is the default: when you press Ctrl-C",
    )


def top(*, bootstrap: str, interval: float, times: int, timeout: float) -> int:
    """Show what a broker does: the loop, requests by API, what waits where."""
    shown = 0
    before: Look | None = None
    try:
        while True:
            after = look(parse_address(bootstrap), timeout)
            if sys.stdout.isatty():
                print(CLEAR, end="")
            for line in lines(before, after):
                print(line)
            shown += 1
            if shown == times:
                return 0
            print(flush=True)
            before = after
            time.sleep(interval)
    except AskError as error:
        return give_up(bootstrap, error)
    except KeyboardInterrupt:
        return 0


def look(address: Endpoint, timeout_s: float) -> Look:
    """One look at a broker's tree. Raises AskError."""
    nodes: dict[tuple[str, ...], Node] = {}
    path: list[str] = []
    for row in read_tree(address, depth=DEPTH, timeout_s=timeout_s).rows:
        path[row.depth :] = [row.name]
        figures = {one.name: value_of(one) for one in row.figures}
        nodes[tuple(path)] = Node(row.kind, row.name, figures)
    return Look(time.monotonic(), nodes)


def lines(before: Look | None, after: Look) -> Iterator[str]:
    """What is printed of a look, with what has changed since the one before."""
    first = before is None
    earlier = {} if before is None else before.nodes
    seconds = 0.0 if before is None else after.at - before.at
    yield from _loops(earlier, after, seconds)
    yield ""
    yield from _requests(earlier, after, seconds)
    yield ""
    yield from _queues(earlier, after, seconds)
    if first:
        yield "Since the start; rates come with the next look."


def _loops(earlier: Mapping[tuple[str, ...], Node], after: Look, seconds: float) -> Iterator[str]:
    rows = []
    for path, node in after.nodes.items():
        if path[-1] != "turn":
            continue
        past = earlier.get(path)
        connections = sum(
            one.number("connections")
            for at, one in after.nodes.items()
            if one.kind == "selector" and at[: len(path) - 1] == path[:-1]
        )
        rows.append(
            [
                path[-2],
                f"{connections:.0f}",
                _rate(past, node, "passes", seconds),
                f"{_share(past, node, seconds):.1f}" if past else "-",
                f"{_mean(past, node, 'wake_ms', 'wakes'):.3f}",
                f"{node.number('lag_ms'):.1f}",
                f"{node.number('tasks'):.0f}",
            ]
        )
    head = ("plane", "connections", "passes/s", "busy %", "wake ms", "lag ms", "tasks")
    yield from columns(head, rows, [LEFT, *[RIGHT] * (len(head) - 1)])


def _requests(
    earlier: Mapping[tuple[str, ...], Node], after: Look, seconds: float
) -> Iterator[str]:
    rows = []
    for path, node in after.nodes.items():
        if len(path) < 3 or path[-2] != "requests":
            continue
        past = earlier.get(path)
        means = [
            f"{_mean(past, node, f'{hop}_ms', 'count'):.3f}"
            for hop in ("queue", "local", "remote", "response_queue", "send", "total")
        ]
        count = node.number("count") - (past.number("count") if past else 0.0)
        maximum = f"{node.number('total_max_ms'):.1f}"
        name = node.name if path[1] == "plane data" else f"{node.name} ({path[1]})"
        rate = _rate(past, node, "count", seconds)
        rows.append((count, [name, rate, *means, maximum]))
    rows.sort(key=lambda row: -row[0])
    head = ("API", "/s", "queue ms", "local", "remote", "resp.q", "send", "total", "max")
    yield from columns(head, [row for _, row in rows], [LEFT, *[RIGHT] * (len(head) - 1)])


_WAITING: Final = {"channel": "depth", "purgatory": "waiting", "limiter": "waiting"}
_DONE: Final = {"channel": "items", "purgatory": "completed", "limiter": "taken"}
_BOUND: Final = {"channel": "bound", "limiter": "tokens"}


def _queues(earlier: Mapping[tuple[str, ...], Node], after: Look, seconds: float) -> Iterator[str]:
    rows = []
    for path, node in after.nodes.items():
        kind = node.kind
        if kind not in _WAITING:
            continue
        bound = node.figures.get(_BOUND.get(kind, ""))
        oldest = node.figures.get("oldest_s")
        rows.append(
            [
                "/".join(path[1:]),
                f"{node.number(_WAITING[kind]):.0f}",
                "-" if bound is None else str(bound),
                f"{node.number('high_water'):.0f}",
                f"{float(oldest):.3f}" if isinstance(oldest, int | float) else "-",
                _rate(earlier.get(path), node, _DONE[kind], seconds),
            ]
        )
    head = ("what waits", "now", "bound", "most", "oldest s", "done/s")
    yield from columns(head, rows, [LEFT, *[RIGHT] * (len(head) - 1)])


def _rate(past: Node | None, node: Node, figure: str, seconds: float) -> str:
    if not seconds:
        return "-"
    before = past.number(figure) if past else 0.0
    return f"{max(node.number(figure) - before, 0.0) / seconds:.1f}"


def _share(past: Node, node: Node, seconds: float) -> float:
    """Percent of the time in which the loop did not sleep."""
    return 100 * max(node.number("busy_s") - past.number("busy_s"), 0.0) / (seconds or 1.0)


def _mean(past: Node | None, node: Node, figure: str, count: str) -> float:
    """The sum of a figure by a count, between two looks; since the start if there was none."""
    total, many = node.number(figure), node.number(count)
    if past is not None:
        total, many = total - past.number(figure), many - past.number(count)
    return total / many if many > 0 else 0.0
