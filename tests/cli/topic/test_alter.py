"""`trio-kafka topic alter`."""

import json

from tests.cli.kit import Shell


def configs(shell: Shell, topic: str) -> dict[str, str]:
    """Settings of a topic of its own."""
    described = json.loads(shell.run("topic", "describe", topic, "--json"))
    settings: dict[str, str] = described["topics"][0]["configs"]
    assert settings.pop("min.insync.replicas") == "1"  # of the cluster
    return settings


def test_settings_are_set_and_unset(shell: Shell) -> None:
    shell.kafka.create_topic("altered", configs={"retention.ms": "5"})

    shell.run("topic", "alter", "altered", "--set", "segment.ms=7", "--unset", "retention.ms")

    assert configs(shell, "altered") == {"segment.ms": "7"}


def test_dry_run_is_checked_by_the_broker_and_changes_nothing(shell: Shell) -> None:
    shell.kafka.create_topic("checked")

    output = shell.run("topic", "alter", "checked", "-s", "segment.ms=7", "--dry-run").decode()
    wrong = shell.fail("topic", "alter", "checked", "-s", "segment.ms=x", "--dry-run")

    assert "would set topics checked: segment.ms=7" in output
    assert "kafka-configs.sh" in output
    assert "--alter --entity-type topics --entity-name checked --add-config segment.ms=7" in output
    assert "checked" in wrong
    assert configs(shell, "checked") == {}


def test_change_without_a_setting_is_rejected(shell: Shell) -> None:
    assert "give --set NAME=VALUE" in shell.fail("topic", "alter", "x", status=2)
