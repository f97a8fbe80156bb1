"""Where members ask from, as Java prints it."""

import pytest

from trio_kafka.coordinators.groups.clients import client_host


@pytest.mark.parametrize(
    ("host", "printed"),
    [
        ("10.0.0.1", "/10.0.0.1"),
        ("::1", "/0:0:0:0:0:0:0:1"),
        ("fe80::a:0:1%eth0", "/fe80:0:0:0:0:a:0:1"),
        ("2001:db8::ffff", "/2001:db8:0:0:0:0:0:ffff"),
    ],
)
def test_an_address_is_printed_as_java_does(host: str, printed: str) -> None:
    assert client_host(host) == printed
