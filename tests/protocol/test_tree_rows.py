"""Rows of a DescribeTree answer as nodes with figures."""

import pytest

from trio_kafka.protocol.messages.k10001_describe_tree import (
    BOOLEAN,
    INTEGER,
    NULL,
    REAL,
    TEXT,
    DescribeTreeResponse,
    TreeFigure,
    TreeRow,
)
from trio_kafka.protocol.tree_rows import look_of, value_of


def row(depth: int, name: str, *figures: TreeFigure, kind: str = "part") -> TreeRow:
    return TreeRow(depth, kind, name, list(figures))


def test_tree_nodes_are_found_by_their_path_of_names() -> None:
    rows = [
        row(0, "broker-1", kind="broker"),
        row(1, "a"),
        row(2, "x", TreeFigure("n", INTEGER, "7")),
        row(3, "y"),
        row(1, "b"),
        row(2, "x"),
    ]
    look = look_of(DescribeTreeResponse(rows=rows), 12.5)

    assert look.at == 12.5
    assert list(look.nodes) == [
        ("broker-1",),
        ("broker-1", "a"),
        ("broker-1", "a", "x"),
        ("broker-1", "a", "x", "y"),
        ("broker-1", "b"),
        ("broker-1", "b", "x"),
    ]
    node = look.nodes["broker-1", "a", "x"]
    assert (node.kind, node.name, node.figures) == ("part", "x", {"n": 7})


@pytest.mark.parametrize(
    ("kind", "value", "as_data"),
    [
        (NULL, "", None),
        (BOOLEAN, "true", True),
        (BOOLEAN, "false", False),
        (INTEGER, "12", 12),
        (REAL, "0.123456", 0.123456),
        (REAL, "100.0", 100.0),
        (REAL, "inf", "inf"),
        (REAL, "-inf", "-inf"),
        (REAL, "nan", "nan"),
        (TEXT, "12", "12"),
        (TEXT, "", ""),
        (9, "x", "x"),
    ],
)
def test_a_tree_figure_is_converted_to_the_python_type_of_its_kind(
    kind: int, value: str, as_data: object
) -> None:
    result = value_of(TreeFigure("f", kind, value))

    assert result == as_data
    assert type(result) is type(as_data)
