"""Causes of failed handshakes, in words for the operator of a broker or client."""

import ssl
from typing import Final

from trio_kafka.protocol.foreign import spoken_protocol
from trio_kafka.security.tls.errors import TlsCertificateError, TlsEndedError, TlsError

_REASONS: Final = {
    "NO_SHARED_CIPHER": "no common cipher suite: check ssl.cipher.suites and the type of the key",
    "PEER_DID_NOT_RETURN_A_CERTIFICATE": (
        "the client sent no certificate, and ssl.client.auth=required"
    ),
    "TLSV1_ALERT_UNKNOWN_CA": "the peer does not trust the issuer of our certificate",
    "SSLV3_ALERT_CERTIFICATE_UNKNOWN": "the peer does not accept our certificate",
    "SSLV3_ALERT_BAD_CERTIFICATE": "the peer does not accept our certificate",
    "SSLV3_ALERT_CERTIFICATE_EXPIRED": "the peer says that our certificate has expired",
    "TLSV13_ALERT_CERTIFICATE_REQUIRED": "the broker requires a certificate of the client",
    "UNSUPPORTED_PROTOCOL": "no common version of TLS: check ssl.enabled.protocols",
    "TLSV1_ALERT_PROTOCOL_VERSION": "no common version of TLS: check ssl.enabled.protocols",
}


def tls_error(error: ssl.SSLError, received: bytes) -> TlsError:
    """Return the error to raise instead. received: the first bytes from the peer."""
    if isinstance(error, ssl.SSLCertVerificationError):
        reason = error.verify_message or error.reason or "not valid"
        return TlsCertificateError(f"TLS: the peer's certificate is not accepted: {reason}")
    protocol = spoken_protocol(received)
    if protocol not in (None, "TLS"):
        return TlsError(f"TLS: the peer speaks {protocol}, not TLS")
    if received[:1] == b"\0":  # the length of a request
        return TlsError("TLS: the peer speaks Kafka's protocol without TLS: security.protocol=SSL")
    if isinstance(error, ssl.SSLEOFError):
        return TlsEndedError("TLS: the peer ended the handshake")
    reason = error.reason or "failed"
    kind = TlsCertificateError if "CERTIFICATE" in reason or "UNKNOWN_CA" in reason else TlsError
    return kind(f"TLS: {_REASONS.get(reason, reason.lower().replace('_', ' '))}")
