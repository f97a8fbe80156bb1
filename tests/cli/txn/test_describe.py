"""`trio-kafka txn describe`: state, age and partitions of an id."""

import json

import pytest

from tests.cli.txn.kit import error_of, run
from trio_kafka.testing.kafka.threaded import Kafka


def test_describe_shows_state_age_and_partitions(
    kafka: Kafka, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(kafka, "describe", "open") == 0

    values = dict(line.split(":", 1) for line in capsys.readouterr().out.splitlines())
    assert values["state"].strip() == "Ongoing"
    assert values["timeout"].strip() == "60 s"
    assert values["open for"].strip().endswith(" s")
    assert values["partitions"].strip() == "orders-0"


def test_describe_prints_json(kafka: Kafka, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(kafka, "describe", "open", "--json") == 0

    (state,) = json.loads(capsys.readouterr().out)["transactions"]
    assert state["transactional_id"] == "open"
    assert (state["state"], state["partitions"]) == ("Ongoing", {"orders": [0]})
    assert state["duration_ms"] >= 0


def test_unknown_id_is_one_line_with_a_remedy(
    kafka: Kafka, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(kafka, "describe", "none") == 1
    assert error_of(capsys) == (
        "trio-kafka: transactional id none: there is no such transactional id: list them with"
        " `trio-kafka txn list` (TRANSACTIONAL_ID_NOT_FOUND)"
    )
