"""Throw-away certificates for development and tests: an authority, servers and clients.

Keys are P-256: a handshake costs the broker less than half of one with RSA-2048. The authority's
key is not kept by anything here, so its certificates end with the set. Needs the extra `tls`.
"""

import ipaddress
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final, Self

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import pkcs12
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from trio_kafka.attributes import frozen

DAYS: Final = 30
LOCAL_HOSTS: Final = ("localhost", "127.0.0.1", "::1")
_PEM: Final = serialization.Encoding.PEM
_PKCS8: Final = serialization.PrivateFormat.PKCS8
_SKEW: Final = timedelta(days=1)  # clocks of other machines


@frozen
class Identity:
    """A private key with its certificate, and the authority's certificate behind it."""

    key: ec.EllipticCurvePrivateKey
    certificate: x509.Certificate

    @classmethod
    def authority(
        cls, now: datetime, name: str = "trio-kafka development", days: int = DAYS
    ) -> Self:
        """Return an authority that issues certificates. now: aware."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = _name(name)
        builder = _builder(subject, key, now, days).issuer_name(subject)
        usage = x509.KeyUsage(
            digital_signature=False,
            content_commitment=False,
            key_encipherment=False,
            data_encipherment=False,
            key_agreement=False,
            key_cert_sign=True,
            crl_sign=True,
            encipher_only=False,
            decipher_only=False,
        )
        builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), True)
        builder = builder.add_extension(usage, True)
        return cls(key, builder.sign(key, hashes.SHA256()))

    def issue(
        self, now: datetime, name: str, *, hosts: Sequence[str] = (), days: int = DAYS
    ) -> "Identity":
        """Issue a certificate. name: common name, or a whole one as in RFC 4514.

        hosts: names and addresses of a server; none for a client.
        """
        key = ec.generate_private_key(ec.SECP256R1())
        purpose = ExtendedKeyUsageOID.SERVER_AUTH if hosts else ExtendedKeyUsageOID.CLIENT_AUTH
        builder = (
            _builder(_name(name), key, now, days)
            .issuer_name(self.certificate.subject)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), True)
            .add_extension(x509.ExtendedKeyUsage([purpose]), False)
            .add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_public_key(self.key.public_key()), False
            )
        )
        if hosts:
            alternatives = x509.SubjectAlternativeName([_general(host) for host in hosts])
            builder = builder.add_extension(alternatives, False)
        return Identity(key, builder.sign(self.key, hashes.SHA256()))

    @property
    def pem(self) -> str:
        """Certificate in PEM."""
        return self.certificate.public_bytes(_PEM).decode()

    def key_pem(self, password: str | None = None) -> str:
        """Return the private key in PEM (PKCS#8), encrypted if there is a password."""
        return self.key.private_bytes(_PEM, _PKCS8, _encryption(password)).decode()

    def key_store(self, password: str) -> bytes:
        """Return a PKCS12 store of key and certificate."""
        return pkcs12.serialize_key_and_certificates(
            b"trio-kafka", self.key, self.certificate, None, _encryption(password)
        )

    def trust_store(self, password: str) -> bytes:
        """Return a PKCS12 store of the certificate, which Java takes for a trusted one."""
        certificate = pkcs12.PKCS12Certificate(self.certificate, b"ca")
        return pkcs12.serialize_java_truststore([certificate], _encryption(password))


def _encryption(password: str | None) -> serialization.KeySerializationEncryption:
    if password is None:
        return serialization.NoEncryption()
    return serialization.BestAvailableEncryption(password.encode())


def _builder(
    subject: x509.Name, key: ec.EllipticCurvePrivateKey, now: datetime, days: int
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _SKEW)
        .not_valid_after(now + timedelta(days=days))
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), False)
    )


def _name(text: str) -> x509.Name:
    if "=" in text:
        return x509.Name.from_rfc4514_string(text)
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _general(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)
