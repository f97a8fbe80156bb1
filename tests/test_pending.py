"""Pending values, and what is made of them."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.requests.waits import Waits
from trio_kafka.pending import NO_ANSWER, Pending, Work, then, work_or_value
from trio_kafka.scheduling.chunked_work import whole


@pytest.fixture
def waits(autojump_clock: object) -> Waits:
    return Waits()


def test_result_none_is_passed_to_the_next_function(waits: Waits) -> None:
    seen: list[Any] = []
    waits.park(waits.operation("k").then(lambda _: None).then(seen.append))

    waits.complete("k", "value")

    assert seen == [None]
    assert waits.finished == [NO_ANSWER]


def test_work_continues_with_the_functions_chained_to_it() -> None:
    def steps(value: int) -> Iterator[None]:
        yield
        return value

    chained = (
        Work(steps(1)).then(lambda value: Work(steps(value + 1))).then(lambda value: value * 10)
    )

    assert isinstance(chained, Work)
    assert whole(chained.then(lambda value: value).steps) == 20


def test_available_value_is_passed_to_the_next_function_at_once() -> None:
    assert then(1, lambda value: value + 1) == 2


def test_steps_run_at_once_unless_they_are_long() -> None:
    def steps() -> Iterator[None]:
        yield
        return "end"

    assert work_or_value(steps(), is_long=False) == "end"
    work = work_or_value(steps(), is_long=True)
    assert isinstance(work, Pending)
    assert whole(work.steps) == "end"
