"""Credentials of a client, from its settings."""

import pytest

from trio_kafka.clients.settings.load import admin_settings
from trio_kafka.clients.settings.security import credentials
from trio_kafka.config.setting import ConfigError
from trio_kafka.security.sasl.client import Credentials
from trio_kafka.security.tokens.login import TokenLogin
from trio_kafka.security.tokens.sources import TokenEndpoint

PACKAGE = "org.apache.kafka.common.security"
PLAIN = f'{PACKAGE}.plain.PlainLoginModule required username="ann" password="s3cret";'
SCRAM = f'{PACKAGE}.scram.ScramLoginModule required username="ann" password="s3cret";'
OAUTH = f"{PACKAGE}.oauthbearer.OAuthBearerLoginModule required clientSecret=s3cret;"
BASE = {"bootstrap.servers": "h:1", "security.protocol": "sasl_plaintext"}


@pytest.mark.parametrize(
    ("mechanism", "line"), [("PLAIN", PLAIN), ("plain", PLAIN), ("SCRAM-SHA-512", SCRAM)]
)
def test_mechanism_and_login_line_are_the_credentials(mechanism: str, line: str) -> None:
    settings = admin_settings({**BASE, "sasl.mechanism": mechanism, "sasl.jaas.config": line})

    login = credentials(settings)

    assert isinstance(login, Credentials)
    assert (login.mechanism, login.username) == (mechanism.upper(), "ann")
    assert login.password == "s3cret"
    assert "s3cret" not in repr(login)


def test_settings_of_a_token_are_where_it_comes_from() -> None:
    url = "https://issuer.example/token"
    client = "sasl.oauthbearer.client.credentials.client"
    settings = admin_settings(
        {
            **BASE,
            "sasl.mechanism": "oauthbearer",
            "sasl.jaas.config": OAUTH,
            "sasl.oauthbearer.token.endpoint.url": url,
            f"{client}.id": "me",
            "sasl.login.refresh.window.factor": "0.5",
        }
    )

    login = credentials(settings)

    assert isinstance(login, TokenLogin)
    assert login.source == TokenEndpoint(url=url, client_id="me", client_secret="s3cret")
    assert login.renewal.factor == 0.5
    assert "s3cret" not in f"{login!r}{settings!r}"


def test_a_client_without_sasl_has_no_credentials() -> None:
    assert credentials(admin_settings({"bootstrap.servers": "h:1"})) is None


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"security.protocol": "SSL", "ssl.keystore.password": "x"},
            r"^ssl\.keystore\.location: is missing",
        ),
        ({}, r"^sasl\.mechanism: GSSAPI .Kerberos. is not supported: want one of PLAIN"),
        ({"sasl.mechanism": "NTLM"}, r"^sasl\.mechanism: NTLM is not supported: want one of PLAIN"),
        ({"sasl.mechanism": "OAUTHBEARER"}, r"is not set: want OAuthBearerLoginModule required;$"),
        (
            {"sasl.mechanism": "OAUTHBEARER", "sasl.jaas.config": OAUTH},
            r"^sasl\.jaas\.config: names no token: set sasl\.oauthbearer\.token\.endpoint\.url",
        ),
        (
            {
                "sasl.mechanism": "OAUTHBEARER",
                "sasl.jaas.config": OAUTH,
                "sasl.login.callback.handler.class": "com.example.S",
            },
            r"^sasl\.login\.callback\.handler\.class: 'com\.example\.S' is a Java class",
        ),
        ({"sasl.mechanism": "PLAIN"}, r"^sasl\.jaas\.config: is not set: want PlainLoginModule"),
        ({"sasl.mechanism": "PLAIN", "sasl.jaas.config": SCRAM}, "PLAIN needs PlainLoginModule"),
        ({"sasl.mechanism": "PLAIN", "sasl.jaas.config": PLAIN[:-2]}, "never ends"),
        (
            {"sasl.mechanism": "PLAIN", "sasl.jaas.config": PLAIN.replace("username", "name")},
            "PlainLoginModule needs username",
        ),
    ],
)
def test_settings_that_no_connection_can_be_opened_with_are_refused(
    settings: dict[str, str], message: str
) -> None:
    with pytest.raises(ConfigError, match=message) as caught:
        admin_settings({**BASE, **settings})

    assert "s3cret" not in str(caught.value)
