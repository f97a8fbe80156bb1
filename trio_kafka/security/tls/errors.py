"""Errors of TLS; this module does without Python's ssl module."""


class TlsError(ConnectionError):
    """TLS with the peer has failed; the connection is of no more use."""


class TlsCertificateError(TlsError):
    """The peer's certificate is not accepted: no retry helps."""


class TlsEndedError(TlsError):
    """The peer has closed the connection within the handshake, without a reason."""
