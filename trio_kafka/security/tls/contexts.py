"""TLS contexts of Python's ssl module from Kafka's `ssl.*` settings.

The settings name the culprit of each ConfigError; no message holds a secret.
"""

import ssl
from typing import Final

from trio_kafka.attributes import frozen
from trio_kafka.config.setting import ConfigError
from trio_kafka.security.tls.certificate import Certificate, first_certificate
from trio_kafka.security.tls.settings import TlsSettings
from trio_kafka.security.tls.stores import Store, read_identity, read_trusted
from trio_kafka.security.tls.suites import restrict
from trio_kafka.world.operator_files import secret_file

# Of TLS 1.2, unless ssl.cipher.suites names others: forward secrecy, and no suite with CBC.
_SUITES: Final = "ECDHE+AESGCM:ECDHE+CHACHA20:DHE+AESGCM:!aNULL:!aDSS"
_ASKS: Final = {
    "none": ssl.CERT_NONE,
    "requested": ssl.CERT_OPTIONAL,
    "required": ssl.CERT_REQUIRED,
}


@frozen(kw_only=True)
class ServerIdentity:
    """Context of a listener, and the facts of its own certificate. place: where that was read."""

    context: ssl.SSLContext
    certificate: Certificate
    setting: str
    place: str


def server_identity(settings: TlsSettings) -> ServerIdentity:
    """Return the context of a listener. Reads files; may take 50 ms. Raises ConfigError."""
    settings.check()
    store = read_identity(settings)
    if store is None:
        reason = "is missing: a listener with TLS needs a key and its certificate"
        raise ConfigError("ssl.keystore.location", reason)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.options |= ssl.OP_NO_RENEGOTIATION | ssl.OP_NO_COMPRESSION
    context.num_tickets = 1  # by TLS 1.3 clients that connect again; the broker keeps nothing
    context.verify_mode = _ASKS[settings.client_auth]
    context.set_ciphers(_SUITES)
    restrict(context, settings)
    _load_identity(context, store, settings)
    trusted = read_trusted(settings)
    if settings.client_auth != "none":
        _trust(context, trusted, ssl.Purpose.CLIENT_AUTH)
    elif trusted is not None:  # is only checked: OpenSSL would send it behind its own certificate
        _trust(ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), trusted, ssl.Purpose.CLIENT_AUTH)
    try:
        certificate = first_certificate(store.pem)
    except ValueError as error:
        raise ConfigError(store.setting, f"{store.place}{error}") from None
    return ServerIdentity(
        context=context, certificate=certificate, setting=store.setting, place=store.place
    )


def client_context(settings: TlsSettings) -> ssl.SSLContext:
    """Return the context of a client. Reads files. Raises ConfigError."""
    settings.check()
    identification = settings.endpoint_identification_algorithm or ""
    if identification.lower() not in ("", "https"):
        reason = f"{identification!r} is not supported: want https, or nothing"
        raise ConfigError("ssl.endpoint.identification.algorithm", reason)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = bool(identification)
    context.verify_mode = ssl.CERT_REQUIRED
    restrict(context, settings)
    _trust(context, read_trusted(settings), ssl.Purpose.SERVER_AUTH)
    store = read_identity(settings)
    if store is not None:
        _load_identity(context, store, settings)
    return context


def _trust(context: ssl.SSLContext, store: Store | None, purpose: ssl.Purpose) -> None:
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN  # any trusted certificate ends a chain
    if store is None:
        context.load_default_certs(purpose)
        return
    try:
        context.load_verify_locations(cadata=store.pem)
    except (ssl.SSLError, ValueError):
        raise ConfigError(store.setting, f"{store.place}holds no certificates in PEM") from None


def _load_identity(context: ssl.SSLContext, store: Store, settings: TlsSettings) -> None:
    # Without any password OpenSSL would ask for one on the terminal.
    password = settings.key_password or ""
    with secret_file(store.pem) as path:
        try:
            context.load_cert_chain(path, password=password)
        except (ssl.SSLError, ValueError) as error:
            raise ConfigError(store.setting, store.place + _why(error, store.pem)) from None


def _why(error: Exception, pem: str) -> str:
    reason = error.reason if isinstance(error, ssl.SSLError) else ""
    if reason == "KEY_VALUES_MISMATCH":
        return "the private key is not that of the first certificate"
    if "ENCRYPTED" in pem:  # OpenSSL gives no reason of its own for PKCS#8
        return "the private key cannot be decrypted: check ssl.key.password"
    return "key and certificate chain cannot be used: want a key in PKCS#8, and its chain"
