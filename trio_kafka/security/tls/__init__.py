"""TLS: stores of keys and certificates, contexts, a socket over a socket, names of certificates.

Modules are imported where TLS is used only: Python's `ssl` costs a start 10 ms.
docs/design/tls.md says why a socket and not a stream.
"""

__all__ = [
    "certificate",
    "contexts",
    "development",
    "errors",
    "failures",
    "handshake",
    "principal_rules",
    "settings",
    "socket",
    "stores",
    "suites",
]
