"""Reports of changes, and of clusters that cannot be reached."""

import json

import pytest

from trio_kafka.cli import CommandFailedError
from trio_kafka.cli.admin import Change, open_cluster, report
from trio_kafka.cli.cluster_address import Bootstrap
from trio_kafka.clients.errors import ClientError

CHANGES = {
    "a": Change(verb="delete", words="topic a", kafka=["kafka-topics.sh", "--topic", "a b"]),
    "b": Change(verb="delete", words="topic \x1b", data={"topic": "b"}),
}


def test_changes_that_would_be_made_come_with_kafkas_command(capsys):
    assert report(CHANGES, {}, dry_run=True, json=False) == 0
    assert capsys.readouterr().out.splitlines() == [
        "would delete topic a",
        "would delete topic \\x1b",
        "Kafka's own command: kafka-topics.sh --topic 'a b'",
    ]


def test_change_that_has_failed_is_not_said_to_be_done(capsys):
    status = report(CHANGES, {"a": ClientError("no")}, dry_run=False, json=True)

    output, errors = capsys.readouterr()
    assert status == 1
    assert json.loads(output)["changes"] == [{"verb": "delete", "topic": "b", "kafka_command": ""}]
    assert errors == "trio-kafka: no\n"


def test_cluster_that_cannot_be_reached_is_named_at_once():
    address = "127.0.0.1:1"

    with (
        pytest.raises(CommandFailedError, match=rf"{address}: connection refused") as failure,
        open_cluster(address, 5.0) as admin,
    ):
        admin.list_topics()

    assert failure.value.status == 1


def test_properties_and_settings_of_files_reach_the_client():
    address = "127.0.0.1:1"

    with (
        pytest.raises(CommandFailedError, match=r"linger\.ms: is a setting of producers"),
        open_cluster(Bootstrap(address, {}, {"linger.ms": "5"}), 5.0),
    ):
        pass
    with open_cluster(Bootstrap(address, {"linger.ms": "5", "retries": "2"}), 5.0) as admin:
        assert admin.settings.retries == 2
