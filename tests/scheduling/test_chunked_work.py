"""Steps: taken as far as the time goes, or all at once."""

import itertools
from random import Random

import pytest

from trio_kafka.scheduling.chunked_work import (
    Done,
    Steps,
    advance,
    emptied,
    in_slices,
    sorted_in_steps,
    step,
    whole,
)


def counting(to: int) -> Steps[str]:
    for _ in range(to):
        yield
    return "done"


def test_advance_takes_steps_until_its_end_time_and_at_least_one_step() -> None:
    times = iter(range(100))
    steps = counting(5)

    assert advance(steps, lambda: next(times), ends=2.0) is None
    assert advance(steps, lambda: next(times), ends=0.0) is None
    assert advance(steps, lambda: next(times), ends=100.0) == Done("done")
    assert next(times) == 5


@pytest.mark.parametrize("steps", [0, 1, 100])
def test_whole_takes_all_steps_at_once(steps: int) -> None:
    assert whole(counting(steps)) == "done"


def test_step_takes_exactly_one_step() -> None:
    steps = counting(1)

    assert step(steps) is None
    assert step(steps) == Done("done")


def names(count: int) -> list[str]:
    return [f"topic-{number}" for number in range(count)]


@pytest.mark.parametrize(
    "texts",
    [
        [],
        names(1),
        names(1999),
        names(50_000),
        sorted(names(20_000), reverse=True),
        Random(1).sample(names(30_000), 30_000),
        # One of a thousand is a sample of nothing.
        [f"{number:02}" for number in range(100)] + [f"z{number:06}" for number in range(30_000)],
        [name if number % 125 else f"!{number}" for number, name in enumerate(names(30_000))],
        ["same"] * 10_000,
        ["same"] * 10_000 + names(10_000),
    ],
    ids=len,
)
def test_sorted_in_steps_sorts_as_sorted_does(texts: list[str]) -> None:
    assert whole(sorted_in_steps(texts)) == sorted(texts)


def test_tuples_are_sorted_as_texts_are() -> None:
    rows = [(number % 3, -number % 1000, f"{number:05}") for number in range(10_000)]

    assert whole(sorted_in_steps(rows)) == sorted(rows)
    assert len(list(sorted_in_steps(rows))) > 20


def test_sorting_20000_texts_takes_a_step_for_about_each_thousand() -> None:
    shuffled = Random(2).sample(names(20_000), 20_000)

    steps = list(sorted_in_steps(shuffled))

    assert len(steps) > 3 * 19


def test_sorting_splits_a_part_again_that_its_sample_did_not_divide() -> None:
    texts = [f"!{number}" if number % 125 == 0 else f"x{number}" for number in range(30_000)]

    assert len(list(sorted_in_steps(texts))) > 4 * 29


def test_in_slices_divides_items_into_slices_of_the_given_size() -> None:
    assert list(in_slices(range(7), 3)) == [[0, 1, 2], [3, 4, 5], [6]]
    assert list(in_slices([], 3)) == []


def test_nested_dicts_are_emptied_in_short_steps() -> None:
    inner = {number: {part: object() for part in range(30)} for number in range(100)}
    table = {"a": {"b": inner, "c": {}}, "d": 1}

    def count() -> int:
        return sum(map(len, inner.values()))

    counts = [count() for _ in emptied(table)]

    assert table == inner == {}
    assert counts[0] > 2800
    assert max(before - after for before, after in itertools.pairwise(counts)) <= 130
