"""`trio-kafka topic create`."""

import json

from tests.cli.kit import Shell


def test_topic_is_created_with_partitions_and_settings(shell: Shell) -> None:
    line = shell.run("topic", "create", "made", "-p", "3", "-c", "retention.ms=5000")

    assert line == b"done: create topic made, partitions 3, replicas 1\n"
    described = json.loads(shell.run("topic", "describe", "made", "--json"))["topics"][0]
    assert len(described["partitions"]) == 3
    assert described["configs"] == {"min.insync.replicas": "1", "retention.ms": "5000"}


def test_dry_run_creates_nothing_and_shows_kafkas_command(shell: Shell) -> None:
    output = shell.run("topic", "create", "dry", "-p", "2", "--dry-run").decode()

    assert output.startswith("would create topic dry, partitions 2, replicas 1\n")
    assert "kafka-topics.sh --bootstrap-server" in output
    assert "--create --topic dry --partitions 2" in output
    assert "dry" not in shell.kafka.topics()


def test_topic_that_exists_is_an_error_unless_allowed(shell: Shell) -> None:
    shell.kafka.create_topic("twice")

    assert "TOPIC_ALREADY_EXISTS" in shell.fail("topic", "create", "twice")
    assert shell.run("topic", "create", "twice", "--if-not-exists") == b""


def test_one_wrong_topic_does_not_hide_the_others(shell: Shell) -> None:
    shell.kafka.create_topic("old")

    status, output, errors = shell.result("topic", "create", "old", "fresh")

    assert status == 1
    assert output.startswith(b"done: create topic fresh")
    assert "old" in errors


def test_setting_without_a_value_is_rejected(shell: Shell) -> None:
    assert "want NAME=VALUE" in shell.fail("topic", "create", "x", "-c", "a", status=2)
