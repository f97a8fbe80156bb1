"""Key stores and trust stores as PEM text: PEM and PKCS12 files, read on the machine that connects.

A JKS file is refused with the command that converts it. Where Kafka's default type JKS is in
effect the content decides, as in Java, whose JKS store reads PKCS12 files too.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Final

from trio_kafka.install_hint import install_command
from trio_kafka_spark.client.errors import OptionError
from trio_kafka_spark.client.secret import Secret

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.serialization.pkcs12 import PKCS12KeyAndCertificates

_PEM: Final = b"-----BEGIN"
_JKS: Final = (b"\xfe\xed\xfe\xed", b"\xce\xce\xce\xce")  # the second is JCEKS
_DER: Final = 0x30  # a PKCS12 file is a DER sequence


def trusted(option: str, *, kind: str, location: str, password: Secret | None) -> str:
    """The certificates of a trust store, as PEM. Raises OptionError."""
    data = _read(option, location)
    if _is_pem(option, kind=kind, location=location, data=data):
        return _text(option, data)
    store = _pkcs12(option, location=location, data=data, password=password)
    certificates = [bag.certificate for bag in store.additional_certs]
    if store.cert is not None:
        certificates.append(store.cert.certificate)
    if not certificates:
        raise OptionError(option, f"{location} has no certificate")
    from cryptography.hazmat.primitives.serialization import Encoding  # noqa: PLC0415

    return "".join(certificate.public_bytes(Encoding.PEM).decode() for certificate in certificates)


def identity(option: str, *, kind: str, location: str, password: Secret | None) -> str:
    """Private key and certificate chain of a key store, as PEM. Raises OptionError.

    A key in a PEM file stays encrypted as it is.
    """
    data = _read(option, location)
    if _is_pem(option, kind=kind, location=location, data=data):
        return _text(option, data)
    store = _pkcs12(option, location=location, data=data, password=password)
    if store.key is None or store.cert is None:
        raise OptionError(option, f"{location} has no private key with a certificate")
    from cryptography.hazmat.primitives.serialization import (  # noqa: PLC0415
        Encoding,
        NoEncryption,
        PrivateFormat,
    )

    key = store.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    chain = [store.cert, *store.additional_certs]
    certificates = [certificate.certificate.public_bytes(Encoding.PEM) for certificate in chain]
    return b"".join([key, *certificates]).decode()


def _read(option: str, location: str) -> bytes:
    try:
        return Path(location).read_bytes()
    except OSError as error:
        raise OptionError(
            option, f"{location}: {error.strerror}; every machine that connects needs this file"
        ) from None


def _is_pem(option: str, *, kind: str, location: str, data: bytes) -> bool:
    """Tell PEM from PKCS12 content. Raises OptionError for all others."""
    if data.startswith(_JKS):
        raise OptionError(
            option,
            f"{location} is a JKS store, which only Java reads; convert it: keytool"
            f" -importkeystore -srckeystore {location} -destkeystore {location}.p12"
            " -deststoretype PKCS12",
        )
    is_pem = _PEM in data
    if not is_pem and data[:1] != bytes([_DER]):
        raise OptionError(option, f"{location} is neither PEM nor PKCS12")
    if kind == "PEM" and not is_pem:
        raise OptionError(option, f"{location} is PKCS12, and the type says PEM")
    if kind == "PKCS12" and is_pem:
        raise OptionError(option, f"{location} is PEM, and the type says PKCS12")
    return is_pem


def _text(option: str, data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise OptionError(option, "the PEM file is not UTF-8") from None


def _pkcs12(
    option: str, *, location: str, data: bytes, password: Secret | None
) -> "PKCS12KeyAndCertificates":
    try:
        from cryptography.hazmat.primitives.serialization import pkcs12  # noqa: PLC0415
    except ImportError:
        raise OptionError(
            option,
            f"{location} is PKCS12: {install_command('trio-kafka[spark]')} on every machine",
        ) from None
    secret = None if password is None else password.reveal().encode()
    try:
        return pkcs12.load_pkcs12(data, secret)
    except ValueError:
        raise OptionError(
            option, f"{location} cannot be opened: the password is wrong, or the file is damaged"
        ) from None
