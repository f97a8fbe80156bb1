"""What a node does, from two looks at its tree.

A rate is what was counted between two looks; a mean time is of the requests that ended between
them. One look alone has no rates, and its means are of all that has been since the start. A counter
that went back began anew meanwhile: its rate is 0.
"""

from collections.abc import Mapping, Sequence
from typing import Final, get_args

from trio_kafka.attributes import frozen
from trio_kafka.introspect.tree import Figures, Kind

NUMEROUS: Final = ("connection", "file", "group", "log", "member", "partition")
"""The kinds of nodes of which there may be thousands."""
WORKING: Final = tuple(kind for kind in get_args(Kind) if kind not in NUMEROUS)
"""The others: those that a look needs."""
HOPS: Final = ("queue", "local", "remote", "response_queue", "send")
"""The ways of a request whose times are counted, in their order; `total` is from end to end."""


@frozen
class NodeLook:
    """One node of a look."""

    kind: str
    name: str
    figures: Figures

    def number(self, figure: str) -> float:
        """A figure; 0 where there is none."""
        value = self.figures.get(figure)
        return float(value) if isinstance(value, int | float) else 0.0


Path = tuple[str, ...]
"""The names from the root down, the root's first."""


@frozen
class Look:
    """A tree, or a part of it, and when it was read: seconds of any clock."""

    at: float
    nodes: Mapping[Path, NodeLook]


@frozen(kw_only=True)
class LoopLoad:
    """What the loop of a plane does. wake_ms: from wake to run, a mean; lag_ms: the longest turn
    of late.
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
    """Requests of one API. hops_ms: means by name of `HOPS`."""

    plane: str
    api: str
    count: int
    per_s: float | None
    hops_ms: Mapping[str, float]
    total_ms: float
    total_max_ms: float


@frozen(kw_only=True)
class QueueLoad:
    """What waits in one place. path: below the root, joined by slashes.

    taken: of a limiter's tokens, None elsewhere. bound: None where there is none. most: that ever
    waited. None, too, is what a node does not tell; oldest_s also where nothing waits.
    """

    path: str
    kind: str
    waiting: int
    taken: int | None
    bound: int | None
    most: int | None
    oldest_s: float | None
    done_per_s: float | None


def loops(before: Look | None, after: Look) -> list[LoopLoad]:
    """Of each plane."""
    found = []
    for path, node in after.nodes.items():
        if path[-1] != "turn" or len(path) < 2:
            continue
        past = _past(before, path)
        loop = LoopLoad(
            plane=path[-2],
            connections=_connections(after, path[:-1]),
            passes_per_s=rate(before, after, path, "passes"),
            busy_percent=None if past is None else _busy_percent(before, after, path),
            wake_ms=_mean(past, node, "wake_ms", "wakes"),
            lag_ms=node.number("lag_ms"),
            tasks=int(node.number("tasks")),
        )
        found.append(loop)
    return found


def api_loads(before: Look | None, after: Look) -> list[ApiLoad]:
    """Of each API that has been asked, by what was asked most between the looks."""
    found = []
    for path, node in after.nodes.items():
        if len(path) < 3 or path[-2] != "requests":
            continue
        past = _past(before, path)
        count = node.number("count") - (past.number("count") if past else 0.0)
        load = ApiLoad(
            plane=path[-3],
            api=node.name,
            count=int(node.number("count")),
            per_s=rate(before, after, path, "count"),
            hops_ms={hop: _mean(past, node, f"{hop}_ms", "count") for hop in HOPS},
            total_ms=_mean(past, node, "total_ms", "count"),
            total_max_ms=node.number("total_max_ms"),
        )
        found.append((count, load))
    found.sort(key=lambda one: -one[0])
    return [load for _, load in found]


_WAITING: Final = {"channel": "depth", "purgatory": "waiting", "limiter": "waiting"}
_DONE: Final = {"channel": "items", "purgatory": "completed"}
_BOUND: Final = {"channel": "bound", "limiter": "tokens"}
QUEUES: Final = tuple(_WAITING)
"""The kinds of nodes in which something waits."""


def queues(before: Look | None, after: Look) -> list[QueueLoad]:
    """Of every place in which something may wait, in the order of the tree."""
    return [
        _queue(before, after, path) for path, node in after.nodes.items() if node.kind in _WAITING
    ]


def _queue(before: Look | None, after: Look, path: Path) -> QueueLoad:
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
        done_per_s=rate(before, after, path, _DONE.get(kind, "")),
    )


def _count(node: NodeLook, figure: str) -> int | None:
    value = node.figures.get(figure)
    return value if isinstance(value, int) else None


def rate(before: Look | None, after: Look, path: Sequence[str], figure: str) -> float | None:
    """A second, between two looks; what has come since the first of them counts from nothing.

    None where there is one look only, and of what a node does not count.
    """
    path = tuple(path)
    if before is None or after.at <= before.at or figure not in after.nodes[path].figures:
        return None
    past = before.nodes.get(path)
    counted = after.nodes[path].number(figure) - (past.number(figure) if past else 0.0)
    return max(counted, 0.0) / (after.at - before.at)


def _past(before: Look | None, path: Path) -> NodeLook | None:
    return None if before is None else before.nodes.get(path)


def _connections(look: Look, plane: Path) -> int:
    found = (
        node.number("connections")
        for path, node in look.nodes.items()
        if node.kind == "selector" and path[: len(plane)] == plane
    )
    return int(sum(found))


def _busy_percent(before: Look | None, after: Look, path: Path) -> float | None:
    """Of the time in which the loop did not sleep."""
    busy = rate(before, after, path, "busy_s")
    return None if busy is None else 100 * busy


def _mean(past: NodeLook | None, node: NodeLook, figure: str, count: str) -> float:
    """The sum of a figure by a count, between two looks; since the start if there was none."""
    total, many = node.number(figure), node.number(count)
    if past is not None:
        total, many = total - past.number(figure), many - past.number(count)
    return total / many if many > 0 else 0.0
