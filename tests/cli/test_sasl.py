"""Commands over SASL: by a file of settings, of librdkafka, by a profile and by `--property`."""

import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.broker.sasl import PACKAGE, SASL
from tests.cli.kit import Shell
from tests.security.tokens.endpoint import token_endpoint
from tests.security.tokens.kit import ISSUER, key_set, public_row, token
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
def module_kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kafka]:
    """A broker whose first listener is that of SASL, with PLAIN and tokens among its mechanisms."""
    keys = tmp_path_factory.mktemp("issuer") / "keys.json"
    keys.write_bytes(key_set(public_row("ES256", "k")))
    settings = {
        **SASL,
        "listeners": ",".join(reversed(SASL["listeners"].split(","))),
        "sasl.enabled.mechanisms": "PLAIN,OAUTHBEARER",
        "sasl.oauthbearer.jwks.endpoint.url": keys.as_uri(),
        "sasl.oauthbearer.expected.audience": "kafka",
        "sasl.oauthbearer.expected.issuer": ISSUER,
    }
    with running_broker(settings, topics=["orders"]) as kafka:
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


def answer() -> tuple[int, object]:
    """The answer of a token endpoint: a token of ann for a minute."""
    now_s = int(time.time())
    return 200, {"access_token": token("ES256", iat=now_s, exp=now_s + 60)}


def token_settings(url: str) -> dict[str, str]:
    return {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.jaas.config": f"{PACKAGE}.oauthbearer.OAuthBearerLoginModule required;",
        "sasl.oauthbearer.token.endpoint.url": url,
        "sasl.oauthbearer.client.credentials.client.id": "me",
        "sasl.oauthbearer.client.credentials.client.secret": "s3cret",
    }


@pytest.mark.slow
def test_each_client_of_a_command_asks_an_endpoint_for_one_token(
    shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    with token_endpoint(answer) as endpoint:
        file = config_file(tmp_path / "client.properties", token_settings(endpoint.url))
        for words, requests in zip(COMMANDS, (1, 2, 4), strict=True):
            shell.run(*words, "--command-config", file)
            assert len(endpoint.requests) == requests  # the last one looks, then reads
        two = f"{shell.bootstrap},{shell.bootstrap.replace('127.0.0.1', 'localhost')}"
        shell.at(two).run("topic", "list", "--command-config", file)
        shown = shell.run("profile", "add", "tokens", "--command-config", file, "--json")
        shell.run("topic", "list", "--profile", "tokens")

    assert len(endpoint.requests) == 6
    assert b"me" in shown
    assert b"s3cret" not in shown


def test_a_command_gets_a_token_with_the_settings_of_librdkafka(
    shell: Shell, tmp_path: Path
) -> None:
    with token_endpoint(answer) as endpoint:
        settings = {
            "security.protocol": "sasl_plaintext",
            "sasl.mechanisms": "OAUTHBEARER",
            "sasl.oauthbearer.method": "oidc",
            "sasl.oauthbearer.client.id": "me",
            "sasl.oauthbearer.client.secret": "s3cret",
            "sasl.oauthbearer.scope": "read",
            "sasl.oauthbearer.extensions": "team=a,trace=7",
            "sasl.oauthbearer.token.endpoint.url": endpoint.url,
        }
        file = config_file(tmp_path / "kcat.conf", settings)

        assert b"orders" in shell.run("topic", "list", "--config-file", file)

    (request,) = endpoint.requests
    assert request.form == b"grant_type=client_credentials&scope=read"


@pytest.mark.parametrize("words", COMMANDS)
def test_a_command_whose_login_the_endpoint_refuses_is_one_line_without_the_secret(
    shell: Shell, tmp_path: Path, words: tuple[str, ...]
) -> None:
    with token_endpoint(lambda: (401, {"error": "invalid_client"})) as endpoint:
        file = config_file(tmp_path / "client.properties", token_settings(endpoint.url))

        line = shell.fail(*words, "--command-config", file)

    assert f"no token: {endpoint.url}: answered 401 (invalid_client)" in line
    assert "s3cret" not in line
