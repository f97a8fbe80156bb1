"""docs/how-to/configure.md: its examples are settings that a broker takes, its commands work."""

import re
from pathlib import Path

import pytest

from tests.project.tree import ROOT
from trio_kafka.cli import main
from trio_kafka.cli.machine import Machine
from trio_kafka.config.load import load
from trio_kafka.config.properties import parse_properties
from trio_kafka.config.sources.toml import parse_toml

GUIDE = (ROOT / "docs" / "how-to" / "configure.md").read_text()


def block(language: str) -> str:
    """The one code block of that language, without the indentation of a list."""
    [(indent, text)] = re.findall(
        rf"^( *)```{language}\n(.*?)^ *```$", GUIDE, re.MULTILINE | re.DOTALL
    )
    return re.sub(rf"^{indent}", "", text, flags=re.MULTILINE)


COMMANDS = re.findall(r"^    trio-kafka (config .*)$", GUIDE, re.MULTILINE)


def test_toml_file_in_the_configure_guide_is_a_valid_configuration() -> None:
    config = load(parse_toml(block("toml"), "broker.toml")).config

    assert [str(endpoint) for endpoint in config.endpoints.broker] == [
        "PLAINTEXT://127.0.0.1:9092",
        "INSIDE://[::1]:9093",
    ]
    assert config.directories == ("/var/lib/kafka",)
    assert config.log_retention_hours == 24
    assert config.auto_create_topics_enable is False


def test_secrets_in_the_configure_guide_are_read_from_environment_and_file(tmp_path: Path) -> None:
    (tmp_path / "tls.properties").write_text("key.password=two\n")
    text = block("properties").replace("/etc/kafka/secrets", str(tmp_path))

    loaded = load(parse_properties(text, "f"), outside=Machine({"KEYSTORE_PASSWORD": "one"}))

    texts = loaded.config.texts
    assert texts["ssl.keystore.password"].text == "one"
    assert texts["ssl.key.password"].text == "two"


@pytest.mark.parametrize(
    "command", [command for command in COMMANDS if "--bootstrap" not in command]
)
def test_commands_of_the_configure_guide_run(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("broker.toml").write_text(block("toml"))
    Path("server.properties").write_text("num.partitions=3\n")

    # The two files differ; nothing else is wrong.
    assert main(command.split()) == (1 if " diff " in command else 0)


def test_configure_guide_shows_every_config_command() -> None:
    assert {command.split()[1] for command in COMMANDS} == {"lint", "explain", "diff"}
