"""DescribeTree (key 10001, ours): list the tasks and parts of this node, with current figures.

Never waits, but works in slices, so the response is no snapshot of one moment. A node that leaves
meanwhile is left out or shown as it was. If the figures or the children of a node cannot be read,
its row or a row below it says so, and the others are complete.
The number of rows and the length of texts are bounded, because clients choose some texts. A request
for kinds (version 1) visits every node, but reads the figures of those kinds only.

Needs DESCRIBE on the cluster. The tree contains no secrets.
"""

from collections.abc import Container, Iterable, Iterator, Sequence
from functools import lru_cache
from struct import Struct
from typing import Final

import trio

from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.introspect.tree import Node
from trio_kafka.protocol.compiler import to_bytes
from trio_kafka.protocol.messages.k10001_describe_tree import (
    BOOLEAN,
    INTEGER,
    NULL,
    REAL,
    TEXT,
    DescribeTreeRequest,
    DescribeTreeResponse,
)
from trio_kafka.requests.api import api
from trio_kafka.requests.context import Context
from trio_kafka.requests.replies import Encoded
from trio_kafka.security.operations import Operation

MOST: Final = 5000  # rows of one response
SLICE: Final = 16  # rows between two checkpoints: 0.1 ms with eight figures each
PASSED: Final = 128  # nodes passed over between two checkpoints: 0.04 ms
KINDS: Final = 64  # kinds in one request
LONGEST: Final = 256  # characters of a figure's text
LONGEST_NAME: Final = 500  # characters of a name; a Node cuts it earlier
_COUNT_SIZE: Final = 4  # bytes of an array's length
_INT32: Final = Struct(">i").pack
_INT16: Final = Struct(">h").pack

Step = tuple[int, Node]
"""Depth and node."""


@api(DescribeTreeRequest)
async def describe_tree(request: DescribeTreeRequest, context: Context) -> Encoded:
    context.authorize(Operation.DESCRIBE, cluster=True)
    version = context.version
    top = find(context[Node], request.path or "")
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
    # The rows are encoded already: encoding all of them now would take longer than a slice.
    empty = to_bytes(DescribeTreeResponse(truncated=truncated), version)
    return Encoded(b"".join([empty[:-_COUNT_SIZE], len(rows).to_bytes(_COUNT_SIZE), *rows]))


def find(root: Node, path: str) -> Node:
    """Return the node of a path, which may leave out the root's name; "" is the root.

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
    """Return the node of a path by trying whole names: a name may contain slashes."""
    for child in node.children:
        if path.startswith(child.name):
            rest = path[len(child.name) :]
            if not rest:
                return child
            if rest[0] == "/" and (found := _find_below(child, rest[1:])) is not None:
                return found
    return None


def walk(top: Node, max_depth: int) -> Iterator[Step]:
    """Yield nodes before their children, each with its depth.

    Children are listed when their parent is reached. Those that have left since are skipped.
    """
    yield 0, top
    below = [iter(_children(top))] if max_depth else []
    while below:
        node = next(below[-1], None)
        if node is None:
            below.pop()
        elif node.parent is not None:
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


def choose(nodes: Iterator[Step], kinds: Sequence[str]) -> Iterator[Step | None]:
    """Yield the steps of a walk with these kinds, and None after each PASSED others.

    kinds: from the request; none means all. Raises KafkaError(INVALID_REQUEST) for too many.
    """
    if len(kinds) > KINDS:
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"{len(kinds)} kinds: expected at most {KINDS}")
    return _of_kinds(nodes, frozenset(kinds)) if kinds else nodes


def _of_kinds(nodes: Iterable[Step], kinds: Container[str]) -> Iterator[Step | None]:
    """Yield the top and the nodes of these kinds, each after its ancestors."""
    passed = 0
    leading: list[Step] = []  # ancestors of the current node that were not yielded yet
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
    """Return a node with its current figures as an encoded TreeRow.

    Encoded here and not by the compiler's codec, whose messages would cost more than the whole
    request may cost for 1,000 connections.
    """
    parts = [_INT32(depth), _name(node.kind), _text(node.name), b""]
    count = len(parts)
    try:
        for name, value in node.figures().items():
            parts.append(_name(name))
            parts.append(_figure(value))
    except Exception as error:  # noqa: BLE001 - a bug of one node must not hide the others
        del parts[count:]
        parts += _name("figures"), _figure(f"failed: {type(error).__name__}")
    parts[count - 1] = _INT32((len(parts) - count) // 2)
    return b"".join(parts)


def _figure(value: float | str | bool | None) -> bytes:
    """Return the kind and the value of a figure."""
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
    data = text[:LONGEST_NAME].encode(errors="backslashreplace")  # names of files may be no text
    return _INT16(len(data)) + data


@lru_cache(maxsize=1024)
def _name(text: str) -> bytes:
    """Return a text that is encoded often."""
    return _text(text)


_NULL: Final = bytes([NULL]) + _text("")
_TRUE: Final = bytes([BOOLEAN]) + _text("true")
_FALSE: Final = bytes([BOOLEAN]) + _text("false")
