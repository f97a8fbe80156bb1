"""Which lines of a flood are logged."""

from trio_kafka.introspect.log_pace import LogPace


def test_number_of_lines_beyond_the_pace_is_in_the_next_line() -> None:
    pace = LogPace(2)

    admitted = [pace.admit(now) for now in (0.0, 0.1, 0.2, 0.9, 1.0, 1.1, 1.2, 5.0, 5.0)]

    assert admitted == [0, 0, None, None, 2, 0, None, 1, 0]
