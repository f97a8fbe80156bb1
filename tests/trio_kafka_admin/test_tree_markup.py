"""Lines that open, of rows with a depth."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.trio_kafka_admin.kit import Element, read_html
from trio_kafka_admin.markup import Html, tag, text
from trio_kafka_admin.tree_markup import nested


def row(depth: int, path: str, fold: str | None = None) -> dict[str, Any]:
    return {"depth": depth, "path": path, "name": path, "fold": fold, "fold_words": fold}


def line(entry: Any, is_leaf: bool) -> Html:
    return tag("b", text(f"{entry['path']}{'.' if is_leaf else ''}"))


def shown(*rows: dict[str, Any]) -> Element:
    return read_html("".join(nested(rows, line=line, links=lambda entry, is_leaf: Html(""))))


def names(element: Element) -> list[Any]:
    """Names of lines, each with a list of those below it."""
    below: list[Any] = []
    for child in element.content:
        assert isinstance(child, Element)
        if child.name == "details":
            summary, *rest = child.content
            assert isinstance(summary, Element)
            below.append([summary.text, *names(Element("", {}, rest))])
        else:
            below.append(child.text)
    return below


def test_rows_are_nested_by_their_depth() -> None:
    rows = [row(0, "a"), row(1, "b"), row(2, "c"), row(1, "d"), row(0, "e")]

    assert names(shown(*rows)) == [["a", ["b", "c."], "d."], "e."]


def test_members_of_a_fold_are_below_its_line_with_what_is_below_them() -> None:
    rows = [
        row(0, "a"),
        row(1, "b", "two"),
        row(2, "c"),
        row(1, "d", "two"),
        row(1, "e", "others"),
        row(1, "f"),
    ]

    assert names(shown(*rows)) == [["a", ["two", ["b", "c."], "d."], ["others", "e."], "f."]]


def test_folds_are_closed_and_nodes_are_open() -> None:
    page = shown(row(0, "a"), row(1, "b", "two"), row(1, "c", "two"))

    node, fold = page.all("details")
    assert ("open" in node.attributes, "open" in fold.attributes) == (True, False)
    assert node.attributes["id"] != fold.attributes["id"]


@given(st.lists(st.tuples(st.integers(0, 4), st.sampled_from([None, "x", "y"])), max_size=20))
def test_any_sequence_of_depths_is_well_formed_and_shows_each_row_once(
    steps: list[tuple[int, str | None]],
) -> None:
    depth, rows = -1, list[dict[str, Any]]()
    for number, (wish, fold) in enumerate(steps):
        depth = min(wish, depth + 1)
        rows.append(row(depth, f"row-{number}", fold))

    page = shown(*rows)  # fails unless it is well-formed

    lines = [name.text.rstrip(".") for name in page.all("b")]
    assert lines == [entry["path"] for entry in rows]
