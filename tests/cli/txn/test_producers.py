"""`trio-kafka txn producers`: what the logs of partitions know."""

import json

import pytest

from tests.cli.txn.kit import error_of, run
from trio_kafka.testing.kafka.threaded import Kafka


def test_producers_shows_where_a_transaction_began(
    kafka: Kafka, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(kafka, "producers", "--topic", "orders") == 0
    head, row = capsys.readouterr().out.splitlines()
    assert head.endswith("open since offset")
    assert row.split()[:2] == ["orders", "0"]
    assert row.split()[-1] == "0"

    assert run(kafka, "producers", "--topic", "orders", "--partition", "1", "--json") == 0
    assert json.loads(capsys.readouterr().out) == {"producers": []}

    assert run(kafka, "producers", "--topic", "orders", "--open", "--json") == 0
    (producer,) = json.loads(capsys.readouterr().out)["producers"]
    assert (producer["start_offset"], producer["coordinator_epoch"]) == (0, -1)
    assert producer["last_sequence"] == 0


@pytest.mark.parametrize(
    ("options", "status", "words"),
    [
        (("--topic", "none"), 1, "topic none: there is no such partition"),
        (("--topic", "orders", "--partition", "9"), 1, "partition orders-9: there is no such"),
        (("--topic", "orders", "--partition", "-1"), 2, "give a number from 0"),
    ],
)
def test_wrong_partition_is_one_line_with_a_remedy(
    kafka: Kafka,
    capsys: pytest.CaptureFixture[str],
    options: tuple[str, ...],
    status: int,
    words: str,
) -> None:
    assert run(kafka, "producers", *options) == status
    assert words in error_of(capsys)
