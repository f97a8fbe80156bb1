"""Addresses of `bootstrap.servers`."""

import pytest

from trio_kafka.clients.bootstrap import parse_bootstrap
from trio_kafka.config.setting import ConfigError
from trio_kafka.model import Endpoint


def test_addresses_keep_their_order_and_are_named_once():
    texts = ["b:1", " a:2 ", "PLAINTEXT://b:1", "[::1]:9092"]

    assert parse_bootstrap(texts) == (Endpoint("b", 1), Endpoint("a", 2), Endpoint("::1", 9092))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("a", "'a': want host:port"),
        (":1", "':1': want host:port"),
        ("[]:1", "want host:port"),
        ("a:", "want a port from 1 to 65535"),
        ("a:0", "want a port from 1 to 65535"),
        ("a:65536", "want a port"),
        ("a:²", "want a port"),
        ("::1:9092", "want an IPv6 address in brackets"),
    ],
)
def test_wrong_address_is_an_error_that_shows_it(text, reason):
    with pytest.raises(ConfigError, match=f"bootstrap.servers: .*{reason}"):
        parse_bootstrap(["good:1", text])


def test_empty_list_is_an_error():
    with pytest.raises(ConfigError, match="is empty"):
        parse_bootstrap([])
