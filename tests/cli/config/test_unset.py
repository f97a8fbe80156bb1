"""`trio-kafka config unset`."""

from tests.cli.kit import Shell


def test_dry_run_names_the_default(shell: Shell) -> None:
    shell.kafka.create_topic("unset")

    output = shell.run("config", "unset", "topics", "unset", "segment.ms", "--dry-run").decode()

    assert output.startswith("would set topics unset: segment.ms to its default\n")
    assert "--delete-config segment.ms" in output
