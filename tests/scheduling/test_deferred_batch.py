"""Deferred calls are made at the end of their round."""

import pytest

from trio_kafka.errors import InvariantError
from trio_kafka.scheduling.deferred_batch import DeferredBatch


def test_deferred_and_nested_deferred_calls_are_made_once_in_order() -> None:
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


def test_deferring_a_call_outside_of_a_batch_is_an_error() -> None:
    deferred = DeferredBatch()
    with pytest.raises(InvariantError):
        deferred.defer(lambda: None)

    deferred.end(deferred.begin())
    with pytest.raises(InvariantError):
        deferred.defer(lambda: None)


def test_an_inner_batch_flushes_only_its_own_calls() -> None:
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
