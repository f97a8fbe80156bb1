"""DescribeTree (key 10001): what runs and what waits in a node, as a tree. Ours, not Kafka's."""

from typing import Final

from trio_kafka.protocol.schema import (
    array,
    boolean,
    data,
    int8,
    int16,
    int32,
    request,
    response,
    string,
    struct,
)

# Kinds of figures, and how `TreeFigure.value` is written.
NULL: Final = 0  # empty
BOOLEAN: Final = 1  # "true" or "false"
INTEGER: Final = 2  # decimal digits
REAL: Final = 3  # the shortest text that reads back as the same float64
TEXT: Final = 4


@request(key=10001, versions="0-1")
class DescribeTreeRequest:
    """Which part of the tree.

    path: the names from the root down, joined by slashes; null: the root. max_depth: below that
    node, 0 is the node alone, -1 all. max_nodes: -1 leaves it to the server, which has a bound.
    kinds: nodes of these kinds, and those that lead to them; none: all. The top node of `path` is
    always there.
    """

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
    """Nodes before their children, siblings in the order in which they came.

    truncated: there were more nodes than were allowed; depth leaves out without saying so. The rows
    stand last: what encodes them one by one puts them behind the rest.
    """

    error_code: int = int16()
    error_message: str | None = string(nullable="0+", default=None)
    truncated: bool = boolean()
    rows: list[TreeRow] = array(TreeRow)
