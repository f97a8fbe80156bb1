"""`trio-kafka txn list`: ids, and each filter."""

import json

import pytest

from tests.cli.txn.kit import error_of, run
from trio_kafka.testing.kafka.threaded import Kafka


def ids(kafka: Kafka, capsys: pytest.CaptureFixture[str], *filters: str) -> list[str]:
    assert run(kafka, "list", "--json", *filters) == 0
    rows = json.loads(capsys.readouterr().out)["transactions"]
    return [row["transactional_id"] for row in rows]


def test_list_shows_ids_with_producer_and_state(
    kafka: Kafka, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(kafka, "list") == 0

    head, *rows = capsys.readouterr().out.splitlines()
    assert head.split() == ["transactional", "id", "producer", "id", "state"]
    assert [row.split()[2] for row in rows if row.startswith("open ")] == ["Ongoing"]


def test_each_filter_chooses_ids(kafka: Kafka, capsys: pytest.CaptureFixture[str]) -> None:
    run(kafka, "list", "--json")
    rows = json.loads(capsys.readouterr().out)["transactions"]
    producer_ids = {row["transactional_id"]: row["producer_id"] for row in rows}

    assert "open" in ids(kafka, capsys, "--state", "Ongoing", "--state", "Empty")
    assert "open" not in ids(kafka, capsys, "--state", "Empty")
    assert ids(kafka, capsys, "--producer-id", str(producer_ids["open"])) == ["open"]
    assert ids(kafka, capsys, "--producer-id", "999999") == []
    assert "open" in ids(kafka, capsys, "--duration-filter", "0")
    assert ids(kafka, capsys, "--duration-filter", "3600000") == []
    assert ids(kafka, capsys, "--transactional-id-pattern", "op.*") == ["open"]
    assert ids(kafka, capsys, "--transactional-id-pattern", "pe") == []


@pytest.mark.parametrize(
    ("filters", "status", "words"),
    [
        (("--state", "Open"), 2, "unknown state Open: `trio-kafka txn list --help` names"),
        (("--transactional-id-pattern", "("), 1, "is not a regular expression of RE2/J"),
    ],
)
def test_wrong_filter_is_one_line_with_a_remedy(
    kafka: Kafka,
    capsys: pytest.CaptureFixture[str],
    filters: tuple[str, ...],
    status: int,
    words: str,
) -> None:
    assert run(kafka, "list", *filters) == status
    assert words in error_of(capsys)
