"""How commands ask a broker; what goes wrong with connections is tested with `tree`."""

import pytest

from trio_kafka.cli import main, version
from trio_kafka.cli.broker_client import (
    BrokerClientError,
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
def test_address_of_host_and_port_is_parsed(text, address):
    parsed = parse_address(text)

    assert (parsed.host, parsed.port) == (address.host, address.port)


@pytest.mark.parametrize("text", ["", "h", "h:", ":1", "h:0", "h:65536", "h:x", "::1:1", "h:²"])
def test_invalid_address_is_refused(text):
    with pytest.raises(BrokerClientError):
        parse_address(text)


def test_error_code_is_shown_by_its_name():
    assert error_name(3) == "UNKNOWN_TOPIC_OR_PARTITION"
    assert error_name(12345) == "error 12345"


def test_terminal_control_characters_in_a_brokers_message_are_escaped(monkeypatch, capsys):
    def fail(**_):
        raise BrokerClientError("h:1", "no topic \x1b[2J\x9b\r\n\u2028")

    monkeypatch.setattr(version, "version", fail)

    assert main(["version"]) == 1
    assert capsys.readouterr().err == "trio-kafka: h:1: no topic \\x1b[2J\\x9b\\r\\n\\u2028\n"
