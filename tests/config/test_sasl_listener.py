"""SASL of a listener: overrides by listener and mechanism, and settings that no start survives."""

import pytest

from trio_kafka.config.change_rules import check_broker_change
from trio_kafka.config.dynamic import Layers
from trio_kafka.config.load import broker_config
from trio_kafka.config.sasl_listener import sasl_of
from trio_kafka.config.setting import ConfigError

MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule"
PREFIX = "listener.name.sasl_plaintext"
OPEN = {
    "listeners": "PLAINTEXT://:9092,SASL_PLAINTEXT://:9093",
    "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256",
}


def jaas(password: str) -> str:
    return f'{MODULE} required user_ann="{password}";'


def passwords(**more: str) -> list[str]:
    """Ann's password, by `jaas` texts of the general setting, the listener and the mechanism."""
    names = {
        "all": "sasl.jaas.config",
        "listener": f"{PREFIX}.sasl.jaas.config",
        "mechanism": f"{PREFIX}.plain.sasl.jaas.config",
    }
    config = broker_config({**OPEN, **{names[key]: jaas(text) for key, text in more.items()}})
    return [m.passwords["ann"] for m in sasl_of(config, "SASL_PLAINTEXT").mechanisms[:1]]


def test_the_most_special_login_of_a_listener_is_used() -> None:
    assert passwords(all="a") == ["a"]
    assert passwords(all="a", listener="b") == ["b"]
    assert passwords(all="a", listener="b", mechanism="c") == ["c"]


def test_limits_of_a_listener_are_its_own() -> None:
    config = broker_config(
        {
            **OPEN,
            "sasl.jaas.config": jaas("a"),
            "connections.max.reauth.ms": "1000",
            f"{PREFIX}.scram-sha-256.connections.max.reauth.ms": "2000",
            f"{PREFIX}.sasl.server.max.receive.size": "99",
        }
    )

    sasl = sasl_of(config, "SASL_PLAINTEXT")

    assert [m.longest_session_ms for m in sasl.mechanisms] == [1000, 2000]
    assert sasl.largest == 99
    assert sasl_of(config, "OTHER").largest == 524288


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"sasl.enabled.mechanisms": "GSSAPI"}, r"sasl\.enabled\.mechanisms: GSSAPI .Kerberos"),
        ({f"{PREFIX}.sasl.enabled.mechanisms": "X"}, rf"{PREFIX}\.sasl\.enabled\.mechanisms: 'X'"),
        ({"sasl.enabled.mechanisms": ""}, "is empty: listener SASL_PLAINTEXT needs one"),
        ({}, rf"{PREFIX}\.plain\.sasl\.jaas\.config: is not set: want PlainLoginModule"),
        ({"sasl.jaas.config": f'{MODULE} required user_ann="s3cret'}, "that never ends"),
        (
            {
                "sasl.jaas.config": (
                    "org.apache.kafka.common.security.scram.ScramLoginModule required"
                    ' username=a password="s3cret";'
                )
            },
            "names ScramLoginModule: PLAIN needs PlainLoginModule",
        ),
    ],
)
def test_a_listener_that_cannot_authenticate_keeps_the_broker_from_starting(
    settings: dict[str, str], message: str
) -> None:
    with pytest.raises(ConfigError, match=message) as caught:
        broker_config({**OPEN, **settings})

    assert "s3cret" not in str(caught.value)


def test_settings_of_sasl_need_no_listener_that_uses_them() -> None:
    broker_config({"sasl.enabled.mechanisms": "GSSAPI"})


def test_users_of_an_open_listener_cannot_change_and_those_of_another_can() -> None:
    config = broker_config({**OPEN, "sasl.jaas.config": jaas("a")})
    layers = Layers(config=config)

    with pytest.raises(ConfigError, match="cannot change for SASL_PLAINTEXT, which is open"):
        check_broker_change(
            layers, {f"{PREFIX}.plain.sasl.jaas.config": jaas("s3cret")}, per_broker=True
        )
    other = {"listener.name.other.plain.sasl.jaas.config": jaas("b")}
    assert check_broker_change(layers, other, per_broker=True) == ()


BETWEEN = "sasl.mechanism.inter.broker.protocol"
SECURED = {
    **OPEN,
    "sasl.jaas.config": jaas("a"),
    "security.inter.broker.protocol": "SASL_PLAINTEXT",
}


def test_the_mechanism_between_brokers_must_be_one_of_their_listener() -> None:
    broker_config(SECURED)  # without a mechanism: there is no other broker
    broker_config({**SECURED, BETWEEN: "SCRAM-SHA-256"})
    of_listener = {f"{PREFIX}.sasl.enabled.mechanisms": "SCRAM-SHA-512"}
    for more in ({BETWEEN: "GSSAPI"}, {BETWEEN: "PLAIN", **of_listener}):
        with pytest.raises(ConfigError, match="is not enabled at SASL_PLAINTEXT") as refused:
            broker_config({**SECURED, **more})
        assert refused.value.name == BETWEEN


def test_the_mechanism_between_brokers_is_free_where_their_listener_has_no_sasl() -> None:
    plain = {**SECURED, "security.inter.broker.protocol": "PLAINTEXT"}
    assert broker_config({**plain, BETWEEN: "GSSAPI"}).endpoints.inter_broker == "PLAINTEXT"
