import pytest

from trio_kafka.config.load import broker_config
from trio_kafka.config.oauth import UNSIGNED
from trio_kafka.config.sasl_listener import sasl_of
from trio_kafka.config.setting import ConfigError

OPEN = {
    "listeners": "PLAINTEXT://:9092,SASL_PLAINTEXT://:9093",
    "sasl.enabled.mechanisms": "OAUTHBEARER",
}
WHOLE = {
    **OPEN,
    "sasl.oauthbearer.jwks.endpoint.url": "https://issuer.example/keys",
    "sasl.oauthbearer.expected.audience": "kafka,other",
    "sasl.oauthbearer.expected.issuer": "https://issuer.example",
}


def without(name: str) -> dict[str, str]:
    return {key: value for key, value in WHOLE.items() if not key.endswith(name)}


def test_rules_for_tokens_are_those_of_the_listener() -> None:
    own = {"listener.name.sasl_plaintext.sasl.oauthbearer.expected.audience": "mine"}
    config = broker_config({**WHOLE, **own, "sasl.oauthbearer.clock.skew.seconds": "5"})

    (mechanism,) = sasl_of(config, "SASL_PLAINTEXT").mechanisms
    (other,) = sasl_of(config, "OTHER").mechanisms

    assert mechanism.tokens is not None
    assert other.tokens is not None
    assert (mechanism.tokens.audiences, other.tokens.audiences) == (("mine",), ("kafka", "other"))
    assert (mechanism.tokens.issuer, mechanism.tokens.skew_s) == ("https://issuer.example", 5)
    assert mechanism.tokens.url == "https://issuer.example/keys"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (without("url"), "jwks.endpoint.url: is not set: OAUTHBEARER needs it, or"),
        (without("audience"), "expected.audience: is not set: name your brokers, or set"),
        (without("issuer"), "expected.issuer: is not set: name the issuer, or set"),
        ({**WHOLE, "sasl.oauthbearer.jwks.endpoint.url": "ftp://host"}, "is no URL of https"),
        (
            {**WHOLE, "sasl.oauthbearer.jwks.endpoint.url": "ftp://u.example:pw@host"},
            "want one without",
        ),
        (
            {**WHOLE, "sasl.oauthbearer.jwks.endpoint.url": "https://u.example:pw@host"},
            "want one without",
        ),
        ({**WHOLE, "sasl.server.callback.handler.class": "com.Mine"}, "a Java class, which this"),
    ],
)
def test_a_listener_without_what_tokens_are_checked_by_is_refused(
    settings: dict[str, str], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        broker_config(settings)


def test_audience_and_issuer_may_be_left_out_explicitly() -> None:
    allowed = {f"sasl.oauthbearer.allow.unverified.{n}": "true" for n in ("audience", "issuer")}
    config = broker_config({**OPEN, "sasl.oauthbearer.jwks.endpoint.url": "file:///k", **allowed})

    (mechanism,) = sasl_of(config, "SASL_PLAINTEXT").mechanisms

    assert mechanism.tokens is not None
    assert (mechanism.tokens.audiences, mechanism.tokens.issuer) == ((), None)


def test_unsigned_tokens_are_taken_only_when_asked_for() -> None:
    config = broker_config({**OPEN, "sasl.server.callback.handler.class": UNSIGNED})

    (mechanism,) = sasl_of(config, "SASL_PLAINTEXT").mechanisms

    assert mechanism.tokens is not None
    assert mechanism.tokens.url is None
