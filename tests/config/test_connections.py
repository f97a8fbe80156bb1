"""Limits of connections, as they are written."""

import pytest

from trio_kafka.config.connections import overrides_of
from trio_kafka.config.listener_overrides import value_for
from trio_kafka.config.load import broker_config
from trio_kafka.config.setting import ConfigError

OVERRIDES = "max.connections.per.ip.overrides"


@pytest.mark.parametrize(
    ("text", "overrides"),
    [
        ("", {}),
        ("h:1", {"h": 1}),
        ("h : 1 ,, ,", {"h": 1}),
        ("::1:5, 10.0.0.1:0,fe80::1%eth0:7", {"::1": 5, "10.0.0.1": 0, "fe80::1%eth0": 7}),
        ("h:1,h:2147483647", {"h": 2147483647}),
    ],
)
def test_connection_overrides_are_parsed_as_hosts_and_counts(text, overrides):
    assert overrides_of(text) == overrides
    assert broker_config({OVERRIDES: text}).max_connections_per_ip_overrides == text


def test_the_overrides_of_a_value_are_parsed_once():
    text = ",".join(f"h{number}:1" for number in range(3500))

    assert overrides_of(text) is overrides_of(text)


@pytest.mark.parametrize(
    "text", ["h", "h:", ":1", "h:-1", "h:x", "[::1]:5", "a b:1", "a:1,x", "h:٣"]
)
def test_malformed_connection_overrides_are_refused(text):
    with pytest.raises(ConfigError, match="is not HOST:COUNT"):
        broker_config({OVERRIDES: text})


def test_an_override_count_above_32_bits_is_refused():
    with pytest.raises(ConfigError, match="is too large: want at most 2147483647"):
        broker_config({OVERRIDES: "h:2147483648"})


def test_a_listener_uses_its_own_connection_limit_or_the_limit_of_the_broker():
    own = "listener.name.inside.max.connections"
    config = broker_config({"max.connections": "5", own: "7"})

    assert value_for(config, "INSIDE", "max.connections") == 7
    assert value_for(config, "OUTSIDE", "max.connections") == 5
