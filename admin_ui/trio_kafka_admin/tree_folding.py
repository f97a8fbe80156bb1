"""Folds of the tree: many children of one kind are one line that opens, as in "50 partitions, 2
written to". Each thing stands in one place: a log that has a partition is shown as that partition.
"""

from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from typing import Any, Final

import trio

from trio_kafka.introspect.snapshots import NUMEROUS

Row = dict[str, Any]
LEAST: Final = 4  # children of one kind that are folded
_SHORTEST_STEM: Final = 4  # characters of a common beginning that stands for names
_SLICE: Final = 64  # rows between two checkpoints
_WITH_STEM: Final = ("part", "task")  # kinds that say little
_PLURALS: Final = {"purgatory": "purgatories", "nursery": "nurseries"}
_STATES: Final = 3  # states that the line of a fold counts


async def fold_rows(rows: Sequence[Row]) -> list[Row]:
    """Return the rows in an order in which members of a fold stand together, with two more values.

    rows: of a reading, parents before children. fold: key of the fold among those of one parent,
    the same in each reading; None: not folded. fold_words: the line that opens it.
    """
    children = _children(rows)
    return [row async for row in _in_order(rows, children)]


def _children(rows: Sequence[Row]) -> dict[int, list[int]]:
    """Return the positions of the children of each row; those of the top are below -1."""
    children: dict[int, list[int]] = {}
    above: list[int] = []
    for position, row in enumerate(rows):
        del above[row["depth"] :]
        children.setdefault(above[-1] if above else -1, []).append(position)
        above.append(position)
    return children


async def _in_order(
    rows: Sequence[Row], children: Mapping[int, Sequence[int]]
) -> AsyncIterator[Row]:
    number = 0
    waiting = [iter(_arranged(rows, children.get(-1, ())))]
    while waiting:
        entry = next(waiting[-1], None)
        if entry is None:
            waiting.pop()
            continue
        position, key, words = entry
        yield {**rows[position], "fold": key, "fold_words": words}
        if position in children:
            waiting.append(iter(_arranged(rows, children[position])))
        number += 1
        if not number % _SLICE:
            await trio.lowlevel.checkpoint()


def _arranged(
    rows: Sequence[Row], positions: Sequence[int]
) -> Iterator[tuple[int, str | None, str | None]]:
    """Yield siblings with key and words of their fold, which stands where its first member did."""
    groups: dict[str, list[int]] = {}
    for position in positions:
        groups.setdefault(_group_of(rows[position]), []).append(position)
    for key, members in groups.items():
        if len(members) >= LEAST:
            words = words_of([rows[position] for position in members])
            yield from ((position, key, words) for position in members)
        else:
            yield from ((position, None, None) for position in members)


def _group_of(row: Row) -> str:
    """Return what members of a fold have in common: their kind and, unless that says enough, the
    names of their figures.
    """
    kind: str = row["kind"]
    if kind in NUMEROUS:
        return kind
    if kind == "part" and not row["figures"]:
        return f"{kind} {row['name']}"  # nothing says that these are alike
    return f"{kind} {' '.join(row['figures'])}"


def words_of(members: Sequence[Row]) -> str:
    """Return the line of a fold, as in "10 purgatories, 1 with waiting items"."""
    kind = members[0]["kind"]
    names = _PLURALS.get(kind, f"{kind}s")
    if kind in _WITH_STEM:
        stem = _stem_of([row["name"] for row in members])
        names = f"{names} {stem}*" if len(stem) >= _SHORTEST_STEM else names
    return ", ".join([f"{len(members)} {names}", *_activity(kind, members)])


def _stem_of(names: Sequence[str]) -> str:
    """Return the beginning that all names have in common."""
    first, last = min(names), max(names)
    return next(
        (first[:end] for end in range(len(first), 0, -1) if last.startswith(first[:end])), ""
    )


def _activity(kind: str, members: Sequence[Row]) -> Iterator[str]:
    """Yield what some of the members do."""
    figures = [row["figures"] for row in members]
    for words, count in (
        ("written to", _count(figures, "end") if kind in ("log", "partition") else 0),
        ("offline", _count(figures, "offline")),
        ("with waiting items", _count(figures, "waiting") + _count(figures, "depth")),
        ("not read from now", _count(figures, "muted") if kind == "connection" else 0),
        ("failed", _count(figures, "last_error")),
        ("running", _count(figures, "running")),
    ):
        if count:
            yield f"{count} {words}"
    states = Counter(str(row["state"]) for row in figures if row.get("state"))
    for state, count in states.most_common(_STATES):
        yield f"{count} {state}"


def _count(figures: Sequence[Mapping[str, Any]], name: str) -> int:
    """Return how many have a figure that is neither 0 nor empty."""
    return sum(bool(values.get(name)) for values in figures)


def see_elsewhere(rows: Sequence[Row]) -> dict[str, str]:
    """Return the path of its partition for the path of each log; both have one name."""
    partitions = {row["name"]: row["path"] for row in rows if row["kind"] == "partition"}
    return {
        row["path"]: partitions[row["name"]]
        for row in rows
        if row["kind"] == "log" and row["name"] in partitions
    }
