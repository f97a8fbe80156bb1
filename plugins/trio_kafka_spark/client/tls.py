"""A TLS context of Python's ssl module, from Kafka's `ssl.*` options.

The module takes keys from files only. They are given by an anonymous file in memory where the
system has such files, and never touch a disk there.
"""

import os
import re
import ssl
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from trio_kafka_spark.client.errors import OptionError
from trio_kafka_spark.client.security import Tls
from trio_kafka_spark.client.stores import identity, trusted

_VERSIONS: Final = {"TLSv1.2": ssl.TLSVersion.TLSv1_2, "TLSv1.3": ssl.TLSVersion.TLSv1_3}
_OF_TLS_1_3: Final = re.compile(r"TLS_(AES|CHACHA20)_\w+")
_STANDARD_NAME: Final = re.compile(r"TLS_(?P<exchange>\w+)_WITH_(?P<cipher>\w+)")


def context_of(tls: Tls) -> ssl.SSLContext:
    """The context of all connections. Raises OptionError; reads the files that are named."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = bool(tls.identification)
    context.verify_mode = ssl.CERT_REQUIRED
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN  # any trusted certificate ends a chain
    _restrict(context, tls)
    _trust(context, tls)
    _identify(context, tls)
    return context


def _restrict(context: ssl.SSLContext, tls: Tls) -> None:
    """Versions and cipher suites."""
    chosen = set(tls.protocols or _VERSIONS)
    if tls.ciphers:
        older = [suite for suite in tls.ciphers if not _OF_TLS_1_3.fullmatch(suite)]
        if len(older) == len(tls.ciphers):
            chosen.discard("TLSv1.3")
        if not older:
            chosen.discard("TLSv1.2")
        if not chosen:
            raise OptionError(
                "kafka.ssl.cipher.suites",
                f"no suite is of the enabled protocols, {', '.join(tls.protocols)}",
            )
        try:
            if older:
                context.set_ciphers(":".join(map(openssl_name, older)))
        except ssl.SSLError:
            raise OptionError(
                "kafka.ssl.cipher.suites", f"{', '.join(older)}: OpenSSL knows none of them"
            ) from None
    versions = sorted(_VERSIONS[version] for version in chosen)
    context.minimum_version, context.maximum_version = versions[0], versions[-1]


def openssl_name(suite: str) -> str:
    """OpenSSL's name of a cipher suite of TLS 1.2; a name that is no standard name stays."""
    match = _STANDARD_NAME.fullmatch(suite)
    if match is None:
        return suite
    exchange = match["exchange"].replace("_", "-")
    cipher = re.sub(r"(AES|CAMELLIA|ARIA)_(\d+)", r"\1\2", match["cipher"])
    cipher = cipher.replace("_CBC_", "_").replace("CHACHA20_POLY1305_SHA256", "CHACHA20_POLY1305")
    cipher = cipher.replace("_", "-")
    return cipher if exchange == "RSA" else f"{exchange}-{cipher}"


def _trust(context: ssl.SSLContext, tls: Tls) -> None:
    if tls.truststore_certificates is not None:
        option = "kafka.ssl.truststore.certificates"
        pem = tls.truststore_certificates.reveal()
    elif tls.truststore_location:
        option = "kafka.ssl.truststore.location"
        pem = trusted(
            option,
            kind=tls.truststore_type,
            location=tls.truststore_location,
            password=tls.truststore_password,
        )
    else:
        context.load_default_certs()
        return
    try:
        context.load_verify_locations(cadata=pem)
    except (ssl.SSLError, ValueError):
        raise OptionError(option, "holds no certificates in PEM") from None


def _identify(context: ssl.SSLContext, tls: Tls) -> None:
    if tls.keystore_chain is not None and tls.keystore_key is not None:
        option = "kafka.ssl.keystore.key"
        pem = f"{tls.keystore_key.reveal()}\n{tls.keystore_chain.reveal()}\n"
    elif tls.keystore_location:
        option = "kafka.ssl.keystore.location"
        pem = identity(
            option,
            kind=tls.keystore_type,
            location=tls.keystore_location,
            password=tls.keystore_password,
        )
    else:
        return
    # Without any password OpenSSL would ask for one on the terminal.
    password = "" if tls.key_password is None else tls.key_password.reveal()
    with _file_of(pem) as path:
        try:
            context.load_cert_chain(path, password=password)
        except (ssl.SSLError, ValueError):
            raise OptionError(
                option,
                "key and certificate chain cannot be used: want a key in PKCS#8 and its chain,"
                " and kafka.ssl.key.password where the key is encrypted",
            ) from None


@contextmanager
def _file_of(text: str) -> Iterator[str]:
    """The path of a file that only this process can read, until the block ends."""
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("pem")
        with open(descriptor, "wb") as file:  # noqa: PTH123 - a descriptor has no path
            file.write(text.encode())
            file.flush()
            yield f"/proc/self/fd/{descriptor}"
    else:
        with tempfile.NamedTemporaryFile("w", encoding="utf-8") as named:
            named.write(text)
            named.flush()
            yield named.name
