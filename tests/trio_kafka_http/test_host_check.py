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
def test_the_host_is_what_stands_before_the_port(authority: str, host: str | None) -> None:
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
def test_loopback_is_what_only_this_machine_reaches(host: str, loopback: bool) -> None:
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
def test_a_name_is_accepted_if_it_was_told_or_is_the_address_that_was_reached(
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
def test_a_page_is_the_planes_own_if_it_came_from_where_it_asks(
    origin: str, authority: str, same: bool
) -> None:
    assert same_origin(origin, authority) is same
