"""Arrays whose items are created while they are encoded."""

from collections.abc import Iterator
from typing import Any

import pytest

from trio_kafka.requests.lazy_arrays import LAZY_ARRAYS, LazyArray, lazily, rows_of


def test_items_of_a_lazy_array_are_created_during_iteration() -> None:
    positions: list[int] = []

    def make(at: int) -> int:
        positions.append(at)
        return at * 2

    array = lazily([1, 2, 3], make)
    assert len(array) == 3
    assert positions == []

    walk: Iterator[int] = iter(array)
    assert (next(walk), positions) == (2, [1])
    assert list(array) == [2, 4, 6]


@pytest.mark.parametrize(("count", "kind"), [(0, list), (100, list), (101, LazyArray)])
def test_few_rows_are_a_list_and_many_rows_are_a_lazy_array(count: int, kind: type[Any]) -> None:
    before = LAZY_ARRAYS.created
    rows = rows_of(range(count), str)

    assert type(rows) is kind
    assert list(rows) == [str(at) for at in range(count)]
    assert LAZY_ARRAYS.created - before == (kind is LazyArray)
