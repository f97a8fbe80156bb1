"""`trio-kafka topic describe`."""

from tests.cli.kit import Shell


def test_description_shows_settings_and_partitions(shell: Shell) -> None:
    shell.kafka.create_topic("described", partitions=2, configs={"retention.ms": "5"})

    head, inherited, setting, columns, *rows = (
        shell.run("topic", "describe", "described").decode().splitlines()
    )

    assert head.startswith("topic described  id ")
    assert inherited == "  min.insync.replicas=1 (DYNAMIC_DEFAULT_BROKER_CONFIG)"
    assert setting == "  retention.ms=5"
    assert columns.split() == ["partition", "leader", "replicas", "in", "sync"]
    assert [row.split()[0] for row in rows] == ["0", "1"]
