"""Times as options."""

import pytest

from trio_kafka.cli.records.times import parse_time, show_time

NOW_MS = 1_700_000_000_000


@pytest.mark.parametrize(
    ("text", "timestamp_ms"),
    [
        ("0", 0),
        ("1700000000123", 1_700_000_000_123),
        ("10m", NOW_MS - 600_000),
        ("250ms", NOW_MS - 250),
        ("9999999w", 0),
        ("1970-01-02", 86_400_000),
        ("1970-01-01T00:00:01.500", 1_500),
        ("1970-01-01T02:00:00+02:00", 0),
    ],
)
def test_each_form_of_a_time_is_milliseconds(text, timestamp_ms):
    assert parse_time(text, NOW_MS) == timestamp_ms


@pytest.mark.parametrize("text", ["", "soon", "-1", "10 m", "1.5h", "²"])
def test_other_texts_are_rejected_with_the_forms(text):
    with pytest.raises(ValueError, match="is not a time: want milliseconds"):
        parse_time(text, NOW_MS)


def test_time_is_shown_in_utc():
    assert show_time(NOW_MS) == "2023-11-14T22:13:20.000Z"
    assert show_time(-1) == "-"
