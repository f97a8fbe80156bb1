"""A joint wait stands in the place of the operations of a request's rows."""

import weakref
from functools import partial
from typing import Any

import pytest

from tests.requests.waits import Waits
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.joint_wait import Place, joined
from trio_kafka.purgatory import Delayed
from trio_kafka.requests.rows import rows

DENIED = KafkaError(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
Topic = tuple[str, list[int]]


@pytest.fixture
def waits(autojump_clock: object) -> Waits:
    return Waits()


def answer_of(topics: list[Topic], each: Any, permission: Any = None) -> Any:
    """Response as a table: the rows of each topic."""
    return rows(
        topics,
        lambda topic: topic[1],
        each,
        dict,
        group=lambda topic, answers: (topic[0], answers),
        refused=lambda topic, row, error: f"{topic[0]}-{row} {error.code.name}",
        permission=permission,
    )


def test_the_earliest_deadline_of_a_row_ends_the_wait(waits: Waits) -> None:
    pending = answer_of([("t", [0, 1])], lambda topic, row: waits.operation(row, 5.0 - row))
    assert pending.deadline == 4.0
    waits.park(pending)
    waits.values[0] = "a"

    pending.timed_out = True
    pending.marked()
    waits.serve()

    assert waits.finished == [{"t": ["a", "t-1 REQUEST_TIMED_OUT"]}]


def test_a_row_whose_keys_change_is_watched_by_its_new_keys(waits: Waits) -> None:
    moving = waits.operation("old")

    def value_of_turn(timed_out: bool) -> Any:
        if "old" in waits.values:
            moving.watch_instead(("new",))
        return waits.values.get("new")

    moving.try_complete = value_of_turn
    waits.park(answer_of([("t", [0, 1])], lambda _, row: moving if row else waits.operation(0)))
    waits.complete("old", "turn")
    waits.complete(0, "a")
    assert waits.finished == []

    waits.complete("new", "b")

    assert waits.finished == [{"t": ["a", "b"]}]


def test_row_that_is_marked_directly_completes_the_response(waits: Waits) -> None:
    """A reply of a coordinator marks its operation directly, without a key."""
    operations = [Delayed((), 10.0, partial(waits._value, row), waits.purgatory) for row in (0, 1)]
    waits.park(answer_of([("t", [0, 1])], lambda _, row: operations[row]))

    waits.values |= {0: "a", 1: "b"}
    operations[1].marked()
    waits.serve()

    assert waits.finished == [{"t": ["a", "b"]}]


def test_places_are_filled_when_all_operations_are_complete(waits: Waits) -> None:
    values: list[Any] = ["there", None]
    places = [Place(values, 1, waits.operation("k"), lambda error: error.code)]
    waits.park(joined(places))

    waits.complete("k", "later")

    assert waits.finished == [True]
    assert values == ["there", "later"]


class Batch:
    """Stands for the records of a request."""


def test_a_request_that_was_waited_for_is_freed_without_the_collector(waits: Waits) -> None:
    batch = Batch()
    freed = weakref.ref(batch)

    def respond(of_request: Batch) -> Any:
        return rows(
            [("t", [0])],
            lambda topic: topic[1],
            lambda _, row: waits.operation(row),
            lambda topics: (of_request, topics)[1],
            group=lambda topic, answers: answers,
        )

    waits.park(respond(batch))
    del batch

    waits.complete(0, "value")

    assert waits.finished == [[["value"]]]
    assert freed() is None
