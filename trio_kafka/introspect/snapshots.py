"""Loads of a node, from two snapshots of its tree.

A rate is what was counted between two snapshots, a mean time that of the requests which ended
between them. A single snapshot has no rates, and its means are those since the start. A counter
that decreased was restarted: its rate is 0.
"""

from collections.abc import Mapping, Sequence
from typing import Final, get_args

from trio_kafka.attributes import frozen
from trio_kafka.introspect.tree import Figures, NodeKind

NUMEROUS: Final = ("connection", "file", "group", "log", "member", "partition", "transaction")
"""Kinds of nodes that may be thousands."""
WORKING: Final = tuple(kind for kind in get_args(NodeKind) if kind not in NUMEROUS)
"""Other kinds: those that a snapshot needs."""
HOPS: Final = ("queue", "local", "remote", "response_queue", "send")
"""Timed hops of a request, in order; `total` is the time of all."""


@frozen
class NodeSnapshot:
    """One node of a snapshot."""

    kind: str
    name: str
    figures: Figures

    def number(self, figure: str) -> float:
        """Return a figure; 0 if the node has none."""
        value = self.figures.get(figure)
        return float(value) if isinstance(value, int | float) else 0.0


Path = tuple[str, ...]
"""Names from the root down, including the root."""


@frozen
class TreeSnapshot:
    """A tree, or a part of it. at: when it was read, in seconds of any clock."""

    at: float
    nodes: Mapping[Path, NodeSnapshot]


@frozen(kw_only=True)
class LoopLoad:
    """Load of the loop, as a plane sees it.

    wake_ms: mean time from wake to run. lag_ms: longest pass of the last minute or two.
    """

    plane: str
    connections: int
    passes_per_s: float | None
    busy_percent: float | None
    wake_ms: float
    lag_ms: float
    tasks: int


@frozen(kw_only=True)
class ApiLoad:
    """Load of one API. hops_ms: mean times by name of `HOPS`."""

    plane: str
    api: str
    count: int
    per_s: float | None
    hops_ms: Mapping[str, float]
    total_ms: float
    total_max_ms: float


@frozen(kw_only=True)
class QueueLoad:
    """Load of a channel, purgatory or limiter. path: below the root, joined by slashes.

    taken: tokens in use; None: not a limiter. bound: None: unbounded. most: high-water mark.
    oldest_s: None: nothing waits. Figures that a node does not have are None, too.
    """

    path: str
    kind: str
    waiting: int
    taken: int | None
    bound: int | None
    most: int | None
    oldest_s: float | None
    done_per_s: float | None


def loops(before: TreeSnapshot | None, after: TreeSnapshot) -> list[LoopLoad]:
    """Return the load of the loop for each plane."""
    loads = []
    for path, node in after.nodes.items():
        if path[-1] != "loop" or len(path) < 2:
            continue
        past = _past(before, path)
        loop = LoopLoad(
            plane=path[-2],
            connections=_connections(after, path[:-1]),
            passes_per_s=rate(before, after, path, figure="passes"),
            busy_percent=None if past is None else _busy_percent(before, after, path),
            wake_ms=_mean(past, node, "wake_ms", count="wakes"),
            lag_ms=node.number("lag_ms"),
            tasks=int(node.number("tasks")),
        )
        loads.append(loop)
    return loads


def api_loads(before: TreeSnapshot | None, after: TreeSnapshot) -> list[ApiLoad]:
    """Return the load of each API, the most requested between the snapshots first."""
    counted = []
    for path, node in after.nodes.items():
        if len(path) < 3 or path[-2] != "requests":
            continue
        past = _past(before, path)
        count = node.number("count") - (past.number("count") if past else 0.0)
        load = ApiLoad(
            plane=path[-3],
            api=node.name,
            count=int(node.number("count")),
            per_s=rate(before, after, path, figure="count"),
            hops_ms={hop: _mean(past, node, f"{hop}_ms", count="count") for hop in HOPS},
            total_ms=_mean(past, node, "total_ms", count="count"),
            total_max_ms=node.number("total_max_ms"),
        )
        counted.append((count, load))
    counted.sort(key=lambda row: -row[0])
    return [load for _, load in counted]


_WAITING: Final = {"channel": "depth", "purgatory": "waiting", "limiter": "waiting"}
_DONE: Final = {"channel": "items", "purgatory": "completed"}
_BOUND: Final = {"channel": "bound", "limiter": "tokens"}
QUEUES: Final = tuple(_WAITING)
"""Kinds of nodes in which something waits."""


def queues(before: TreeSnapshot | None, after: TreeSnapshot) -> list[QueueLoad]:
    """Return the load of each channel, purgatory and limiter, in the order of the tree."""
    return [
        _queue(before, after, path) for path, node in after.nodes.items() if node.kind in _WAITING
    ]


def _queue(before: TreeSnapshot | None, after: TreeSnapshot, path: Path) -> QueueLoad:
    node = after.nodes[path]
    kind = node.kind
    oldest = node.figures.get("oldest_s")
    return QueueLoad(
        path="/".join(path[1:]),
        kind=kind,
        waiting=int(node.number(_WAITING[kind])),
        taken=int(node.number("borrowed")) if kind == "limiter" else None,
        bound=_count(node, _BOUND.get(kind, "")),
        most=_count(node, "high_water"),
        oldest_s=float(oldest) if isinstance(oldest, int | float) else None,
        done_per_s=rate(before, after, path, figure=_DONE.get(kind, "")),
    )


def _count(node: NodeSnapshot, figure: str) -> int | None:
    value = node.figures.get(figure)
    return value if isinstance(value, int) else None


def rate(
    before: TreeSnapshot | None, after: TreeSnapshot, path: Sequence[str], *, figure: str
) -> float | None:
    """Return the rate per second of a figure; None without a second snapshot or without the figure.

    A node that was added since the first snapshot counts from 0.
    """
    path = tuple(path)
    if before is None or after.at <= before.at or figure not in after.nodes[path].figures:
        return None
    past = before.nodes.get(path)
    counted = after.nodes[path].number(figure) - (past.number(figure) if past else 0.0)
    return max(counted, 0.0) / (after.at - before.at)


def _past(before: TreeSnapshot | None, path: Path) -> NodeSnapshot | None:
    return None if before is None else before.nodes.get(path)


def _connections(look: TreeSnapshot, plane: Path) -> int:
    counts = (
        node.number("connections")
        for path, node in look.nodes.items()
        if node.kind == "selector" and path[: len(plane)] == plane
    )
    return int(sum(counts))


def _busy_percent(before: TreeSnapshot | None, after: TreeSnapshot, path: Path) -> float | None:
    """Return the share of time in which the loop did not sleep; None: by a virtual clock, which
    stands still while the loop works.
    """
    if after.nodes[path].figures.get("idle_s") == 0:
        return None
    busy = rate(before, after, path, figure="busy_s")
    # The figure is read a moment after the time of its snapshot, once more and once less.
    return None if busy is None else min(100 * busy, 100.0)


def _mean(past: NodeSnapshot | None, node: NodeSnapshot, figure: str, *, count: str) -> float:
    """Return figure by count between two snapshots, or since the start."""
    total, many = node.number(figure), node.number(count)
    if past is not None:
        total, many = total - past.number(figure), many - past.number(count)
    return total / many if many > 0 else 0.0
