"""Reader of the tree in process: what DescribeTree answers, as values and without wire bytes.

It works in slices, so a reading is no snapshot of one moment. A node that leaves meanwhile is left
out or shown as it was. If the figures or the children of a node cannot be read, its row or a row
below it says so, and the others are complete. The number of rows and the length of texts are
bounded, because clients choose some texts. Permissions are the caller's matter.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from itertools import chain
from math import isfinite
from typing import Final

import trio
from attrs import field

from trio_kafka.attributes import frozen
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.introspect.snapshots import NodeSnapshot, Path, TreeSnapshot
from trio_kafka.introspect.tree import Figure, Figures, Node

MOST: Final = 5000  # rows of one reading
SLICE: Final = 32  # rows between two checkpoints
PASSED: Final = 128  # nodes passed over between two checkpoints: 0.04 ms
KINDS: Final = 64  # kinds in one reading
LONGEST: Final = 256  # characters of a figure's text
LONGEST_NAME: Final = 500  # characters of a name; a Node cuts it earlier

Step = tuple[int, Node]
"""Depth and node."""


@frozen(kw_only=True)
class TreeRow:
    """One node as it was read. path: names from the top of the reading down to the node.

    figures: values that JSON knows; a number that it lacks (inf, nan) is a text.
    """

    path: Path
    kind: str
    name: str
    figures: Figures

    @property
    def depth(self) -> int:
        """Depth below the top of the reading."""
        return len(self.path) - 1


@frozen
class TreeReading:
    """Rows, parents before children. truncated: there are more.

    unread: number of nodes behind the rows, by their kind; empty unless they were counted.
    """

    rows: Sequence[TreeRow]
    truncated: bool
    unread: Mapping[str, int] = field(factory=dict)

    def snapshot(self, at: float) -> TreeSnapshot:
        """Return the nodes by path. The last node of a repeated path wins. at: time of reading."""
        nodes = {row.path: NodeSnapshot(row.kind, row.name, row.figures) for row in self.rows}
        return TreeSnapshot(at, nodes)


async def read_tree(
    root: Node,
    *,
    path: str = "",
    depth: int = -1,
    most: int = -1,
    kinds: Sequence[str] = (),
    counts: bool = False,
) -> TreeReading:
    """Read a part of the tree.

    path: of its top; may leave out the root's name. depth, most: -1: all, as far as bounds allow.
    kinds: read the nodes of these kinds, with their ancestors; none means all.
    counts: count the nodes behind the last row, too; a node that is only counted costs 1 µs, as its
        figures are not read.
    Raises KafkaError: RESOURCE_NOT_FOUND, INVALID_REQUEST for too many kinds.
    """
    bound = MOST if most < 0 else min(most, MOST)
    rows: list[TreeRow] = []
    names: list[str] = []
    steps = walk(find(root, path), depth, kinds)
    unread = dict[str, int]()
    truncated = False
    for step in steps:
        if step is not None:
            if len(rows) >= bound:
                truncated = True
                if counts:
                    unread = await _count(chain([step], steps))
                break
            level, node = step
            if node.is_crowded:  # its figures are a pass over its children
                await trio.lowlevel.checkpoint()
            names[level:] = [_printable(node.name[:LONGEST_NAME])]
            rows.append(
                TreeRow(path=tuple(names), kind=node.kind, name=names[-1], figures=read(node))
            )
        if step is None or step[1].is_crowded or not len(rows) % SLICE:
            await trio.lowlevel.checkpoint()
    await trio.lowlevel.checkpoint()
    return TreeReading(rows, truncated, unread)


async def _count(steps: Iterable[Step | None]) -> dict[str, int]:
    """Return the number of nodes by kind."""
    counts = dict[str, int]()
    for number, step in enumerate(steps, 1):
        if step is not None:
            kind = step[1].kind
            counts[kind] = counts.get(kind, 0) + 1
        if step is None or not number % PASSED:
            await trio.lowlevel.checkpoint()
    return counts


def find(root: Node, path: str) -> Node:
    """Return the node of a path, which may leave out the root's name; "" is the root.

    Raises KafkaError(RESOURCE_NOT_FOUND).
    """
    if path in ("", root.name):
        return root
    node = _find_below(root, path.removeprefix(f"{root.name}/")) or _find_below(root, path)
    if node is None:
        raise KafkaError(
            ErrorCode.RESOURCE_NOT_FOUND, f"{root.name} has no node {path[:LONGEST]!r}"
        )
    return node


def _find_below(node: Node, path: str) -> Node | None:
    """Return the node of a path by trying whole names: a name may contain slashes."""
    for child in node.children:
        if path.startswith(child.name):
            rest = path[len(child.name) :]
            if not rest:
                return child
            if rest[0] == "/" and (below := _find_below(child, rest[1:])) is not None:
                return below
    return None


def walk(top: Node, max_depth: int, kinds: Sequence[str] = ()) -> Iterator[Step | None]:
    """Yield nodes before their children, each with its depth, and None after each PASSED others.

    kinds: yield the nodes of these kinds with their ancestors, and the top; none means all.
    Children are listed when their parent is reached. Those that have left since are skipped.
    Raises KafkaError(INVALID_REQUEST) for too many kinds.
    """
    if len(kinds) > KINDS:
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"{len(kinds)} kinds: expected at most {KINDS}")
    chosen = frozenset(kinds)
    nodes = _walk(top, max_depth, chosen)
    return _of_kinds(nodes, chosen) if chosen else nodes


def _walk(top: Node, max_depth: int, kinds: Set[str]) -> Iterator[Step | None]:
    """Yield nodes before their children, without those of other kinds that have no children."""
    yield 0, top
    below = [iter(_children(top))] if max_depth else []
    passed = 0
    while below:
        node = next(below[-1], None)
        if node is None:
            below.pop()
        elif node.parent is None:
            continue
        elif kinds and node.is_leaf and node.kind not in kinds:  # most are connections and logs
            passed += 1
            if not passed % PASSED:
                yield None
        else:
            depth = len(below)
            yield depth, node
            if depth != max_depth:
                below.append(iter(_children(node)))


def _children(node: Node) -> Sequence[Node]:
    """Return the children of a node; one that says why they cannot be listed."""
    try:
        return node.children
    except Exception as error:  # noqa: BLE001 - a bug of one node must not hide the others
        return (Node(f"children failed: {type(error).__name__}", "part", parent=node),)


def _of_kinds(steps: Iterable[Step | None], kinds: Set[str]) -> Iterator[Step | None]:
    """Yield the top and the nodes of these kinds, each after its ancestors."""
    passed = 0
    leading: list[Step] = []  # ancestors of the current node that were not yielded yet
    for step in steps:
        if step is None:
            yield None
            continue
        depth, node = step
        while leading and leading[-1][0] >= depth:
            leading.pop()
        if node.kind in kinds or not depth:
            yield from leading
            leading.clear()
            yield step
        else:
            leading.append(step)
            passed += 1
            if not passed % PASSED:
                yield None


def read(node: Node) -> dict[str, Figure]:
    """Return the current figures of a node; one that says why they cannot be read."""
    try:
        return {name: _value(figure) for name, figure in node.figures().items()}
    except Exception as error:  # noqa: BLE001 - a bug of one node must not hide the others
        return {"figures": f"failed: {type(error).__name__}"}


def _value(figure: Figure) -> Figure:
    """Return a figure as a value that JSON knows."""
    if isinstance(figure, str):
        return _printable(figure[:LONGEST])
    if isinstance(figure, float) and not isfinite(figure):
        return repr(figure)
    return figure


def _printable(text: str) -> str:
    """Return a text that can be encoded: names of files may be no text."""
    return text if text.isascii() else text.encode(errors="backslashreplace").decode()
