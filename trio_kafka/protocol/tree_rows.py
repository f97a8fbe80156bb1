"""What the rows of a DescribeTree answer say: figures as values, nodes by their paths."""

from trio_kafka.introspect.snapshots import Look, NodeLook, Path
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
    """A figure as JSON has it; what JSON has no number for is a text."""
    if figure.kind == NULL:
        return None
    if figure.kind == BOOLEAN:
        return figure.value == "true"
    if figure.kind == INTEGER:
        return int(figure.value)
    if figure.kind == REAL and figure.value not in ("inf", "-inf", "nan"):
        return float(figure.value)
    return figure.value


def look_of(answer: DescribeTreeResponse, at: float) -> Look:
    """The nodes of an answer that was read at `at`. Of two nodes with one path the last counts."""
    nodes: dict[Path, NodeLook] = {}
    path: list[str] = []
    for row in answer.rows:
        path[row.depth :] = [row.name]
        figures = {one.name: value_of(one) for one in row.figures}
        nodes[tuple(path)] = NodeLook(row.kind, row.name, figures)
    return Look(at, nodes)
