"""Which Host and Origin headers name this plane."""

import pytest

from trio_kafka_http.host_check import Names, host_of, is_loopback, same_origin


@pytest.mark.parametrize(
    ("authority", "host"),
    [
        ("localhost", "localhost"),
        ("LOCALHOST:8080", "localhost"),
        ("kafka.example.", "kafka.example"),
        ("10.0.0.7:1", "10.0.0.7"),
        ("[::1]:8080", "::1"),
        ("[::1]", "::1"),
        ("", None),
        (":8080", None),
        ("::1", None),
        ("a b", None),
        ("user@host", None),
        ("host:port", None),
        ("host/path", None),
        ("[::1", None),
    ],
)
def test_host_is_the_part_before_the_port(authority: str, host: str | None) -> None:
    assert host_of(authority) == host


@pytest.mark.parametrize(
    ("host", "loopback"),
    [
        ("localhost", True),
        ("127.0.0.1", True),
        ("127.8.8.8", True),
        ("::1", True),
        ("", False),
        ("0.0.0.0", False),
        ("::", False),
        ("10.0.0.1", False),
        ("localhost.example", False),
    ],
)
def test_loopback_hosts_are_recognized(host: str, loopback: bool) -> None:
    assert is_loopback(host) is loopback


@pytest.mark.parametrize(
    ("authority", "local", "accepted"),
    [
        ("127.0.0.1:8080", "127.0.0.1", True),
        ("localhost:8080", "127.0.0.1", True),
        ("[::1]:8080", "::1", True),
        ("kafka.example", "127.0.0.1", True),
        ("Kafka.Example:80", "10.0.0.7", True),
        ("10.0.0.7:8080", "10.0.0.7", True),
        ("10.0.0.8", "10.0.0.7", False),
        ("localhost", "10.0.0.7", False),
        ("rebound.example", "127.0.0.1", False),
        ("127.0.0.1.rebound.example", "127.0.0.1", False),
        ("", "127.0.0.1", False),
    ],
)
def test_host_name_is_accepted_if_configured_or_equal_to_the_local_address(
    authority: str, local: str, accepted: bool
) -> None:
    assert Names(frozenset({"kafka.example"})).accepts(authority, local) is accepted


@pytest.mark.parametrize(
    ("origin", "authority", "same"),
    [
        ("http://localhost:8080", "localhost:8080", True),
        ("https://Kafka.example", "kafka.example", True),
        ("http://localhost:3000", "localhost:8080", False),
        ("http://evil.example", "localhost:8080", False),
        ("null", "localhost:8080", False),
        ("", "", False),
        ("file://localhost:8080", "localhost:8080", False),
    ],
)
def test_origin_is_the_same_only_if_equal_to_the_authority(
    origin: str, authority: str, same: bool
) -> None:
    assert same_origin(origin, authority) is same


def test_page_without_tls_is_another_origin_for_a_plane_with_tls() -> None:
    assert same_origin("https://kafka.example", "kafka.example", is_secured=True)
    assert not same_origin("http://kafka.example", "kafka.example", is_secured=True)
