"""Names of certificates as Java shows them; the expected texts were printed by Java 17."""

import datetime as dt

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.name import _ASN1Type as Type
from cryptography.x509.oid import NameOID

from tests.certificates import authority, client, now, server
from trio_kafka.security.tls.certificate import (
    distinguished_name,
    first_certificate,
    parse_certificate,
)

NAMES = [
    (
        [
            [("COUNTRY_NAME", "US")],
            [("ORGANIZATION_NAME", "Acme, Inc.")],
            [("COMMON_NAME", "kafka")],
        ],
        r"CN=kafka,O=Acme\, Inc.,C=US",
    ),
    (
        [[("COMMON_NAME", 'a+b=c<d>e#f;g"h\\i')], [("EMAIL_ADDRESS", "a@b.c")]],
        r"1.2.840.113549.1.9.1=#16056140622e63,CN=a\+b\=c\<d\>e\#f\;g\"h\\i",
    ),
    (
        [
            [("COMMON_NAME", " lead and trail ")],
            [("DOMAIN_COMPONENT", "example")],
            [("USER_ID", "u1")],
            [("SERIAL_NUMBER", "42")],
            [("TITLE", "Dr")],
        ],
        r"2.5.4.12=#0c024472,2.5.4.5=#13023432,UID=u1,DC=example,CN=\ lead and trail\ ",
    ),
    (
        [
            [("COMMON_NAME", "multi"), ("ORGANIZATIONAL_UNIT_NAME", "unit")],
            [("STREET_ADDRESS", "Street 1")],
            [("STATE_OR_PROVINCE_NAME", "ST")],
            [("LOCALITY_NAME", "L")],
        ],
        "L=L,ST=ST,STREET=Street 1,OU=unit+CN=multi",
    ),
    (
        [[("COMMON_NAME", "Zoë 東京")], [("SURNAME", "x" * 200)]],
        "2.5.4.4=#0c81c8" + "78" * 200 + ",CN=Zoë 東京",
    ),
]


def certificate_der(parts: list[list[tuple[str, str]]], kind: Type | None = None) -> bytes:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name(
        [
            x509.RelativeDistinguishedName(
                [x509.NameAttribute(getattr(NameOID, oid), text, kind) for oid, text in part]
            )
            for part in parts
        ]
    )
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now())
        .not_valid_after(now() + dt.timedelta(days=40_000))
        .sign(key, hashes.SHA256())
    )
    return certificate.public_bytes(serialization.Encoding.DER)


@pytest.mark.parametrize(("parts", "name"), NAMES)
def test_a_name_is_written_as_java_does(parts: list[list[tuple[str, str]]], name: str) -> None:
    assert distinguished_name(certificate_der(parts)) == name


def test_a_text_of_two_bytes_a_character_is_read_as_java_reads_it() -> None:
    assert (
        distinguished_name(certificate_der([[("COMMON_NAME", "bmp")]], Type.BMPString))
        == r"CN=\00b\00m\00p"
    )


def test_validity_and_alternative_names_are_read() -> None:
    parsed = first_certificate(server().pem)
    certificate = server().certificate

    assert parsed.not_before == certificate.not_valid_before_utc
    assert parsed.not_after == certificate.not_valid_after_utc
    assert parsed.alternative_names == {
        (0x82, b"localhost"),
        (0x87, bytes([127, 0, 0, 1])),
        (0x87, bytes(15) + b"\x01"),
    }
    assert first_certificate(client().pem).alternative_names == frozenset()
    far = parse_certificate(certificate_der([[("COMMON_NAME", "far")]]))
    assert far.not_after.year > 2100


def test_the_first_certificate_of_a_chain_counts() -> None:
    assert (
        first_certificate(server().key_pem() + server().pem + authority().pem).name == "CN=broker"
    )


def test_other_bytes_are_no_certificate() -> None:
    der = certificate_der(NAMES[0][0])
    for data in (
        b"",
        b"\x30",
        b"\x30\x85\x01\x01\x01\x01\x01",
        der[:-1],
        der[:40],
        b"\x30\x00",
        der[5:],
    ):
        with pytest.raises(ValueError):
            parse_certificate(data)
    with pytest.raises(ValueError, match="no certificate in PEM"):
        first_certificate(client().key_pem())
