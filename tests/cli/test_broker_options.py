"""Options that every command with a broker shares."""

import re
from argparse import ArgumentParser
from importlib.util import find_spec

import pytest

from trio_kafka.cli import LATER, CommandFailedError, main
from trio_kafka.cli.broker_options import cluster_of, declare_cluster, default_bootstrap
from trio_kafka.cli.commands import COMMANDS


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


@pytest.fixture
def profile(tmp_path, monkeypatch):
    """A profile `prod`, of the cluster p:1."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.delenv("TRIO_KAFKA_BOOTSTRAP", raising=False)
    assert main(["profile", "add", "prod", "--bootstrap", "p:1", "--property", "retries=3"]) == 0


def values_of(parser, *words):
    values = vars(parser.parse_args(words))
    for key in [key for key in values if key.startswith(LATER)]:
        values.pop(key)(values)
    return values


def test_second_cluster_of_a_command_has_the_same_options_and_defaults(profile, monkeypatch):
    parser = ArgumentParser()
    declare_cluster(parser, keep_none=True)
    declare_cluster(parser, prefix="to-")

    named = values_of(parser, "--to-profile", "prod", "--to-property", "acks=1")
    assert named == {"bootstrap": None, "to_bootstrap": "p:1"}
    cluster = named["to_bootstrap"]
    assert (cluster.settings["retries"], cluster.properties) == ("3", {"acks": "1"})
    monkeypatch.setenv("TRIO_KAFKA_BOOTSTRAP", "h:1")
    assert values_of(parser) == {"bootstrap": None, "to_bootstrap": "h:1"}
    assert values_of(parser, "-X", "bootstrap.servers=x:1")["bootstrap"] == "x:1"


def test_every_command_about_a_cluster_takes_profiles_and_files_of_clients(capsys):
    names = [name for name in COMMANDS if name != "profile add"]
    if find_spec("pyspark") is not None:
        names += ["spark dump", "spark restore", "pipeline run"]
    for name in names:
        main([*name.split(), "--help"])
        options = set(re.findall(r"--[\w-]+", capsys.readouterr().out))
        for prefix in ("--", "--to-"):
            sources = ("profile", "command-config", "config-file", "property")
            assert {f"{prefix}{source}" in options for source in sources} == {
                f"{prefix}bootstrap" in options
            }, name


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
