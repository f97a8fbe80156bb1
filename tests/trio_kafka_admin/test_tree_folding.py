"""Folds of many nodes of one kind, and things that stand in two places."""

from typing import Any

import pytest
from trio.testing import MockClock

from trio_kafka_admin.tree_folding import LEAST, fold_rows, see_elsewhere, words_of


def row(depth: int, path: str, kind: str = "part", /, **figures: object) -> dict[str, Any]:
    name = path.rpartition("/")[2]
    return {"depth": depth, "kind": kind, "name": name, "path": path, "figures": figures}


async def folded(*rows: dict[str, Any]) -> list[tuple[str, str | None]]:
    return [(entry["path"], entry["fold_words"]) for entry in await fold_rows(rows)]


async def test_fewer_children_than_the_least_of_a_fold_are_not_folded(
    autojump_clock: MockClock,
) -> None:
    rows = [row(0, "b"), *(row(1, f"b/{n}", "log", end=0) for n in range(LEAST - 1))]

    assert {words for _, words in await folded(*rows)} == {None}
    assert {words for _, words in (await folded(*rows, row(1, "b/x", "log", end=0)))[1:]} == {
        f"{LEAST} logs"
    }


async def test_members_of_a_fold_stand_together_with_all_that_is_below_them(
    autojump_clock: MockClock,
) -> None:
    groups = [
        part
        for n in range(4)
        for part in (row(1, f"b/g{n}", "group"), row(2, f"b/g{n}/m", "member"))
    ]
    rows = [row(0, "b"), *groups[:2], row(1, "b/other"), *groups[2:], row(1, "b/last")]

    words = "4 groups"
    assert await folded(*rows) == [
        ("b", None),
        *(
            (path, fold)
            for n in range(4)
            for path, fold in ((f"b/g{n}", words), (f"b/g{n}/m", None))
        ),
        ("b/other", None),
        ("b/last", None),
    ]


async def test_key_of_a_fold_does_not_change_when_its_members_change(
    autojump_clock: MockClock,
) -> None:
    keys = set()
    for count in (4, 5):
        rows = [row(0, "b"), *(row(1, f"b/{n}", "partition", end=n * count) for n in range(count))]
        keys |= {entry["fold"] for entry in await fold_rows(rows)}

    assert keys == {None, "partition"}


async def test_parts_are_alike_only_if_they_have_the_same_figures(
    autojump_clock: MockClock,
) -> None:
    alike = [row(1, f"b/shard-{n}", events=0) for n in range(4)]
    others = [row(1, f"b/part-{n}", **{f"figure_{n}": 1}) for n in range(4)]
    empty = [row(1, f"b/empty-{n}") for n in range(4)]

    words = dict(await folded(row(0, "b"), *alike, *others, *empty))
    assert {words[entry["path"]] for entry in alike} == {"4 parts shard-*"}
    assert {words[other["path"]] for other in (*others, *empty)} == {None}


@pytest.mark.parametrize(
    ("members", "words"),
    [
        (
            [row(0, "p-0", "partition", end=3), row(0, "p-1", "partition", end=0)],
            "2 partitions, 1 written to",
        ),
        (
            [row(0, "a", "purgatory", waiting=2), row(0, "b", "purgatory", waiting=0)],
            "2 purgatories, 1 with waiting items",
        ),
        (
            [row(0, "a", "channel", depth=2), row(0, "b", "channel", depth=0)],
            "2 channels, 1 with waiting items",
        ),
        (
            [row(0, "a", "connection", muted="quota"), row(0, "b", "connection", muted="")],
            "2 connections, 1 not read from now",
        ),
        (
            [row(0, "a", "job", last_error="x", running=True), row(0, "b", "job", last_error=None)],
            "2 jobs, 1 failed, 1 running",
        ),
        (
            [
                row(0, "a", "group", state="Stable"),
                row(0, "b", "group", state="Empty"),
                row(0, "c", "group", state="Stable"),
            ],
            "3 groups, 2 Stable, 1 Empty",
        ),
        (
            [
                row(0, "a", "partition", offline=True, end=0),
                row(0, "b", "partition", offline=False),
            ],
            "2 partitions, 1 offline",
        ),
        ([row(0, "x", x=1), row(0, "y", x=1)], "2 parts"),
    ],
)
def test_line_of_a_fold_counts_its_members_and_what_some_of_them_do(
    members: list[dict[str, Any]], words: str
) -> None:
    assert words_of(members) == words


def test_log_is_seen_at_its_partition_and_a_log_without_one_stays() -> None:
    rows = [
        row(1, "b/log-manager/orders-0", "log"),
        row(1, "b/log-manager/old-0", "log"),
        row(1, "b/replica-manager/orders-0", "partition"),
    ]

    assert see_elsewhere(rows) == {"b/log-manager/orders-0": "b/replica-manager/orders-0"}
