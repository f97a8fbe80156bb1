"""DescribeTree (key 10001): describe a node's tasks and queues as a tree. Ours, not Kafka's."""

from typing import ClassVar, Final

from trio_kafka.protocol.fields import array, boolean, int8, int16, int32, string
from trio_kafka.protocol.schema import data, request, response, struct

# Kinds of figures, and how `TreeFigure.value` is written.
NULL: Final = 0  # empty
BOOLEAN: Final = 1  # "true" or "false"
INTEGER: Final = 2  # decimal digits
REAL: Final = 3  # the shortest text that reads back as the same float64
TEXT: Final = 4


@request(key=10001, versions="0-1")
class DescribeTreeRequest:
    """Selection of a part of the tree.

    path: names from the root down, joined by slashes; null: the root.
    max_depth: levels below that node; 0: the node alone, -1: all. max_nodes: -1: the server's
    bound.
    kinds: only nodes of these kinds and their ancestors; empty: all. The top node is always
    included.
    """

    response: ClassVar[type["DescribeTreeResponse"]]

    path: str | None = string(nullable="0+", default=None)
    max_depth: int = int32(default=-1)
    max_nodes: int = int32(default=-1)
    kinds: list[str] = array(string, "1+")


@struct
class TreeFigure:
    """One figure of a node: a number or a short text."""

    name: str = string(cached=True)
    kind: int = int8()
    value: str = string()


@data(versions="0")
class TreeRow:
    """One node; a message of its own, so that rows can be encoded a few at a time."""

    depth: int = int32()
    kind: str = string(cached=True)
    name: str = string()
    figures: list[TreeFigure] = array(TreeFigure)


@response(DescribeTreeRequest)
class DescribeTreeResponse:
    """Nodes in depth-first order, siblings in their order of creation.

    truncated: more nodes matched than were allowed; a limit of depth does not count. The rows are
    the last field, so that they can be encoded one by one after the rest.
    """

    error_code: int = int16()
    error_message: str | None = string(nullable="0+", default=None)
    truncated: bool = boolean()
    rows: list[TreeRow] = array(TreeRow)
