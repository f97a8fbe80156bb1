"""Settings of listeners without an effect: one warning each, which names the setting."""

import re
from collections.abc import Mapping

import pytest

from tests.project.tree import ROOT
from trio_kafka.config.load import load
from trio_kafka.config.properties import SettingText, parse_properties


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


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("listener.name.plaintext.ssl.client.auth", "the protocol of PLAINTEXT is PLAINTEXT"),
        (
            "listener.name.plaintext.sasl.server.max.receive.size",
            "the protocol of PLAINTEXT is PLAINTEXT",
        ),
        (
            "listener.name.plaintext.connections.max.reauth.ms",
            "the protocol of PLAINTEXT is PLAINTEXT",
        ),
        (
            "listener.name.out.scram-sha-256.connections.max.reauth.ms",
            "OUT has no mechanism scram-sha-256: want one of scram-sha-512",
        ),
        (
            "listener.name.out.SCRAM-SHA-512.connections.max.reauth.ms",
            "OUT has no mechanism SCRAM-SHA-512: want one of scram-sha-512",
        ),
        ("listener.name.out.scram-sha-512.connections.max.reauth.ms", None),
        ("listener.name.out.sasl.server.max.receive.size", None),
        ("listener.name.plaintext.num.network.threads", None),
    ],
)
def test_a_setting_that_the_listener_does_not_use_gives_one_warning(
    name: str, reason: str | None
) -> None:
    text = "none" if name.endswith("auth") else "3"
    expected = [] if reason is None else [f"f: {name} has no effect: {reason}"]

    assert warnings({**NODE, name: text}) == expected


def test_security_of_all_listeners_that_none_has_gives_one_warning_for_each_kind() -> None:
    settings = {
        "ssl.keystore.location": "/a",
        "sasl.enabled.mechanisms": "PLAIN",
        "ssl.keystore.type": "PEM",
    }

    assert warnings(settings) == [
        "f: ssl.keystore.location, ssl.keystore.type have no effect: no listener has TLS",
        "f: sasl.enabled.mechanisms has no effect: no listener has SASL",
    ]
    assert warnings({**NODE, **settings}) == []


def test_security_that_only_the_controller_has_is_not_in_use_yet() -> None:
    settings = {
        **NODE,
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,OUT:PLAINTEXT,CONTROLLER:SSL",
        "ssl.keystore.location": "/a",
    }
    del settings["listener.name.out.sasl.enabled.mechanisms"]

    assert warnings(settings) == [
        (
            "f: ssl.keystore.location has no effect: only the controller's listener has TLS, and it"
            " is not opened yet"
        )
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


def test_listeners_of_the_guide_are_accepted_and_only_those_of_the_controller_not_in_use() -> None:
    guide = (ROOT / "docs" / "how-to" / "secure.md").read_text()
    (block,) = re.findall(
        r"(?:^    .+\n)*^    inter\.broker\.listener\.name.*\n(?:^    .+\n)*", guide, re.MULTILINE
    )

    loaded = load(parse_properties(block, "guide"))

    assert loaded.config.endpoints.inter_broker == "INSIDE"
    assert [warning.split(" ")[1] for warning in loaded.warnings] == [
        "sasl.mechanism.inter.broker.protocol",
        "listener.name.controller.ssl.client.auth",
    ]
