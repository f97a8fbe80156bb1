"""The table of `trio-kafka pipeline`."""

import pytest

from trio_kafka.cli import main
from trio_kafka_spark.cli.pipeline import COMMANDS, INSTALL


@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_has_a_help_text_of_its_own(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["pipeline", command, "--help"]) == 0

    text = capsys.readouterr().out
    assert text.startswith(f"usage: trio-kafka pipeline {command} [-h]")
    assert text.split("\n\n")[1][0].isupper()


def test_it_says_what_to_install() -> None:
    assert INSTALL == "trio-kafka[spark]"
