"""Options that every command with a broker shares."""

from argparse import ArgumentParser

import pytest

from trio_kafka.cli import COMMANDS, LATER, CommandFailedError, main
from trio_kafka.cli.broker_options import cluster_of, declare_bootstrap, default_bootstrap


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


WITHOUT_JSON = {"decode"}  # prints nothing else


@pytest.mark.parametrize(
    "command",
    [*sorted(COMMANDS.keys() - WITHOUT_JSON), "spark usage", "spark restore", "pipeline init"],
)
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

    values = vars(parser.parse_args([]))
    values.pop(f"{LATER}to_bootstrap")(values)
    assert values == {"to_bootstrap": "h:1", "bootstrap": None}


def test_every_command_about_a_cluster_takes_profiles_and_files_of_clients(capsys):
    names = [name for name in COMMANDS if name not in {"config diff", "profile add"}]
    for name in names:
        main([*name.split(), "--help"])
        text = capsys.readouterr().out
        options = ("--profile", "--command-config", "--config-file", "--property")
        assert {option in text for option in options} == {"--bootstrap" in text}, name


def test_several_addresses_are_tried_in_their_order(shell):
    shell.kafka.create_topic("second")
    addresses = f"127.0.0.1:1,{shell.kafka.bootstrap}"

    assert main(["topic", "describe", "second", "--bootstrap", addresses]) == 0
    assert main(["topic", "list", "--bootstrap", f"{addresses},h"]) == 1
    assert main(["cluster", "describe", "--bootstrap", addresses]) == 0
    assert main(["topic", "list", "--bootstrap", "127.0.0.1:1,127.0.0.1:2"]) == 1


def test_file_of_a_client_names_the_cluster_and_an_option_another_one(tmp_path):
    path = tmp_path / "a.properties"
    path.write_text("bootstrap.servers=f:1,f:2\nlinger.ms=5\n")

    cluster = cluster_of(None, None, [str(path)], [], ["acks=1"])
    assert (cluster, cluster.settings["linger.ms"]) == ("f:1,f:2", "5")
    assert cluster.properties == {"acks": "1"}
    assert cluster_of("h:1", None, [str(path)], [], []) == "h:1"
    assert cluster_of(None, None, [str(path)], [], ["bootstrap.servers=p:1"]) == "p:1"


def test_file_whose_stores_contradict_each_other_is_refused_before_a_connection(tmp_path):
    path = tmp_path / "a.properties"
    path.write_text("bootstrap.servers=f:1\nsecurity.protocol=SSL\nssl.keystore.password=x\n")

    with pytest.raises(CommandFailedError, match=r"ssl\.keystore\.location: is missing"):
        cluster_of(None, None, [str(path)], [], [])
