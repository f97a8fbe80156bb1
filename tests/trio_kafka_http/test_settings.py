"""Addresses, and who may ask without a token."""

import pytest

from trio_kafka.config.setting import ConfigError, settings_of
from trio_kafka.model import Endpoint
from trio_kafka_http.settings import HttpSettings, check_exposure, endpoints_of

SETTINGS = settings_of(HttpSettings)


def test_default_listener_is_a_free_loopback_port() -> None:
    assert endpoints_of(HttpSettings().listeners) == [Endpoint("127.0.0.1", 0)]


@pytest.mark.parametrize(
    ("text", "endpoints"),
    [
        ("", []),
        ("http://:8083", [Endpoint("", 8083)]),
        (
            "HTTP://[::1]:1,http://kafka.example:2",
            [Endpoint("::1", 1), Endpoint("kafka.example", 2)],
        ),
    ],
)
def test_listeners_setting_is_a_list_of_addresses(text: str, endpoints: list[Endpoint]) -> None:
    assert endpoints_of(SETTINGS["listeners"].parse(text)) == endpoints


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("ftp://:8083", "want http:// or https://"),
        ("127.0.0.1:8083", "is not NAME://HOST:PORT"),
        ("http://127.0.0.1", "is not NAME://HOST:PORT"),
        ("http://127.0.0.1:70000", "too large: want 0 to 65535"),
    ],
)
def test_invalid_listener_is_refused(text: str, reason: str) -> None:
    with pytest.raises(ConfigError, match=reason):
        SETTINGS["listeners"].parse(text)


@pytest.mark.parametrize("token", ["two words", "t\u00f6ken", "a\tb"])
def test_token_unusable_in_a_header_is_refused_and_not_shown(token: str) -> None:
    with pytest.raises(ConfigError) as caught:
        SETTINGS["token"].parse(token)

    assert token not in str(caught.value)
    assert SETTINGS["token"].show("secret") is None


@pytest.mark.parametrize("listener", ["http://:0", "http://0.0.0.0:0", "http://node.example:1"])
def test_public_listener_without_a_token_is_refused(listener: str) -> None:
    with pytest.raises(ConfigError, match=r"plugin.http.token: must be set"):
        check_exposure(HttpSettings(listeners=("http://127.0.0.1:0", listener)))
    with pytest.raises(ConfigError, match=r"plugin.http.token: must be set"):
        check_exposure(HttpSettings(listeners=(listener,), token=""))

    check_exposure(HttpSettings(listeners=(listener,), token="t"))
    check_exposure(HttpSettings(listeners=("http://localhost:0", "http://[::1]:0")))
