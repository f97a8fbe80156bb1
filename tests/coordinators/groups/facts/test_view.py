"""Times in the facts of a group."""

import pytest
from attrs import evolve

from tests.coordinators.groups.classic.kit import ClassicKit
from tests.coordinators.groups.facts.kit import view_of
from trio_kafka.coordinators.groups.facts.view import earliest, lasting, since_s


def test_time_since_a_moment_is_never_negative_when_the_clock_steps_back() -> None:
    view = evolve(view_of(ClassicKit().driver), now_ms=5000)

    assert view.ago_s(2000) == 3.0
    assert view.ago_s(9000) == 0.0


@pytest.mark.parametrize(
    ("times", "expected"), [((), None), ((None, None), None), ((None, 3.0, 2.0), 2.0)]
)
def test_earliest_time_is_the_smallest_that_is_known(
    times: tuple[float | None, ...], expected: float | None
) -> None:
    assert earliest(*times) == expected


@pytest.mark.parametrize(("left_s", "expected"), [(None, None), (7.0, 3.0), (12.0, 0.0)])
def test_age_of_a_timer_is_its_length_less_the_time_until_it_ends(
    left_s: float | None, expected: float | None
) -> None:
    assert since_s(10.0, left_s) == expected


def test_words_name_the_seconds_for_which_they_have_been_true() -> None:
    assert lasting("has not rejoined", 51.2) == "has not rejoined for 51 s"
    assert lasting("has not rejoined", None) == "has not rejoined"
