"""DescribeTree (key 10001, ours): list the tasks and parts of this node, with current figures.

Never waits, but works in slices, so the response is no snapshot of one moment. A node that leaves
meanwhile is left out or shown as it was. If the figures or the children of a node cannot be read,
its row or a row below it says so, and the others are complete.
The number of rows and the length of texts are bounded, because clients choose some texts. A request
for kinds (version 1) visits every node, but reads the figures of those kinds only.

Needs DESCRIBE on the cluster. The tree contains no secrets.
"""

from functools import lru_cache
from struct import Struct
from typing import Final

import trio

from trio_kafka.introspect.tree import Node
from trio_kafka.introspect.tree_reader import LONGEST, LONGEST_NAME, MOST, find, walk
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

SLICE: Final = 16  # rows between two checkpoints: 0.1 ms with eight figures each
_COUNT_SIZE: Final = 4  # bytes of an array's length
_INT32: Final = Struct(">i").pack
_INT16: Final = Struct(">h").pack


@api(DescribeTreeRequest)
async def describe_tree(request: DescribeTreeRequest, context: Context) -> Encoded:
    context.authorize(Operation.DESCRIBE, cluster=True)
    version = context.version
    top = find(context[Node], request.path or "")
    most = MOST if request.max_nodes < 0 else min(request.max_nodes, MOST)
    rows: list[bytes] = []
    truncated = False
    for step in walk(top, request.max_depth, request.kinds):
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
