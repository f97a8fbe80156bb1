"""Addresses as Java prints them."""

import pytest

from trio_kafka.coordinators.groups.client_address import client_host


@pytest.mark.parametrize(
    ("host", "printed"),
    [
        ("10.0.0.1", "/10.0.0.1"),
        ("::1", "/0:0:0:0:0:0:0:1"),
        ("fe80::a:0:1%eth0", "/fe80:0:0:0:0:a:0:1"),
        ("2001:db8::ffff", "/2001:db8:0:0:0:0:0:ffff"),
    ],
)
def test_client_address_is_formatted_as_in_java(host: str, printed: str) -> None:
    assert client_host(host) == printed
