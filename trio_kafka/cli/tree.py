"""`trio-kafka tree`: what runs and what waits in a broker, read now.

Names and texts come from the broker, and partly from its clients: what a terminal could take for
more than text is shown escaped.
"""

import json
from argparse import ArgumentParser
from collections.abc import Iterator, Sequence
from typing import Any, Final

from trio_kafka.cli.broker_client import (
    BrokerClientError,
    declare_broker,
    parse_address,
    report_error,
    send_request,
)
from trio_kafka.model import Endpoint
from trio_kafka.protocol.messages.k10001_describe_tree import (
    NULL,
    REAL,
    DescribeTreeRequest,
    DescribeTreeResponse,
    TreeFigure,
    TreeRow,
)
from trio_kafka.protocol.texts import printable
from trio_kafka.protocol.tree_rows import value_of

MORE: Final = "There are more nodes: ask for less with --path, --depth or --kind."
NO_TREE: Final = "this server has no tree to show: is it trio-kafka?"
NO_KINDS: Final = "this server cannot choose by kind: is it trio-kafka, and new enough?"
_KINDS_SINCE: Final = 1  # version of DescribeTree


def declare(parser: ArgumentParser) -> None:
    declare_broker(parser)
    parser.add_argument(
        "--path",
        help="only this node and what is below: the names from the root down, joined by slashes",
    )
    parser.add_argument(
        "--depth",
        type=int,
        default=-1,
        metavar="LEVELS",
        help="so many levels below that node; -1 is all",
    )
    parser.add_argument(
        "--kind",
        action="append",
        default=[],
        help="only nodes of this kind, and those that lead to them; may be repeated",
    )
    parser.add_argument(
        "--json",
        action="store_true",
        help="print one JSON object: a node is its name, kind, figures and children",
    )


def tree(
    *,
    bootstrap: str,
    path: str | None,
    depth: int,
    kind: Sequence[str],
    json: bool,
    timeout: float,
) -> int:
    """Show what runs and what waits in a broker, as a tree with figures that are read now."""
    try:
        address = parse_address(bootstrap)
        answer = read_tree(address, path=path, depth=depth, kinds=kind, timeout_s=timeout)
    except BrokerClientError as error:
        return report_error(bootstrap, error)
    for line in as_json(answer) if json else as_text(answer):
        print(line)
    return 0


def read_tree(
    address: Endpoint,
    *,
    path: str | None = None,
    depth: int = -1,
    kinds: Sequence[str] = (),
    timeout_s: float = 5.0,
) -> DescribeTreeResponse:
    """The tree of a broker, or a part of it.

    kinds: nodes of these kinds, and those that lead to them; none: all.
    Raises BrokerClientError, also where a broker can only give all kinds.
    """
    wanted = DescribeTreeRequest(path, depth, kinds=list(kinds))
    first, unknown = (_KINDS_SINCE, NO_KINDS) if kinds else (0, NO_TREE)
    answer: DescribeTreeResponse = send_request(
        wanted, address, timeout_s, unknown=unknown, first=first
    )
    return answer


# --- for people


def as_text(answer: DescribeTreeResponse) -> Iterator[str]:
    """Lines: the tree and its names, kinds, figures, each in a column of its own."""
    rows = answer.rows
    names = [branch + printable(row.name) for branch, row in zip(branches(rows), rows, strict=True)]
    width = max(map(len, names), default=0)
    kinds = max((len(row.kind) for row in rows), default=0)
    for name, row in zip(names, rows, strict=True):
        figures = "  ".join(f"{printable(one.name)}={show(one)}" for one in row.figures)
        yield f"{name:{width}}  {printable(row.kind):{kinds}}  {figures}".rstrip()
    if answer.truncated:
        yield MORE


def branches(rows: list[TreeRow]) -> list[str]:
    """The lines that lead to each row's name; rows are in walk order."""
    found = []
    below: list[bool] = []  # by depth: another sibling comes below
    for row in reversed(rows):
        depth = row.depth
        below += [False] * (depth + 1 - len(below))
        stems = ["│  " if more else "   " for more in below[1:depth]]
        found.append("".join([*stems, "├─ " if below[depth] else "└─ "]) if depth else "")
        del below[depth:]
        below.append(True)
    return found[::-1]


def show(figure: TreeFigure) -> str:
    """A figure's value: three digits behind the point are enough, and nothing is a dash."""
    if figure.kind == NULL:
        return "-"
    if figure.kind == REAL:
        return f"{float(figure.value):.3f}".rstrip("0").rstrip(".")
    text = printable(figure.value)
    return repr(text) if " " in text or not text else text


# --- for programs


def as_json(answer: DescribeTreeResponse) -> Iterator[str]:
    """One object, over several lines."""
    top: list[Any] = []
    places = [top]  # by depth: where the nodes of that depth go
    for row in answer.rows:
        children: list[Any] = []
        figures = {one.name: value_of(one) for one in row.figures}
        places[row.depth].append(
            {"name": row.name, "kind": row.kind, "figures": figures, "children": children}
        )
        places[row.depth + 1 :] = [children]
    shown = {"truncated": answer.truncated, "tree": top[0] if top else None}
    yield json.dumps(shown, indent=2)
