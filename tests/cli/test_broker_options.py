"""Options that every command with a broker shares."""

from argparse import ArgumentParser

import pytest

from trio_kafka.cli import COMMANDS, main
from trio_kafka.cli.broker_options import declare_bootstrap, default_bootstrap


def test_default_bootstrap_is_the_environment_variable_or_else_loopback(monkeypatch):
    monkeypatch.delenv("TRIO_KAFKA_BOOTSTRAP", raising=False)
    assert default_bootstrap() == "127.0.0.1:9092"
    monkeypatch.setenv("TRIO_KAFKA_BOOTSTRAP", "")
    assert default_bootstrap() == "127.0.0.1:9092"
    monkeypatch.setenv("TRIO_KAFKA_BOOTSTRAP", "h:1")
    assert default_bootstrap() == "h:1"


@pytest.mark.parametrize(
    "command",
    ["tree", "top", "requests", "plugin list", "plugin reload x", "config diff {file} --running"],
)
def test_every_command_with_a_broker_address_reads_the_environment_variable(
    command, tmp_path, monkeypatch, capsys
):
    file = tmp_path / "a.properties"
    file.write_text("")
    monkeypatch.setenv("TRIO_KAFKA_BOOTSTRAP", "no-port")

    assert main(command.format(file=file).split()) != 0

    assert capsys.readouterr().err.startswith("trio-kafka: no-port: not an address: ")


@pytest.mark.parametrize("command", [*COMMANDS, "spark usage", "spark restore", "pipeline init"])
def test_every_command_has_the_json_option(command, capsys):
    if command.startswith("spark "):
        pytest.importorskip("pyspark", reason="pyspark is not installed: make test SPARK=yes")

    assert main([*command.split(), "--help"]) == 0

    assert "--json" in capsys.readouterr().out


def test_bootstrap_option_with_another_name_has_the_same_default(monkeypatch):
    monkeypatch.setenv("TRIO_KAFKA_BOOTSTRAP", "h:1")
    parser = ArgumentParser()
    declare_bootstrap(parser, "--to-bootstrap")
    declare_bootstrap(parser, keep_none=True)

    found = parser.parse_args([])
    assert (found.to_bootstrap, found.bootstrap) == ("h:1", None)
