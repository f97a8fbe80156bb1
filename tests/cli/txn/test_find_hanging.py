"""`trio-kafka txn find-hanging`: only what no coordinator knows."""

import json

import pytest

from tests.cli.txn.kit import error_of, run
from trio_kafka.testing.kafka.threaded import Kafka

AT_ONCE = ("--max-transaction-timeout", "-1")  # batches of tests may be of this moment


def test_find_hanging_lists_the_transaction_that_no_coordinator_knows_and_ends_with_1(
    kafka: Kafka, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(kafka, "find-hanging", *AT_ONCE) == 1
    _, row, hint = capsys.readouterr().out.splitlines()
    assert row.split()[:2] == ["lost", "0"]
    assert hint.startswith("End one with: trio-kafka txn abort --topic")

    assert run(kafka, "find-hanging", *AT_ONCE, "--topic", "lost", "--json") == 1
    (hanging,) = json.loads(capsys.readouterr().out)["hanging"]
    assert (hanging["topic"], hanging["start_offset"]) == ("lost", 0)


def test_known_and_young_transactions_do_not_hang(
    kafka: Kafka, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(kafka, "find-hanging", *AT_ONCE, "--topic", "orders", "--partition", "0") == 0
    assert capsys.readouterr().out == "no transaction hangs\n"
    assert run(kafka, "find-hanging", "--max-transaction-timeout", "1e9") == 0


def test_partition_without_a_topic_is_refused(
    kafka: Kafka, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(kafka, "find-hanging", "--partition", "0") == 2
    assert error_of(capsys).endswith("give both, or --topic alone")
