"""Java's hash codes, and addresses as Java prints them."""

import pytest

from trio_kafka.coordinators.groups.java_compat import client_host, java_hash, partition_of


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", 0),
        ("a", 97),
        ("group", 98629247),
        ("my-consumer-group", 1513705513),
        ("consumers", -421004483),
        ("polygenelubricants", -0x80000000),
        ("\u00e9", 233),
        ("\U0001f600", 1772899),
    ],
)
def test_texts_have_the_hash_codes_of_java(text: str, value: int) -> None:
    assert java_hash(text) == value


def test_partition_of_a_group_uses_the_absolute_hash_value() -> None:
    assert partition_of("group", 50) == 98629247 % 50
    assert partition_of("consumers", 50) == 421004483 % 50
    assert partition_of("polygenelubricants", 50) == 0


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
