"""The tree of a broker that has one: what it counts itself."""

from trio_kafka.cli.tree import read_tree
from trio_kafka.model import Endpoint
from trio_kafka.protocol.messages.k10001_describe_tree import TreeRow
from trio_kafka.protocol.tree_rows import value_of
from trio_kafka.testing.processes import Address, ask_api_versions

_DESCRIBE_TREE = 10001


def rows_of(address: Address, path: str | None = None) -> list[TreeRow]:
    """The nodes of a path, or all; none where a broker has no tree to show. TreeError, OSError."""
    if _DESCRIBE_TREE not in ask_api_versions(address):
        return []
    return list(read_tree(Endpoint(*address), path=path, timeout_s=20).rows)


def figures_of(row: TreeRow) -> dict[str, int | float | str | bool | None]:
    return {figure.name: value_of(figure) for figure in row.figures}


def longest_turn_ms(address: Address) -> float | None:
    """The longest pass of the loop since the broker began; None: not ours."""
    rows = rows_of(address, "plane data/loop")
    return float(figures_of(rows[0])["longest_ms"] or 0) if rows else None
