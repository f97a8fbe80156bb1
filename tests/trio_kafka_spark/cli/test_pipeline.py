"""The table of `trio-kafka pipeline`."""

import pytest

from trio_kafka.cli import main
from trio_kafka_spark.cli.pipeline import COMMANDS, INSTALL


@pytest.mark.parametrize("command", COMMANDS)
def test_each_pipeline_command_has_its_own_help_text(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["pipeline", command, "--help"]) == 0

    text = capsys.readouterr().out
    assert text.startswith(f"usage: trio-kafka pipeline {command} [-h]")
    assert text.split("\n\n")[1][0].isupper()


def test_the_package_to_install_for_pipelines_is_trio_kafka_with_spark() -> None:
    assert INSTALL == "trio-kafka[spark]"
