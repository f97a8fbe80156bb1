"""Certificates and stores for tests, made on the spot."""

import datetime as dt
import ipaddress
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import pkcs12
from cryptography.x509.oid import NameOID

from trio_kafka.attributes import frozen

_PEM = serialization.Encoding.PEM
_PKCS8 = serialization.PrivateFormat.PKCS8


@frozen
class Identity:
    """A key with its certificate."""

    key: ec.EllipticCurvePrivateKey
    certificate: x509.Certificate

    @property
    def pem(self) -> str:
        return self.certificate.public_bytes(_PEM).decode()

    def key_pem(self, password: str | None = None) -> str:
        encryption: serialization.KeySerializationEncryption = serialization.NoEncryption()
        if password is not None:
            encryption = serialization.BestAvailableEncryption(password.encode())
        return self.key.private_bytes(_PEM, _PKCS8, encryption).decode()

    def write_pem(self, path: Path, password: str | None = None) -> Path:
        path.write_text(self.key_pem(password) + self.pem)
        return path

    def write_p12(self, path: Path, password: str, *, with_key: bool = True) -> Path:
        """A PKCS12 key store, or a trust store."""
        encryption = serialization.BestAvailableEncryption(password.encode())
        if with_key:
            data = pkcs12.serialize_key_and_certificates(
                b"me", self.key, self.certificate, None, encryption
            )
        else:
            data = pkcs12.serialize_java_truststore(
                [pkcs12.PKCS12Certificate(self.certificate, b"ca")], encryption
            )
        path.write_bytes(data)
        return path


def authority(name: str = "authority") -> Identity:
    return _identity(name, None, names=())


def issued(by: Identity, name: str, *, names: tuple[str, ...] = ("127.0.0.1",)) -> Identity:
    """A certificate for hosts, or for a client where there are none."""
    return _identity(name, by, names=names)


def _identity(name: str, by: Identity | None, *, names: tuple[str, ...]) -> Identity:
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = dt.datetime.now(dt.UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject if by is None else by.certificate.subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=2))
        .add_extension(x509.BasicConstraints(ca=by is None, path_length=None), critical=True)
    )
    if names:
        builder = builder.add_extension(
            x509.SubjectAlternativeName([_general(host) for host in names]), critical=False
        )
    return Identity(key, builder.sign(key if by is None else by.key, hashes.SHA256()))


def _general(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)
