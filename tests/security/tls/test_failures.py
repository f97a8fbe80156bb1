import ssl

import pytest

from trio_kafka.security.tls.errors import TlsCertificateError, TlsError
from trio_kafka.security.tls.failures import tls_error


def failure(reason: str) -> ssl.SSLError:
    error = ssl.SSLError(1, reason)
    error.reason = reason
    return error


@pytest.mark.parametrize(
    ("reason", "received", "kind", "message"),
    [
        ("NO_SHARED_CIPHER", b"", TlsError, "no common cipher suite"),
        ("BAD_RECORD_TYPE", b"", TlsError, "TLS: bad record type"),
        ("TLSV1_ALERT_UNKNOWN_CA", b"", TlsCertificateError, "does not trust the issuer of our"),
        (
            "TLSV13_ALERT_CERTIFICATE_REQUIRED",
            b"",
            TlsCertificateError,
            "requires a certificate of the client",
        ),
        ("WRONG_VERSION_NUMBER", b"PUT / HT", TlsError, "the peer speaks HTTP, not TLS"),
        ("WRONG_VERSION_NUMBER", b"\0\0\0\x20", TlsError, "Kafka's protocol without TLS"),
        ("WRONG_VERSION_NUMBER", b"\x16\x03\x00\0", TlsError, "wrong version number"),
    ],
)
def test_a_failure_has_words_for_an_operator(
    reason: str, received: bytes, kind: type[TlsError], message: str
) -> None:
    error = tls_error(failure(reason), received)

    assert type(error) is kind
    assert message in str(error)


def test_the_end_of_the_stream_is_no_failure_of_certificates() -> None:
    assert str(tls_error(ssl.SSLEOFError(8, "eof"), b"")) == "TLS: the peer ended the handshake"
