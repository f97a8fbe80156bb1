"""`trio-kafka bench`, against a broker."""

import json

import pytest

from tests.cli import peers
from tests.cli.kit import Shell


@pytest.fixture
def topic(shell: Shell, request: pytest.FixtureRequest) -> str:
    name = f"bench-{abs(hash(request.node.name))}"
    shell.kafka.create_topic(name, 3)
    return name


def test_records_that_were_produced_are_consumed_and_counted(shell: Shell, topic: str) -> None:
    words = ("bench", "produce", topic, "-n", "2000", "--size", "50", "-X", "linger.ms=1")
    produced = json.loads(shell.run(*words, "--json"))

    assert (produced["records"], produced["bytes"]) == (2000, 100_000)
    assert len(shell.kafka.records(topic)) == 2000
    assert {
        record.value is not None and len(record.value) for record in shell.kafka.records(topic)
    } == {50}
    figures = produced["latency_ms"]
    assert 0 < figures["p50"] <= figures["p99"] <= figures["max"]
    consumed = json.loads(shell.run("bench", "consume", topic, "--json"))
    assert (consumed["records"], consumed["bytes"]) == (2000, 100_000)
    assert consumed["records_per_s"] > 0
    assert "latency_ms" not in consumed
    few = json.loads(shell.run("bench", "consume", topic, "-n", "10", "--json"))
    assert 10 <= few["records"] < 2000


def test_empty_topic_is_consumed_at_once(shell: Shell, topic: str) -> None:
    assert shell.run("bench", "consume", topic).startswith(b"0 records, 0.0 MB in 0.0")


def test_reader_without_answers_ends_at_its_timeout(shell: Shell, topic: str) -> None:
    shell.kafka.produce(topic, b"x")
    fetch = 1

    with peers.serving(peers.Relay(shell.kafka.bootstrap, seen=fetch.__eq__)) as address:
        line = shell.at(address).fail("bench", "consume", topic, "--timeout", "0.5")

    assert f"{topic}: no record within 0.5 s" in line


def test_rate_bounds_what_is_sent(shell: Shell, topic: str) -> None:
    produced = json.loads(
        shell.run("bench", "produce", topic, "-n", "20", "--rate", "100", "--json")
    )

    assert produced["seconds"] >= 0.19


def test_latency_is_measured_for_each_record_and_other_writers_do_not_disturb(
    shell: Shell, topic: str
) -> None:
    shell.run("bench", "produce", topic, "-n", "100")
    text = shell.run("bench", "latency", topic, "-n", "30", "--acks", "1").decode()

    assert text.splitlines()[0].startswith("30 records, 0.0 MB")
    assert text.splitlines()[2].startswith("latency, ms: mean ")
    assert len(shell.kafka.records(topic)) == 150  # with those of the warm-up


@pytest.mark.parametrize("name", ["produce", "consume", "latency"])
def test_unknown_topic_and_wrong_number_are_one_line(shell: Shell, name: str) -> None:
    shell.kafka.create_topic(f"orders-{name}")

    line = shell.fail("bench", name, f"order-{name}")
    assert f"orders-{name}" in line  # the nearest name
    assert "more than 0" in shell.fail("bench", name, f"orders-{name}", "-n", "0", status=2)


def test_error_of_a_record_names_the_partition_and_the_reason(shell: Shell, topic: str) -> None:
    shell.kafka.create_topic("small-records", configs={"max.message.bytes": "100"})

    line = shell.fail("bench", "produce", "small-records", "-n", "1", "--size", "500")
    assert "small-records" in line
