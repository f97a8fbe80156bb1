"""Results of a call about several items."""

import pytest

from trio_kafka.clients.admin.calls.results import Results
from trio_kafka.clients.errors import TopicError

RESULTS = Results({"a": 1}, {"b": TopicError("no")})


def test_item_that_has_failed_raises_its_error_in_each_lookup():
    assert RESULTS["a"] == 1
    for _ in range(2):
        with pytest.raises(TopicError, match="no") as error:
            RESULTS["b"]
        assert error.value is not RESULTS.errors["b"]
    with pytest.raises(KeyError):
        RESULTS["c"]


def test_all_raises_the_first_error_or_returns_all_values():
    with pytest.raises(TopicError):
        RESULTS.all()
    assert Results({"a": 1}, {}).all() == {"a": 1}


def test_membership_and_length_count_items_that_have_failed():
    assert ("a" in RESULTS, "b" in RESULTS, "c" in RESULTS) == (True, True, False)
    assert (list(RESULTS), len(RESULTS)) == (["a", "b"], 2)
    assert "errors={'b': TopicError" in repr(RESULTS)
