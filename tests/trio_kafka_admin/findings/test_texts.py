"""Amounts in words."""

import pytest

from trio_kafka_admin.findings.texts import LONGEST, amount, counted, duration, short


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.04, "0.0 s"),
        (9.94, "9.9 s"),
        (9.96, "10 s"),
        (59.4, "59 s"),
        (60.0, "1 minute"),
        (299.0, "5 minutes"),
        (7_200.0, "2 hours"),
    ],
)
def test_time_in_words(seconds: float, words: str) -> None:
    assert duration(seconds) == words


@pytest.mark.parametrize(
    ("size", "words"),
    [(999, "999 B"), (1_000, "1.0 kB"), (16_842_825, "16.8 MB"), (2.5e9, "2.5 GB")],
)
def test_bytes_in_words(size: float, words: str) -> None:
    assert amount(size) == words


def test_nouns_are_counted() -> None:
    assert [counted(1, "client"), counted(1_200, "client")] == ["1 client", "1,200 clients"]
    assert counted(2, "directory", "directories") == "2 directories"


def test_names_that_clients_choose_are_cut() -> None:
    assert short("") == "without an id"
    assert short("x" * LONGEST) == "x" * LONGEST
    assert short("x" * 30_000) == "x" * (LONGEST - 1) + "…"
