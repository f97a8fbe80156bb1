"""Commands over SASL: by a file of settings, of librdkafka, by a profile and by `--property`."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.broker.sasl import PACKAGE, SASL
from tests.cli.kit import Shell
from trio_kafka.testing.kafka.threaded import Kafka, running_broker

JAAS = f'{PACKAGE}.plain.PlainLoginModule required username=ann password="{{}}";'
SETTINGS = {
    "security.protocol": "SASL_PLAINTEXT",
    "sasl.mechanism": "PLAIN",
    "sasl.jaas.config": JAAS.format("secret"),
}
COMMANDS = [
    ("topic", "list"),  # a connection of its own
    ("user", "list"),  # the admin client
    ("consume", "orders", "--count", "1"),  # a client on Trio
]


@pytest.fixture(scope="module")
def module_kafka() -> Iterator[Kafka]:
    """A broker whose first listener is that of SASL."""
    listeners = ",".join(reversed(SASL["listeners"].split(",")))
    with running_broker({**SASL, "listeners": listeners}, topics=["orders"]) as kafka:
        kafka.produce("orders", b"x")
        yield kafka


def config_file(path: Path, settings: Mapping[str, str]) -> str:
    path.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
    return str(path)


@pytest.mark.parametrize("words", COMMANDS)
def test_a_command_logs_in_with_the_settings_of_a_file(
    shell: Shell, tmp_path: Path, words: tuple[str, ...]
) -> None:
    file = config_file(tmp_path / "client.properties", SETTINGS)

    shell.run(*words, "--command-config", file)


@pytest.mark.parametrize("words", COMMANDS)
def test_a_command_with_a_wrong_password_is_one_line_without_it(
    shell: Shell, tmp_path: Path, words: tuple[str, ...]
) -> None:
    wrong = {**SETTINGS, "sasl.jaas.config": JAAS.format("s3cret")}
    file = config_file(tmp_path / "client.properties", wrong)

    line = shell.fail(*words, "--command-config", file)

    assert "Authentication failed: Invalid username or password" in line
    assert "s3cret" not in line


def test_a_command_logs_in_with_the_settings_of_librdkafka(shell: Shell, tmp_path: Path) -> None:
    file = config_file(
        tmp_path / "kcat.conf",
        {
            "security.protocol": "sasl_plaintext",
            "sasl.mechanisms": "PLAIN",
            "sasl.username": "ann",
            "sasl.password": "secret",
        },
    )

    assert b"orders" in shell.run("topic", "list", "--config-file", file)


def test_a_command_logs_in_by_a_profile_which_hides_its_password(
    shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    file = config_file(tmp_path / "client.properties", SETTINGS)

    shown = shell.run("profile", "add", "named", "--command-config", file, "--json")

    assert b"orders" in shell.run("topic", "list", "--profile", "named")
    assert b"PLAIN" in shown
    assert b"secret" not in shown
