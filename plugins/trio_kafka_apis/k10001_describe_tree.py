"""DescribeTree (key 10001, ours): what runs and what waits in this node, with figures read now.

Waits for nobody, but works in slices: between two of them others run, so the answer is no single
moment. A node that leaves meanwhile is left out or shown as it was, and one whose figures fail says
so. Anybody may ask, on any listener; the tree holds no secrets. Rows, and the text of a figure, are
bounded: clients choose some of these texts. Whoever asks for kinds (v1) costs a step for each other
node, but no look at its figures.
"""

from collections.abc import Container, Iterable, Iterator, Sequence
from functools import lru_cache
from struct import Struct
from typing import Final

import trio

from trio_kafka.plugin import Context, Encoded, ErrorCode, KafkaError, Node, api, to_bytes
from trio_kafka.protocol.messages.k10001_describe_tree import (
    BOOLEAN,
    INTEGER,
    NULL,
    REAL,
    TEXT,
    DescribeTreeRequest,
    DescribeTreeResponse,
)

MOST: Final = 5000  # rows of an answer
SLICE: Final = 16  # rows between two checkpoints: 0.1 ms with eight figures each
PASSED: Final = 128  # nodes passed over between two checkpoints: 0.04 ms
KINDS: Final = 64  # kinds of a request
LONGEST: Final = 256  # characters of a figure's text
_COUNT_SIZE: Final = 4  # bytes of an array's length
_INT32: Final = Struct(">i").pack
_INT16: Final = Struct(">h").pack

Step = tuple[int, Node]
"""A node of a walk, with its depth before it."""


@api(DescribeTreeRequest)
async def describe_tree(request: DescribeTreeRequest, context: Context) -> Encoded:
    version = context.version
    top = find(context.tree, request.path or "")
    most = MOST if request.max_nodes < 0 else min(request.max_nodes, MOST)
    rows: list[bytes] = []
    truncated = False
    for step in choose(walk(top, request.max_depth), request.kinds):
        if step is not None:
            if len(rows) >= most:
                truncated = True
                break
            rows.append(encode_row(*step))
        if step is None or not len(rows) % SLICE:
            await trio.lowlevel.checkpoint()
    await trio.lowlevel.checkpoint()
    # Encoding them all at once would take longer than a turn: only their number is put before them.
    empty = to_bytes(DescribeTreeResponse(truncated=truncated), version)
    return Encoded(b"".join([empty[:-_COUNT_SIZE], len(rows).to_bytes(_COUNT_SIZE), *rows]))


def find(root: Node, path: str) -> Node:
    """The node of a path, which may leave out the root's name; "" is the root.

    Raises KafkaError(RESOURCE_NOT_FOUND).
    """
    if path in ("", root.name):
        return root
    found = _find_below(root, path.removeprefix(f"{root.name}/")) or _find_below(root, path)
    if found is None:
        raise KafkaError(
            ErrorCode.RESOURCE_NOT_FOUND, f"{root.name} has no node {path[:LONGEST]!r}"
        )
    return found


def _find_below(node: Node, path: str) -> Node | None:
    """Names may contain slashes themselves, as listeners' do: so names are tried, not parts."""
    for child in node.children:
        if path.startswith(child.name):
            rest = path[len(child.name) :]
            if not rest:
                return child
            if rest[0] == "/" and (found := _find_below(child, rest[1:])) is not None:
                return found
    return None


def walk(top: Node, max_depth: int) -> Iterator[Step]:
    """Nodes before their children, each with its depth.

    Children are looked up when it is their parent's turn; those that have left since then are
    passed over.
    """
    yield 0, top
    below = [iter(top.children)] if max_depth else []
    while below:
        node = next(below[-1], None)
        if node is None:
            below.pop()
        elif node.parent is not None:
            depth = len(below)
            yield depth, node
            if depth != max_depth:
                below.append(iter(node.children))


def choose(nodes: Iterator[Step], kinds: Sequence[str]) -> Iterator[Step | None]:
    """Those of a walk that are asked for; None, for others to run, after PASSED that are not.

    kinds: as the request has them. Raises KafkaError(INVALID_REQUEST) if they are too many.
    """
    if len(kinds) > KINDS:
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"{len(kinds)} kinds: at most {KINDS}")
    return _of_kinds(nodes, frozenset(kinds)) if kinds else nodes


def _of_kinds(nodes: Iterable[Step], kinds: Container[str]) -> Iterator[Step | None]:
    """The top, nodes of these kinds, and before each those of its ancestors not given yet."""
    passed = 0
    leading: list[Step] = []  # to the node in hand, and not given yet
    for step in nodes:
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


def encode_row(depth: int, node: Node) -> bytes:
    """A node with its figures, read now: a TreeRow of version 0.

    Written here and not by the compiler's codec: of 1,000 connections the messages alone would be
    more than the whole may cost.
    """
    parts = [_INT32(depth), _name(node.kind), _text(node.name), b""]
    count = len(parts)
    try:
        for name, value in node.figures().items():
            parts.append(_name(name))
            parts.append(_figure(value))
    except Exception as error:  # noqa: BLE001 - one node's bug must not hide the others
        del parts[count:]
        parts += _name("figures"), _figure(f"failed: {type(error).__name__}")
    parts[count - 1] = _INT32((len(parts) - count) // 2)
    return b"".join(parts)


def _figure(value: float | str | bool | None) -> bytes:
    """A figure's kind and value."""
    if value is None:
        return _NULL
    if value is True:
        return _TRUE
    if value is False:
        return _FALSE
    if isinstance(value, int):
        data = b"%d" % value
        return b"%c%b%b" % (INTEGER, _INT16(len(data)), data)
    if isinstance(value, float):
        data = repr(value).encode()
        return b"%c%b%b" % (REAL, _INT16(len(data)), data)
    return b"%c%b" % (TEXT, _text(value[:LONGEST]))


def _text(text: str) -> bytes:
    data = text.encode()
    return _INT16(len(data)) + data


@lru_cache(maxsize=1024)
def _name(text: str) -> bytes:
    """Of texts that come again and again."""
    return _text(text)


_NULL: Final = bytes([NULL]) + _text("")
_TRUE: Final = bytes([BOOLEAN]) + _text("true")
_FALSE: Final = bytes([BOOLEAN]) + _text("false")
