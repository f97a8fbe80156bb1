"""Conversion of DescribeTree rows: figures to values, nodes to paths."""

from trio_kafka.introspect.snapshots import NodeSnapshot, Path, TreeSnapshot
from trio_kafka.introspect.tree import Figure
from trio_kafka.protocol.messages.k10001_describe_tree import (
    BOOLEAN,
    INTEGER,
    NULL,
    REAL,
    DescribeTreeResponse,
    TreeFigure,
)


def value_of(figure: TreeFigure) -> Figure:
    """Return a figure as a JSON value; a number that JSON lacks (inf, nan) stays a string."""
    if figure.kind == NULL:
        return None
    if figure.kind == BOOLEAN:
        return figure.value == "true"
    if figure.kind == INTEGER:
        return int(figure.value)
    if figure.kind == REAL and figure.value not in ("inf", "-inf", "nan"):
        return float(figure.value)
    return figure.value


def look_of(answer: DescribeTreeResponse, at: float) -> TreeSnapshot:
    """Return the nodes of a response read at time `at`. The last node of a repeated path wins."""
    nodes: dict[Path, NodeSnapshot] = {}
    path: list[str] = []
    for row in answer.rows:
        path[row.depth :] = [row.name]
        figures = {figure.name: value_of(figure) for figure in row.figures}
        nodes[tuple(path)] = NodeSnapshot(row.kind, row.name, figures)
    return TreeSnapshot(at, nodes)
