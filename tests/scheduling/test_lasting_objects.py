"""A load counts as under way until it has ended, also by an error."""

import pytest

from trio_kafka.scheduling.lasting_objects import LastingGrowth


def test_loads_are_counted_while_under_way_and_when_they_have_ended() -> None:
    growth = LastingGrowth()

    with growth.announced(), growth.announced():
        assert (growth.under_way, growth.ended) == (2, 0)

    assert (growth.under_way, growth.ended) == (0, 2)


def test_load_that_failed_is_no_longer_under_way() -> None:
    growth = LastingGrowth()

    with pytest.raises(ValueError, match="broken"), growth.announced():
        raise ValueError("broken")

    assert (growth.under_way, growth.ended) == (0, 1)
