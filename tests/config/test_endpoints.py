import pytest
from hypothesis import given
from hypothesis import strategies as st

from trio_kafka.config.endpoints import SecurityProtocol, parse_endpoint, parse_protocol_map
from trio_kafka.config.setting import ConfigError
from trio_kafka.model import Endpoint


@pytest.mark.parametrize(
    ("text", "name", "host", "port"),
    [
        ("PLAINTEXT://:9092", "PLAINTEXT", "", 9092),
        ("plaintext://localhost:0", "PLAINTEXT", "localhost", 0),
        ("IN-1://kafka.example.org:65535", "IN-1", "kafka.example.org", 65535),
        ("A://[::1]:9092", "A", "::1", 9092),
        ("A://[fe80::1%eth0]:9092", "A", "fe80::1%eth0", 9092),
        ("A://[]:9092", None, None, None),
        ("A://::1:9092", None, None, None),
        ("A://host", None, None, None),
        ("A:host:1", None, None, None),
        ("://host:1", None, None, None),
        ("A://ho st:1", None, None, None),
        ("A://host:-1", None, None, None),
        ("A://host:65536", None, None, None),
        ("A://host:1/x", None, None, None),
        ("", None, None, None),
    ],
)
def test_an_endpoint_is_parsed_into_name_host_and_port_or_refused(text, name, host, port):
    if name is None:
        with pytest.raises(ConfigError, match="listeners"):
            parse_endpoint(text, "listeners")
    else:
        assert parse_endpoint(text, "listeners") == (name, Endpoint(host, port))


@given(st.ip_addresses(), st.integers(0, 65535))
def test_every_ip_address_and_port_survives_a_round_trip_through_endpoint_text(address, port):
    endpoint = Endpoint(str(address), port)

    assert parse_endpoint(f"X://{endpoint}", "listeners") == ("X", endpoint)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("A", "'A' is not NAME:PROTOCOL"),
        ("A:SSL,,B:SSL", "'' is not NAME:PROTOCOL"),
        (":SSL", "':SSL' is not NAME:PROTOCOL"),
        (
            "A:TLS",
            "'A:TLS': the protocol is not one of PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL",
        ),
        ("A:SSL,a:SSL", "A is named twice: remove one"),
    ],
)
def test_a_broken_protocol_map_is_refused(text, reason):
    with pytest.raises(ConfigError) as caught:
        parse_protocol_map(text)

    assert caught.value.reason == reason


def test_the_protocol_map_ignores_case_and_blanks():
    assert parse_protocol_map(" in : plaintext , OUT:ssl,") == {
        "IN": SecurityProtocol.PLAINTEXT,
        "OUT": SecurityProtocol.SSL,
    }
