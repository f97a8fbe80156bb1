"""`trio-kafka topic grow`."""

from tests.cli.kit import Shell


def test_topic_gets_more_partitions(shell: Shell) -> None:
    shell.kafka.create_topic("grown", partitions=2)

    dry = shell.run("topic", "grow", "grown", "-p", "5", "--dry-run")
    line = shell.run("topic", "grow", "grown", "-p", "4")

    assert dry.startswith(b"would grow topic grown from 2 to 5 partitions\n")
    assert line == b"done: grow topic grown from 2 to 4 partitions\n"
    assert "INVALID_PARTITIONS" in shell.fail("topic", "grow", "grown", "-p", "3")
