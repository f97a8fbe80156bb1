import pytest

from trio_kafka.security.tokens.sources import TokenEndpoint
from trio_kafka_spark.client.errors import OptionError
from trio_kafka_spark.client.secret import Secret
from trio_kafka_spark.client.security import Security

PLAIN = (
    'org.apache.kafka.common.security.plain.PlainLoginModule required username="u" password="s3";'
)


def security(protocol: str = "SASL_SSL", jaas: str | None = PLAIN, **values: object) -> Security:
    named = {name.replace("__", "."): value for name, value in values.items()}
    if jaas is not None:
        named["sasl.jaas"] = Secret("kafka.sasl.jaas.config", jaas)
    return Security.from_values({"protocol": protocol, **named})


def test_each_security_protocol_uses_tls_and_sasl_by_its_name() -> None:
    used = {
        name: (settings.uses_tls, settings.uses_sasl)
        for name in ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
        for settings in [security(name, sasl__mechanism="PLAIN")]
    }

    assert used == {
        "PLAINTEXT": (False, False),
        "SSL": (True, False),
        "SASL_PLAINTEXT": (False, True),
        "SASL_SSL": (True, True),
    }


@pytest.mark.parametrize("mechanism", ["", "GSSAPI", "NTLM"])
def test_kerberos_and_unknown_sasl_mechanisms_are_refused_by_name(mechanism: str) -> None:
    name = mechanism or "GSSAPI"
    with pytest.raises(OptionError, match=rf"sasl\.mechanism: .*{name}.* set one of PLAIN, SCRAM"):
        security(sasl__mechanism=mechanism)


def test_missing_or_mismatched_jaas_lines_are_refused_with_the_settings() -> None:
    with pytest.raises(OptionError, match="is missing: want a line for PlainLoginModule"):
        security(jaas=None, sasl__mechanism="PLAIN")
    with pytest.raises(OptionError, match="SCRAM-SHA-512 needs ScramLoginModule"):
        security(sasl__mechanism="SCRAM-SHA-512")
    with pytest.raises(OptionError, match="no semicolon"):
        security(jaas=PLAIN[:-1], sasl__mechanism="PLAIN")


def test_a_jaas_line_with_a_variable_is_parsed_at_login(monkeypatch: pytest.MonkeyPatch) -> None:
    result = security(jaas="${env:THE_LINE}", sasl__mechanism="PLAIN")
    with pytest.raises(OptionError, match=r"\$\{env:THE_LINE\}: there is no such value"):
        result.sasl.login()

    monkeypatch.setenv("THE_LINE", PLAIN)

    assert result.sasl.login().options == {"username": "u", "password": "s3"}


OAUTH = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required;"


def test_settings_of_a_token_are_checked_before_a_job_starts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    url = {"sasl.oauth.sasl.oauthbearer.token.endpoint.url": "https://issuer.example/token"}
    client = "sasl.oauth.sasl.oauthbearer.client.credentials.client"
    with pytest.raises(OptionError, match=r"kafka\.sasl\.jaas\.config: names no token"):
        security(jaas=OAUTH, sasl__mechanism="OAUTHBEARER")
    with pytest.raises(OptionError, match=r"kafka\.sasl\.oauthbearer.*client\.secret: is not set"):
        security(jaas=OAUTH, sasl__mechanism="OAUTHBEARER", **url, **{f"{client}.id": "me"})

    secret = Secret("option", "${env:THE_SECRET}")
    settings = security(
        jaas=OAUTH,
        sasl__mechanism="OAUTHBEARER",
        **url,
        **{f"{client}.id": "me", f"{client}.secret": secret},
    )
    monkeypatch.setenv("THE_SECRET", "s3cret")

    source = settings.sasl.token_login().source
    assert isinstance(source, TokenEndpoint)
    assert source.client_secret == "s3cret"
    assert "s3cret" not in f"{settings!r}{source!r}"


def test_contradictory_or_incomplete_key_and_trust_stores_are_refused() -> None:
    pem = Secret("option", "pem")
    with pytest.raises(OptionError, match="give one of them"):
        security("SSL", tls__truststore_certificates=pem, tls__truststore_location="x")
    with pytest.raises(OptionError, match="give one"):
        security("SSL", tls__keystore_key=pem, tls__keystore_chain=pem, tls__keystore_location="x")
    with pytest.raises(OptionError, match=r"keystore\.certificate\.chain: is missing"):
        security("SSL", tls__keystore_key=pem)
    with pytest.raises(OptionError, match=r"keystore\.key: is missing"):
        security("SSL", tls__keystore_chain=pem)
