"""`reload` without a broker; test_new.py reloads a plugin of one."""

import pytest

from trio_kafka.cli import main


@pytest.mark.parametrize("command", ["list", "reload x"])
def test_plugin_commands_without_a_broker_report_the_refused_connection(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["plugin", *command.split(), "--bootstrap", "127.0.0.1:1"]) == 1
    assert capsys.readouterr().err == (
        "trio-kafka: 127.0.0.1:1: connection refused: start a broker there,"
        " or set --bootstrap or TRIO_KAFKA_BOOTSTRAP\n"
    )
