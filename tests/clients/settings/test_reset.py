"""Values of `auto.offset.reset`."""

import pytest

from trio_kafka.clients.settings.reset import parse_duration, parse_reset


@pytest.mark.parametrize(
    ("text", "ms"),
    [("PT1.5S", 1500), ("P1D", 86_400_000), ("PT1H30M", 5_400_000), ("p1dt2s", 86_402_000)],
)
def test_duration_is_read_as_milliseconds(text, ms):
    assert parse_duration(text) == ms


@pytest.mark.parametrize("text", ["", "P", "PT", "P1DT", "1h", "PT-5S", "P1W"])
def test_other_texts_are_no_durations(text):
    with pytest.raises(ValueError, match="no duration"):
        parse_duration(text)


def test_reset_by_duration_begins_so_long_ago_and_none_nowhere():
    assert parse_reset("by_duration:PT10S").timestamp_at(15_000) == 5_000
    assert parse_reset("Earliest").timestamp_at(0) == -2
    assert parse_reset("none").timestamp_at(0) is None
    with pytest.raises(ValueError, match="not one of"):
        parse_reset("first")
