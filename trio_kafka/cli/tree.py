"""`trio-kafka tree`: the live tree of a broker's tasks, queues and figures.

Names and texts come from the broker and its clients: control characters are shown escaped.
"""

from argparse import ArgumentParser
from collections.abc import Iterator, Sequence
from typing import Final

from trio_kafka.cli.broker_client import (
    parse_address,
    send_request,
)
from trio_kafka.cli.broker_options import declare_broker
from trio_kafka.cli.output import declare_json, print_answer
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

MORE: Final = "There are more nodes: narrow the output with --path, --depth or --kind."
NO_TREE: Final = "the server has no API DescribeTree: only a trio-kafka broker has it"
NO_KINDS: Final = "the server cannot filter by --kind: leave it out, or update the broker"
_KINDS_SINCE: Final = 1  # version of DescribeTree


def declare(parser: ArgumentParser) -> None:
    declare_broker(parser)
    parser.add_argument(
        "--path",
        help="only this node and those below it: names from the root down, joined by slashes",
    )
    parser.add_argument(
        "--depth",
        type=int,
        default=-1,
        metavar="LEVELS",
        help="levels to show below that node; -1: all (the default)",
    )
    parser.add_argument(
        "--kind",
        action="append",
        default=[],
        help="only nodes of this kind, and the nodes above them; may be repeated",
    )
    declare_json(parser, "one JSON object: `tree`, a node with name, kind, figures and children")


def tree(
    *,
    bootstrap: str,
    path: str | None,
    depth: int,
    kind: Sequence[str],
    json: bool,
    timeout: float,
) -> int:
    """Show the tasks, queues and parts of a broker as a tree, with their figures at this moment."""
    address = parse_address(bootstrap)
    answer = read_tree(address, path=path, depth=depth, kinds=kind, timeout_s=timeout)
    return print_answer(answer, as_data, as_text, json=json)


def read_tree(
    address: Endpoint,
    *,
    path: str | None = None,
    depth: int = -1,
    kinds: Sequence[str] = (),
    timeout_s: float = 5.0,
) -> DescribeTreeResponse:
    """Return the tree of a broker, or a part of it.

    kinds: only nodes of these kinds, and the nodes above them; empty: all.
    Raises BrokerClientError, also for a broker that cannot filter by kind.
    """
    request = DescribeTreeRequest(path, depth, kinds=list(kinds))
    first, unknown = (_KINDS_SINCE, NO_KINDS) if kinds else (0, NO_TREE)
    return send_request(request, address, timeout_s, unknown=unknown, first=first)


# --- for people


def as_text(answer: DescribeTreeResponse) -> Iterator[str]:
    """Yield lines with three columns: names as a tree, kinds, figures."""
    rows = answer.rows
    names = [branch + printable(row.name) for branch, row in zip(branches(rows), rows, strict=True)]
    width = max(map(len, names), default=0)
    kinds = max((len(row.kind) for row in rows), default=0)
    for name, row in zip(names, rows, strict=True):
        figures = "  ".join(f"{printable(figure.name)}={show(figure)}" for figure in row.figures)
        yield f"{name:{width}}  {printable(row.kind):{kinds}}  {figures}".rstrip()
    if answer.truncated:
        yield MORE


def branches(rows: list[TreeRow]) -> list[str]:
    """Return the branch lines before each row's name; rows are in walk order."""
    lines = []
    below: list[bool] = []  # by depth: whether another sibling follows
    for row in reversed(rows):
        depth = row.depth
        below += [False] * (depth + 1 - len(below))
        stems = ["│  " if more else "   " for more in below[1:depth]]
        lines.append("".join([*stems, "├─ " if below[depth] else "└─ "]) if depth else "")
        del below[depth:]
        below.append(True)
    return lines[::-1]


def show(figure: TreeFigure) -> str:
    """Return a figure's text: at most three decimals, and a dash for null."""
    if figure.kind == NULL:
        return "-"
    if figure.kind == REAL:
        return f"{float(figure.value):.3f}".rstrip("0").rstrip(".")
    text = printable(figure.value)
    return repr(text) if " " in text or not text else text


# --- for programs


def as_data(answer: DescribeTreeResponse) -> dict[str, object]:
    """Return the tree for JSON: nested nodes, and whether the broker left some out."""
    top: list[object] = []
    places = [top]  # by depth: the list that takes nodes of that depth
    for row in answer.rows:
        children: list[object] = []
        figures = {figure.name: value_of(figure) for figure in row.figures}
        places[row.depth].append(
            {"name": row.name, "kind": row.kind, "figures": figures, "children": children}
        )
        places[row.depth + 1 :] = [children]
    return {"truncated": answer.truncated, "tree": top[0] if top else None}
