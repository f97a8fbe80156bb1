"""`trio-kafka txn abort`: a hanging transaction by a marker, one of an id by its coordinator."""

import json

import pytest

from tests.cli.txn.kit import aborted_producers, begin, error_of, forget, run
from trio_kafka.testing.kafka.threaded import Kafka


def at(topic: str, offset: int = 0) -> tuple[str, ...]:
    return ("--topic", topic, "--partition", "0", "--start-offset", str(offset))


def test_hanging_transaction_is_aborted_in_its_partition(
    kafka: Kafka, capsys: pytest.CaptureFixture[str]
) -> None:
    kafka.create_topic("torn")
    identity = begin(kafka, "torn-id", "torn")
    forget(kafka, "torn-id")
    assert run(kafka, "abort", *at("torn"), "--dry-run") == 0
    plan = capsys.readouterr().out.splitlines()

    assert run(kafka, "abort", *at("torn")) == 0

    lines = capsys.readouterr().out.splitlines()
    assert plan[0].startswith("would abort the transaction of producer ")
    assert "in torn-0 from offset 0: a marker is written" in plan[0]
    assert plan[1] == "nothing was changed"
    assert lines[0].startswith("aborting the transaction of producer ")
    assert lines[1] == "aborted"
    assert run(kafka, "producers", "--topic", "torn", "--open", "--json") == 0
    assert json.loads(capsys.readouterr().out) == {"producers": []}
    assert aborted_producers(kafka, "torn") == [identity.producer_id]
    assert run(kafka, "abort", *at("torn")) == 1
    assert error_of(capsys).endswith("begins at offset 0: none is open")


def test_transaction_of_an_id_is_aborted_by_its_coordinator_which_fences_the_producer(
    kafka: Kafka, capsys: pytest.CaptureFixture[str]
) -> None:
    kafka.create_topic("fenced")
    begin(kafka, "fenced-id", "fenced")
    assert run(kafka, "abort", "--transactional-id", "fenced-id", "--dry-run", "--json") == 0
    plan = json.loads(capsys.readouterr().out)

    assert run(kafka, "abort", "--transactional-id", "fenced-id", "--json") == 0

    aborted = json.loads(capsys.readouterr().out)
    assert (plan["state"], plan["partitions"]) == ("Ongoing", {"fenced": [0]})
    assert (plan["aborted"], aborted["aborted"]) == (False, True)
    run(kafka, "describe", "fenced-id", "--json")
    (state,) = json.loads(capsys.readouterr().out)["transactions"]
    assert state["state"] == "Empty"
    assert state["producer_epoch"] > plan["producer_epoch"]
    assert run(kafka, "producers", "--topic", "fenced", "--open", "--json") == 0
    assert json.loads(capsys.readouterr().out) == {"producers": []}
    assert run(kafka, "abort", "--transactional-id", "fenced-id") == 1
    assert "no transaction is open, it is Empty" in error_of(capsys)


def test_transaction_that_its_coordinator_ends_is_aborted_in_its_partition_by_force_only(
    kafka: Kafka, capsys: pytest.CaptureFixture[str]
) -> None:
    kafka.create_topic("forced")
    begin(kafka, "forced-id", "forced")

    assert run(kafka, "abort", *at("forced")) == 1
    assert "does not hang: its coordinator ends it" in error_of(capsys)
    assert run(kafka, "abort", *at("forced", 7)) == 1
    assert error_of(capsys).endswith("begins at offset 7: they begin at 0")

    assert run(kafka, "abort", *at("forced"), "--force") == 0
    capsys.readouterr()
    run(kafka, "abort", "--transactional-id", "forced-id")


@pytest.mark.parametrize(
    "options",
    [(), ("--topic", "orders"), ("--transactional-id", "x", "--topic", "orders")],
)
def test_incomplete_or_contradicting_options_are_refused(
    kafka: Kafka, capsys: pytest.CaptureFixture[str], options: tuple[str, ...]
) -> None:
    assert run(kafka, "abort", *options) == 2
    assert "give --transactional-id ID, or --topic, --partition" in error_of(capsys)
