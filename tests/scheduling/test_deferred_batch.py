"""What is put off is done at the end of its round."""

import pytest

from trio_kafka.errors import InvariantError
from trio_kafka.scheduling.deferred_batch import DeferredBatch


def test_calls_are_made_in_order_and_once_those_too_that_they_put_off() -> None:
    deferred, seen = DeferredBatch(), []
    deferred.begin()
    deferred.defer(lambda: seen.append("a"))
    deferred.defer(lambda: deferred.defer(lambda: seen.append("c")))
    deferred.defer(lambda: seen.append("b"))
    assert seen == []

    deferred.flush()
    assert seen == ["a", "b", "c"]
    deferred.flush()
    assert seen == ["a", "b", "c"]


def test_without_a_reader_nothing_can_be_put_off() -> None:
    deferred = DeferredBatch()
    with pytest.raises(InvariantError):
        deferred.defer(lambda: None)

    deferred.end(deferred.begin())
    with pytest.raises(InvariantError):
        deferred.defer(lambda: None)


def test_a_reader_that_comes_in_between_settles_what_is_its_own() -> None:
    deferred, seen = DeferredBatch(), []
    outer = deferred.begin()
    deferred.defer(lambda: seen.append("outer"))
    inner = deferred.begin()
    deferred.defer(lambda: seen.append("inner"))

    deferred.flush()
    deferred.end(inner)
    assert seen == ["inner"]
    deferred.flush()
    deferred.end(outer)
    assert seen == ["inner", "outer"]
    assert deferred.calls is None
