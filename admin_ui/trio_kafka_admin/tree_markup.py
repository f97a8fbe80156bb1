"""Nested lines that open, of rows with a depth. Members of a fold are below a line of their own."""

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from trio_kafka_admin.markup import Html, begin, join, tag, text
from trio_kafka_admin.table import Row

_END: Final = Html("</details>")


def nested(
    rows: Sequence[Row],
    *,
    line: Callable[[Row, bool], Html],
    links: Callable[[Row, bool], Html],
    is_open: Callable[[Row], bool] = lambda _: True,
) -> Iterator[Html]:
    """Render the rows below one another, a piece for each.

    rows: parents before children, each with depth and path; `fold`, `fold_words` as `fold_rows`
    makes them. line: renders a row; True: nothing is below it, so that a link may stand in it.
    links: renders what stands beside the line. is_open: tells which rows show what is below them.
    """
    opened: list[tuple[int, str | None]] = []  # depth of each open element, and key of its fold
    for at, row in enumerate(rows):
        depth, key = row["depth"], row.get("fold")
        while opened and (opened[-1][0] > depth or opened[-1] == (depth, None)):
            opened.pop()
            yield _END
        if opened and opened[-1][0] == depth and opened[-1][1] != key:
            opened.pop()
            yield _END
        if key and (not opened or opened[-1] != (depth, key)):
            opened.append((depth, key))
            start = begin("details", id=f"{row['path'].removesuffix(row['name'])} {key}")
            yield join([start, tag("summary", text(row["fold_words"]))])
        if at + 1 < len(rows) and rows[at + 1]["depth"] > depth:
            opened.append((depth, None))
            start = begin("details", open=is_open(row), id=row["path"])
            yield join([start, tag("summary", line(row, False)), links(row, False)])
        else:
            yield tag("div", line(row, True), links(row, True), class_="leaf", id=row["path"])
    yield from [_END] * len(opened)
