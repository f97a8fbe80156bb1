"""Settings of clients from mappings: texts and values, suggestions, warnings."""

import warnings

import pytest

from trio_kafka.clients.settings.common import ClientSettings
from trio_kafka.clients.settings.load import (
    SettingWarning,
    consumer_settings,
    load_settings,
    producer_settings,
)
from trio_kafka.config.setting import ConfigError

AT = {"bootstrap.servers": "a:1,b:2"}


def test_texts_and_values_of_python_are_read_alike():
    texts = producer_settings({**AT, "linger.ms": "20", "enable.idempotence": "false"})
    values = producer_settings(
        {"bootstrap.servers": ["a:1", "b:2"], "linger.ms": 20, "enable.idempotence": False}
    )

    assert texts == values
    assert (texts.linger_ms, texts.enable_idempotence) == (20, False)
    assert texts.bootstrap_servers == ("a:1", "b:2")


@pytest.mark.parametrize(
    ("config", "reason"),
    [
        ({"linger.msec": 5}, "linger.msec: no such setting: did you mean linger.ms?"),
        ({"frobnicate": 5}, "frobnicate: no such setting$"),
        ({"group.id": "g"}, "group.id: is a setting of consumers"),
        ({"linger.ms": -1}, "linger.ms: -1 is too small: want at least 0"),
        ({"linger.ms": None}, "linger.ms: None: want a value"),
        ({"linger.ms": object()}, "linger.ms: a object: want a text or a number"),
        ({"acks": "2"}, "acks: '2' is not one of all, -1, 0, 1"),
        ({"security.protocol": "TLS"}, "security.protocol: 'TLS' is not one of"),
        (
            {"security.protocol": "SSL", "ssl.truststore.password": "x"},
            "ssl.truststore.location: is missing",
        ),
    ],
)
def test_wrong_setting_is_an_error_that_names_it(config, reason):
    with pytest.raises(ConfigError, match=reason):
        producer_settings({**AT, **config})


def test_client_without_bootstrap_addresses_is_an_error():
    with pytest.raises(ConfigError, match=r"bootstrap\.servers: is required"):
        producer_settings({})
    with pytest.raises(ConfigError, match=r"bootstrap\.servers: must not be empty"):
        producer_settings({"bootstrap.servers": ""})


def test_setting_without_effect_is_a_warning_with_the_reason():
    with pytest.warns(SettingWarning, match="ssl.provider has no effect: it is about the Java"):
        consumer_settings({**AT, "ssl.provider": "x"})


def test_setting_with_effect_warns_of_nothing():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        settings = consumer_settings({**AT, "group.id": "g", "auto.offset.reset": "earliest"})

    assert settings.group_id == "g"


def test_optional_setting_may_be_none():
    assert producer_settings({**AT, "transactional.id": None}).transactional_id is None


def test_common_settings_can_be_loaded_alone():
    assert load_settings(ClientSettings, {**AT, "client.id": "me"}).client_id == "me"
