"""`trio-kafka config set`: what Kafka's own command for it is."""

from tests.cli.kit import Shell


def test_dry_run_shows_kafkas_command(shell: Shell) -> None:
    output = shell.run(
        "config", "set", "brokers", "default", "log.retention.ms=1000000", "--dry-run"
    ).decode()

    assert output.startswith("would set brokers default: log.retention.ms=1000000\n")
    assert "--alter --entity-type brokers --entity-default --add-config" in output


def test_value_that_the_broker_refuses_is_an_error(shell: Shell) -> None:
    shell.kafka.create_topic("refused")

    assert "INVALID_CONFIG" in shell.fail("config", "set", "topics", "refused", "segment.ms=x")


def test_command_of_kafka_has_brackets_around_a_value_with_commas(shell: Shell) -> None:
    shell.kafka.create_topic("both")
    words = ("config", "set", "topics", "both", "cleanup.policy=compact,delete", "segment.ms=5")

    output = shell.run(*words, "--dry-run").decode()

    assert "--add-config 'cleanup.policy=[compact,delete],segment.ms=5'" in output
