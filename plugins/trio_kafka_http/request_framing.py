"""Rejects requests whose body two servers could end at different places (request smuggling).

h11 rejects most of them before any app is called: differing or malformed lengths, codings other
than `chunked`, a space before a colon, a bare CR or NUL in a header, a malformed chunk. It accepts
what RFC 9112 lets a server read in one way only: repeated equal lengths, folded lines (§5.2), LF as
the end of a header line (§2.2). The rules below are those that h11 leaves to its user.
Source: RFC 9112 §6.1.
"""

from collections.abc import Mapping


def framing_error(http_version: str, headers: Mapping[bytes, bytes]) -> str:
    """Return why the framing of a request is ambiguous, or an empty text.

    headers: by lower-case name. The connection must be closed after the response to such a request.
    """
    if b"transfer-encoding" not in headers:
        return ""
    if b"content-length" in headers:
        return "Content-Length together with Transfer-Encoding"
    if http_version == "1.0":
        return "Transfer-Encoding in a request of HTTP/1.0"
    return ""
