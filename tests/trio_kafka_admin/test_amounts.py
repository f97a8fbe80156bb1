"""Amounts with a unit."""

import pytest

from trio_kafka_admin.amounts import byte_text, second_text


@pytest.mark.parametrize(
    ("count", "words"),
    [
        (0, "0 B"),
        (1023, "1,023 B"),
        (1024, "1.0 KiB"),
        (1536, "1.5 KiB"),
        (100 * 1024, "100 KiB"),
        (1 << 20, "1.0 MiB"),
        (5 << 30, "5.0 GiB"),
        (3 << 50, "3.0 PiB"),
        (1 << 60, "1,024 PiB"),
    ],
)
def test_bytes_have_a_binary_unit(count: int, words: str) -> None:
    assert byte_text(count) == words


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.0, "0 ms"),
        (0.012, "12 ms"),
        (1.0, "1.0 s"),
        (59.94, "59.9 s"),
        (60.0, "1 min 0 s"),
        (245.4, "4 min 5 s"),
        (3600.0, "1 h 0 min"),
        (7380.0, "2 h 3 min"),
        (86_400.0, "1 d 0 h"),
        (435_600.0, "5 d 1 h"),
    ],
)
def test_seconds_have_the_unit_that_people_say(seconds: float, words: str) -> None:
    assert second_text(seconds) == words
