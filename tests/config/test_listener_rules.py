"""Listeners and their security together: Kafka's verdicts, and settings without an effect."""

from collections.abc import Mapping

import pytest

from tests.config.verdict_table import ROWS, Row
from tests.config.verdicts import recorded_verdicts, verdicts_of_kafka
from tests.installed import skipped_if_missing
from tests.lanes import together
from trio_kafka.config.load import broker_config, load
from trio_kafka.config.properties import SettingText
from trio_kafka.config.setting import ConfigError

BY_NAME = {row.name: row for row in ROWS}
RECORDED = recorded_verdicts()


def test_the_recording_has_a_verdict_about_each_row() -> None:
    assert list(RECORDED) == list(BY_NAME)
    assert len(ROWS) > 100
    accepted = [verdict for verdict in RECORDED.values() if verdict.accepts]
    assert 40 < len(accepted) < 70


@together(BY_NAME)
def test_listeners_are_accepted_or_refused_as_by_kafka_or_the_row_says_why(name: str) -> None:
    row = BY_NAME[name]

    refusal = refusal_of(row)

    assert row.culprit == (refusal and refusal.name)
    assert "p4ss" not in str(refusal)
    assert (RECORDED[name].accepts == (row.culprit is None)) is (row.differs == "")


def refusal_of(row: Row) -> ConfigError | None:
    try:
        broker_config(row.settings)
    except ConfigError as error:
        return error
    return None


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.timeout(600)
def test_apache_kafka_gives_the_recorded_verdicts() -> None:
    with skipped_if_missing():
        verdicts = verdicts_of_kafka(ROWS)

    accepted = {name: verdict.accepts for name, verdict in verdicts.items()}
    assert accepted == {name: verdict.accepts for name, verdict in RECORDED.items()}


def warnings(settings: Mapping[str, str]) -> list[str]:
    return list(load({name: SettingText(text, "f") for name, text in settings.items()}).warnings)


NODE = {
    "process.roles": "broker,controller",
    "node.id": "1",
    "controller.quorum.voters": "1@h:9093",
    "controller.listener.names": "CONTROLLER",
    "listeners": "PLAINTEXT://:9092,OUT://:9094,CONTROLLER://:9093",
    "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,OUT:SASL_SSL,CONTROLLER:SSL",
    "listener.name.out.sasl.enabled.mechanisms": "SCRAM-SHA-512",
}


def test_settings_of_listeners_that_are_served_give_no_warning() -> None:
    assert warnings(NODE) == []


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        (
            "listener.name.OUT.ssl.keystore.location",
            (
                "names of listeners are in lower case there: want"
                " listener.name.out.ssl.keystore.location"
            ),
        ),
        (
            "listener.name.other.ssl.keystore.location",
            "there is no listener OTHER: want one of PLAINTEXT, OUT",
        ),
        (
            "listener.name.controller.ssl.keystore.location",
            "the controller's listener is checked, and not opened yet",
        ),
    ],
)
def test_settings_of_a_listener_that_is_not_served_give_one_warning(name: str, reason: str) -> None:
    assert warnings({**NODE, name: "/a"}) == [f"f: {name} has no effect: {reason}"]


def test_a_setting_that_has_no_effect_anywhere_gives_one_warning_with_a_prefix_too() -> None:
    settings = {**NODE, "listener.name.other.ssl.provider": "a"}

    assert warnings(settings) == [
        "f: listener.name.other.ssl.provider does not apply here: it is about the Java runtime"
    ]


def test_client_certificates_for_all_listeners_are_not_asked_for_beside_sasl() -> None:
    own = "listener.name.out.ssl.client.auth"
    settings = {**NODE, "ssl.client.auth": "required"}

    (warning,) = warnings(settings)
    assert warning.startswith("f: ssl.client.auth has no effect on OUT: its protocol is SASL_SSL:")
    assert warning.endswith(f" {own} asks for certificates there")
    assert warnings({**settings, own: "requested"}) == []
    assert warnings({**settings, "ssl.client.auth": "none"}) == []


@pytest.mark.parametrize(
    "name",
    [
        "sasl.login.class",
        "sasl.login.retry.backoff.ms",
        "sasl.mechanism.controller.protocol",
        "sasl.mechanism.inter.broker.protocol",
        "ssl.endpoint.identification.algorithm",
        "security.providers",
        "ssl.provider",
        "listener.name.out.ssl.endpoint.identification.algorithm",
    ],
)
def test_security_of_connections_that_no_broker_makes_gives_one_warning(name: str) -> None:
    (warning,) = warnings({**NODE, name: "1"})

    assert warning.startswith(f"f: {name} ")
