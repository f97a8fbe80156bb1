"""Rows of a response: slices, permissions, errors and waits."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.requests.waits import Waits
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.pending import Work, then
from trio_kafka.requests.rows import MANY, Pairs, for_each, rows
from trio_kafka.scheduling.chunked_work import whole

DENIED = KafkaError(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
Topic = tuple[str, list[int]]


@pytest.fixture
def waits(autojump_clock: object) -> Waits:
    return Waits()


def answer_of(topics: list[Topic], each: Any, permission: Any = None, check: Any = None) -> Any:
    """Response as a table: the rows of each topic."""
    return rows(
        topics,
        lambda topic: topic[1],
        each,
        dict,
        group=lambda topic, answers: (topic[0], answers),
        refused=lambda topic, row, error: f"{topic[0]}-{row} {error.code.name}",
        permission=permission,
        check=check,
    )


def test_rows_are_answered_in_the_order_of_the_request() -> None:
    topics: list[Topic] = [("b", [3, 1]), ("a", []), ("c", [2])]

    assert answer_of(topics, lambda topic, row: row * 10) == {"b": [30, 10], "a": [], "c": [20]}


def test_an_error_of_one_row_refuses_that_row_only() -> None:
    def each(topic: Topic, row: int) -> int:
        if row == 1:
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        return row

    answer = answer_of([("t", [0, 1, 2])], each)

    assert answer == {"t": [0, "t-1 UNKNOWN_TOPIC_OR_PARTITION", 2]}


def test_a_permission_is_asked_for_once_for_each_group() -> None:
    checks: list[str] = []

    def permission(topic: Topic) -> None:
        checks.append(topic[0])
        if topic[0] == "secret":
            raise DENIED

    topics: list[Topic] = [("t", [0, 1]), ("secret", [0, 1])]
    answer = answer_of(topics, lambda topic, row: row, permission)

    assert checks == ["t", "secret"]
    refused = [f"secret-{row} TOPIC_AUTHORIZATION_FAILED" for row in (0, 1)]
    assert answer == {"t": [0, 1], "secret": refused}


@pytest.mark.parametrize("count", [3, 3 * MANY])
def test_all_rows_are_checked_before_the_first_one_is_answered(count: int) -> None:
    calls: list[tuple[str, str, int]] = []
    topics: list[Topic] = [("t", list(range(count))), ("u", [0])]

    def check(topic: Topic, row: int) -> None:
        calls.append(("check", topic[0], row))

    def each(topic: Topic, row: int) -> int:
        calls.append(("each", topic[0], row))
        return row

    answer = answer_of(topics, each, check=check)
    if isinstance(answer, Work):
        answer = whole(answer.steps)

    every = [(name, row) for name, members in topics for row in members]
    assert calls == [(call, *pair) for call in ("check", "each") for pair in every]
    assert answer == dict(topics)


@pytest.mark.parametrize("count", [3, 3 * MANY])
def test_a_row_that_fails_its_check_fails_the_request_and_nothing_is_answered(count: int) -> None:
    answered: list[int] = []

    def check(topic: Topic, row: int) -> None:
        if row == count - 1:
            raise DENIED

    def ask() -> object:
        answer = answer_of(
            [("t", list(range(count)))], lambda _, row: answered.append(row), check=check
        )
        return whole(answer.steps) if isinstance(answer, Work) else answer

    with pytest.raises(KafkaError, match="TOPIC_AUTHORIZATION_FAILED"):
        ask()
    assert answered == []


def test_many_rows_are_checked_in_slices() -> None:
    checked: list[int] = []
    rows_of_topic = list(range(5 * MANY))
    work = answer_of(
        [("t", rows_of_topic)], lambda _, row: row, check=lambda _, row: checked.append(row)
    )

    next(work.steps)

    assert len(checked) < MANY
    work.close()


def test_error_of_a_row_without_a_refused_function_fails_the_request() -> None:
    def each(topic: Topic, row: int) -> int:
        raise DENIED

    with pytest.raises(KafkaError, match="TOPIC_AUTHORIZATION_FAILED"):
        rows([("t", [1])], lambda topic: topic[1], each, list, group=lambda topic, row: row)


def test_many_rows_are_answered_in_slices() -> None:
    work = answer_of([("t", list(range(5 * MANY)))], lambda topic, row: row)

    assert isinstance(work, Work)
    steps = work.steps
    assert sum(1 for _ in steps) >= 5 * MANY / 10
    assert whole(answer_of([("t", list(range(MANY + 1)))], lambda t, row: row).steps) == {
        "t": list(range(MANY + 1))
    }


@pytest.mark.parametrize("count", [3, 3 * MANY])
def test_the_response_waits_for_all_rows(waits: Waits, count: int) -> None:
    def each(topic: Topic, row: int) -> Any:
        pending = waits.operation(row)
        return then(pending, lambda value: f"{row}: {value}") if row < 2 else "now"

    pending = answer_of([("t", list(range(count)))], each)
    waits.park(whole(pending.steps) if isinstance(pending, Work) else pending)

    waits.complete(1, "b")
    assert waits.finished == []
    waits.complete(0, "a")

    assert waits.finished == [{"t": ["0: a", "1: b"] + ["now"] * (count - 2)}]
    assert waits.purgatory.waiting == 0
    assert not waits.purgatory.watchers


def test_an_error_while_a_row_waits_refuses_that_row(waits: Waits) -> None:
    waits.park(answer_of([("t", [0, 1])], lambda topic, row: waits.operation(row)))

    waits.complete(0, KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER))
    waits.complete(1, "b")

    assert waits.finished == [{"t": ["t-0 NOT_LEADER_OR_FOLLOWER", "b"]}]


def test_row_without_a_result_is_none(waits: Waits) -> None:
    waits.park(answer_of([("t", [0])], lambda _, row: waits.operation(row).then(lambda _: None)))

    waits.complete(0, "a")

    assert waits.finished == [{"t": [None]}]


def collected(steps: Iterator[None], pauses: list[None]) -> Any:
    """Return the result of steps; note their pauses."""
    while True:
        try:
            pauses.append(next(steps))
        except StopIteration as end:
            return end.value


def test_work_in_steps_of_a_row_gives_the_result_of_the_row() -> None:
    def steps(row: int) -> Iterator[None]:
        yield
        return row * 2

    work = answer_of([("t", [1, 2])], lambda _, row: Work(steps(row)))

    assert isinstance(work, Work)
    pauses = list[None]()
    assert collected(work.steps, pauses) == {"t": [2, 4]}
    assert len(pauses) == 1  # that of the first row was taken before


@pytest.mark.parametrize("count", [2, 3 * MANY])
def test_for_each_visits_all_items_before_its_end(count: int) -> None:
    seen: list[int] = []

    result = for_each(range(count), seen.append, lambda: len(seen))

    assert (whole(result.steps) if isinstance(result, Work) else result) == count
    assert isinstance(result, Work) == (count > MANY)


def test_an_iterator_of_unknown_length_is_visited_in_slices() -> None:
    result = for_each(iter([1, 2]), lambda item: None, lambda: "end")

    assert isinstance(result, Work)
    assert whole(result.steps) == "end"


@pytest.mark.parametrize("count", [2, 3 * MANY])
def test_for_each_calls_discard_when_a_visit_fails(count: int) -> None:
    discarded: list[str] = []

    def fail(item: int) -> None:
        raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR)

    with pytest.raises(KafkaError):
        result = for_each(range(count), fail, list, discard=lambda: discarded.append("all"))
        whole(result.steps)

    assert discarded == ["all"]


def test_for_each_calls_discard_when_the_work_is_closed() -> None:
    discarded: list[str] = []
    work = for_each(range(3 * MANY), print, list, discard=lambda: discarded.append("all"))
    assert isinstance(work, Work)
    next(work.steps)

    work.close()

    assert discarded == ["all"]


def test_pairs_have_every_row_with_its_group() -> None:
    pairs = Pairs([("a", [1, 2]), ("b", []), ("c", [3])], lambda topic: topic[1])

    assert [(topic[0], row) for topic, row in pairs] == [("a", 1), ("a", 2), ("c", 3)]
    assert pairs.exceeds(5)
    assert not pairs.exceeds(6)
