"""Key stores and trust stores as PEM text: inline PEM, PEM files and PKCS12 files.

A JKS file is refused with the command that converts it. Where Kafka's default type JKS is in
effect the content decides, as in Java, whose JKS store reads PKCS12 files too.
"""

from typing import TYPE_CHECKING, Final

from trio_kafka.attributes import frozen
from trio_kafka.config.setting import ConfigError
from trio_kafka.install_hint import install_command
from trio_kafka.security.tls.settings import TlsSettings
from trio_kafka.world.operator_files import read_operator_file

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.serialization.pkcs12 import PKCS12KeyAndCertificates

_PEM: Final = b"-----BEGIN"
_JKS: Final = (b"\xfe\xed\xfe\xed", b"\xce\xce\xce\xce")  # the second is JCEKS
_DER: Final = 0x30  # a PKCS12 file is a DER sequence


@frozen
class Store:
    """Content of a store as PEM. setting: the one that gave it. at: a file's path, or ""."""

    setting: str
    at: str
    pem: str

    def __repr__(self) -> str:
        return f"Store({self.setting!r}, {self.at!r})"

    @property
    def place(self) -> str:
        """Begin of a message about the content: the path, if there is one."""
        return f"{self.at}: " if self.at else ""


def read_identity(settings: TlsSettings) -> Store | None:
    """Return private key and certificate chain; None: there is no key store.

    A key in PEM stays encrypted as it is. Reads a file. Raises ConfigError without any secret.
    """
    if settings.keystore_key is not None and settings.keystore_certificate_chain is not None:
        pem = f"{settings.keystore_key}\n{settings.keystore_certificate_chain}\n"
        return Store("ssl.keystore.key", "", _unescaped(pem))
    if settings.keystore_location is None:
        return None
    setting, location = "ssl.keystore.location", settings.keystore_location
    data = _read(setting, location)
    if _is_pem(setting, kind=settings.keystore_type, location=location, data=data):
        return Store(setting, location, _text(setting, location, data))
    password = settings.keystore_password
    if password is None:
        raise ConfigError("ssl.keystore.password", f"is missing: {location} is a PKCS12 file")
    store = _pkcs12(setting, location=location, data=data, password=password)
    if store.key is None or store.cert is None:
        raise ConfigError(setting, f"{location} has no private key with a certificate")
    from cryptography.hazmat.primitives.serialization import (  # noqa: PLC0415 - of the extra
        Encoding,
        NoEncryption,
        PrivateFormat,
    )

    key = store.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    chain = [store.cert, *store.additional_certs]
    certificates = [certificate.certificate.public_bytes(Encoding.PEM) for certificate in chain]
    return Store(setting, location, b"".join([key, *certificates]).decode())


def read_trusted(settings: TlsSettings) -> Store | None:
    """Return the trusted certificates; None: there is no trust store. Raises ConfigError."""
    if settings.truststore_certificates is not None:
        pem = _unescaped(settings.truststore_certificates)
        return Store("ssl.truststore.certificates", "", pem)
    if settings.truststore_location is None:
        return None
    setting, location = "ssl.truststore.location", settings.truststore_location
    data = _read(setting, location)
    if _is_pem(setting, kind=settings.truststore_type, location=location, data=data):
        return Store(setting, location, _text(setting, location, data))
    store = _pkcs12(setting, location=location, data=data, password=settings.truststore_password)
    certificates = [bag.certificate for bag in store.additional_certs]
    if store.cert is not None:
        certificates.append(store.cert.certificate)
    if not certificates:
        raise ConfigError(setting, f"{location} has no certificate")
    from cryptography.hazmat.primitives.serialization import Encoding  # noqa: PLC0415 - as above

    pems = (certificate.public_bytes(Encoding.PEM).decode() for certificate in certificates)
    return Store(setting, location, "".join(pems))


def _unescaped(pem: str) -> str:
    r"""Return PEM of one line, as environments and command lines carry it, with its line ends."""
    return pem if "\n" in pem.strip() else pem.replace("\\n", "\n")


def _read(setting: str, location: str) -> bytes:
    try:
        return read_operator_file(location)
    except OSError as error:
        raise ConfigError(setting, f"{location}: {error.strerror}") from None


def _is_pem(setting: str, *, kind: str, location: str, data: bytes) -> bool:
    """Tell PEM from PKCS12 content. Raises ConfigError for all others."""
    if data.startswith(_JKS):
        raise ConfigError(
            setting,
            f"{location} is a JKS store, which only Java reads; convert it: keytool"
            f" -importkeystore -srckeystore {location} -destkeystore {location}.p12"
            " -deststoretype PKCS12",
        )
    is_pem = _PEM in data
    if not is_pem and data[:1] != bytes([_DER]):
        raise ConfigError(setting, f"{location} is neither PEM nor PKCS12")
    if kind == "PEM" and not is_pem:
        raise ConfigError(setting, f"{location} is PKCS12, and the type says PEM")
    if kind == "PKCS12" and is_pem:
        raise ConfigError(setting, f"{location} is PEM, and the type says PKCS12")
    return is_pem


def _text(setting: str, location: str, data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise ConfigError(setting, f"{location}: the PEM file is not UTF-8") from None


def _pkcs12(
    setting: str, *, location: str, data: bytes, password: str | None
) -> "PKCS12KeyAndCertificates":
    try:
        from cryptography.hazmat.primitives.serialization import pkcs12  # noqa: PLC0415 - as above
    except ImportError:
        reason = f"{location} is PKCS12: {install_command('trio-kafka[tls]')}, or use PEM"
        raise ConfigError(setting, reason) from None
    try:
        return pkcs12.load_pkcs12(data, None if password is None else password.encode())
    except ValueError:
        reason = f"{location} cannot be opened: the password is wrong, or the file is damaged"
        raise ConfigError(setting, reason) from None
