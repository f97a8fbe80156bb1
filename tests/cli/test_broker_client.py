"""How commands ask a broker; what goes wrong with connections is tested with `tree`."""

import socket
import time

import pytest

from trio_kafka.cli import main, version
from trio_kafka.cli.broker_client import (
    BrokerClientError,
    _limit_wait,
    error_name,
    parse_address,
)
from trio_kafka.model import Endpoint


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("localhost:9092", Endpoint("localhost", 9092)),
        ("[::1]:1", Endpoint("::1", 1)),
        ("h:65535", Endpoint("h", 65535)),
    ],
)
def test_an_address_is_host_and_port(text, address):
    assert parse_address(text) == address


@pytest.mark.parametrize("text", ["", "h", "h:", ":1", "h:0", "h:65536", "h:x", "::1:1", "h:²"])
def test_anything_else_is_refused(text):
    with pytest.raises(BrokerClientError):
        parse_address(text)


def test_an_error_code_has_its_name():
    assert error_name(3) == "UNKNOWN_TOPIC_OR_PARTITION"
    assert error_name(12345) == "error 12345"


def test_what_blocks_ends_at_the_deadline_and_not_after_it():
    one, other = socket.socketpair()
    with one, other:
        _limit_wait(one, time.monotonic() + 5)
        assert 4 < one.gettimeout() <= 5
        for late in (0, 1):
            with pytest.raises(TimeoutError):
                _limit_wait(one, time.monotonic() - late)


def test_what_a_broker_says_cannot_command_the_terminal(monkeypatch, capsys):
    def fail(**_):
        raise BrokerClientError("h:1", "no topic \x1b[2J\x9b\r\n\u2028")

    monkeypatch.setattr(version, "version", fail)

    assert main(["version"]) == 1
    assert capsys.readouterr().err == "trio-kafka: h:1: no topic \\x1b[2J\\x9b\\r\\n\\u2028\n"
