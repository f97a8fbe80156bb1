"""Hosts: Java's text of addresses, and ranges as Kafka parses them."""

import pytest

from trio_kafka.security.acls.hosts import parse_address, parse_range


@pytest.mark.parametrize(
    ("host", "text", "bits"),
    [
        ("10.0.0.1", "10.0.0.1", 32),
        ("::1", "0:0:0:0:0:0:0:1", 128),
        ("2001:DB8::a", "2001:db8:0:0:0:0:0:a", 128),
        ("fe80::1%eth0", "fe80:0:0:0:0:0:0:1%eth0", 128),
        ("::ffff:10.0.0.1", "10.0.0.1", 32),
        ("in-process", "in-process", 0),
        ("", "", 0),
    ],
)
def test_an_address_has_the_text_of_java(host: str, text: str, bits: int) -> None:
    address = parse_address(host)

    assert (address.text, address.bits) == (text, bits)


@pytest.mark.parametrize(
    ("text", "inside", "outside"),
    [
        ("10.1.2.3/16", "10.1.255.255", "10.2.0.0"),
        ("10.1.2.3/32", "10.1.2.3", "10.1.2.2"),
        ("0.0.0.0/0", "255.255.255.255", "::1"),
        ("fd00::/8", "fd12::1", "fc00::1"),
        ("::1/128", "::1", "::2"),
        ("::/0", "ffff::", "10.0.0.1"),
    ],
)
def test_a_range_has_the_addresses_that_begin_like_it(text: str, inside: str, outside: str) -> None:
    ip_range = parse_range(text)

    for host, expected in ((inside, True), (outside, False)):
        address = parse_address(host)
        same = address.bits == ip_range.bits and (
            ip_range.first_bits(address.number) == ip_range.number
        )
        assert same is expected


@pytest.mark.parametrize(
    "text",
    [
        "10.0.0.0/33",
        "10.0.0.0/",
        "10.0.0/8",
        "10.0.0.256/8",
        "10.0.0.0/8/8",
        "1000.0.0.0/8",
        "host/8",
        "/8",
        "::1/129",
        "::1/-1",
        "::1/x",
        "::1/",
        "::1",
        "::g/8",
        "::ffff:10.0.0.0/104",
        "\N{ARABIC-INDIC DIGIT ONE}0.0.0.0/8",
    ],
)
def test_a_text_that_kafka_does_not_take_for_a_range_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="expected"):
        parse_range(text)
