"""`trio-kafka client list`: who is connected to a broker, as its tree shows them."""

from argparse import ArgumentParser
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from trio_kafka.cli.broker_client import parse_address
from trio_kafka.cli.broker_options import declare_broker
from trio_kafka.cli.output import LEFT, RIGHT, columns, declare_json, print_answer
from trio_kafka.cli.tree import MORE, read_tree
from trio_kafka.protocol.messages.k10001_describe_tree import DescribeTreeResponse
from trio_kafka.protocol.tree_rows import value_of

KIND: Final = "connection"
_FIGURES: Final = ("client_id", "software", "peer", "requests", "muted", "unsent")
_HEAD: Final = ("client", "software", "address", "connection", "requests", "waits")


def declare(parser: ArgumentParser) -> None:
    parser.add_argument("client", nargs="*", metavar="CLIENT", help="only these client ids")
    declare_broker(parser)
    declare_json(parser, "one JSON object: `truncated`, `clients`, one for each connection")


def list_clients(*, client: Sequence[str], bootstrap: str, timeout: float, json: bool) -> int:
    """Show the connections of a broker: client id, software, address, requests so far.

    The connection of this command is among them, as `trio-kafka`.
    """
    answer = read_tree(parse_address(bootstrap), kinds=[KIND], timeout_s=timeout)
    rows = [row for row in _connections(answer) if not client or row["client_id"] in client]
    return print_answer(
        rows,
        lambda clients: {"truncated": answer.truncated, "clients": clients},
        lambda clients: as_text(clients, truncated=answer.truncated),
        json=json,
    )


def as_text(rows: Sequence[Mapping[str, object]], *, truncated: bool) -> Iterator[str]:
    """Yield the lines of a table."""
    cells = [
        [
            *(str(row[name] or "-") for name in ("client_id", "software", "peer", "connection")),
            str(row["requests"]),
            str(row["muted"] or "-"),
        ]
        for row in rows
    ]
    yield from columns(_HEAD, cells, [LEFT, LEFT, LEFT, RIGHT, RIGHT, LEFT])
    if truncated:
        yield MORE


def _connections(answer: DescribeTreeResponse) -> list[dict[str, object]]:
    """Return the connections by client id, then in the order of their age."""
    rows: list[dict[str, object]] = []
    for row in answer.rows:
        figures = {figure.name: value_of(figure) for figure in row.figures}
        if row.kind == KIND and "peer" in figures:
            values = {name: figures.get(name) for name in _FIGURES}
            rows.append({"connection": row.name, **values})
    return sorted(rows, key=lambda row: (str(row["client_id"] or ""), int(str(row["connection"]))))
