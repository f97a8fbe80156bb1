"""What is put off is done at the end of its round."""

import pytest

from trio_kafka.errors import InvariantError
from trio_kafka.scheduling.deferred_batch import Rounds


def test_calls_are_made_in_order_and_once_those_too_that_they_put_off() -> None:
    rounds, seen = Rounds(), []
    rounds.begin()
    rounds.put_off(lambda: seen.append("a"))
    rounds.put_off(lambda: rounds.put_off(lambda: seen.append("c")))
    rounds.put_off(lambda: seen.append("b"))
    assert seen == []

    rounds.settle()
    assert seen == ["a", "b", "c"]
    rounds.settle()
    assert seen == ["a", "b", "c"]


def test_without_a_reader_nothing_can_be_put_off() -> None:
    rounds = Rounds()
    with pytest.raises(InvariantError):
        rounds.put_off(lambda: None)

    rounds.end(rounds.begin())
    with pytest.raises(InvariantError):
        rounds.put_off(lambda: None)


def test_a_reader_that_comes_in_between_settles_what_is_its_own() -> None:
    rounds, seen = Rounds(), []
    outer = rounds.begin()
    rounds.put_off(lambda: seen.append("outer"))
    inner = rounds.begin()
    rounds.put_off(lambda: seen.append("inner"))

    rounds.settle()
    rounds.end(inner)
    assert seen == ["inner"]
    rounds.settle()
    rounds.end(outer)
    assert seen == ["inner", "outer"]
    assert rounds.calls is None
