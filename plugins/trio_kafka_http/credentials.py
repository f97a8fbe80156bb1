"""Credentials in an Authorization header: Bearer, or Basic, which browsers support.

A browser repeats Basic credentials by itself, also for requests of hostile pages (CSRF).
`admission` rejects those by their Origin, except plain GETs, whose responses the page cannot read.
So no GET may change anything.
Source: RFC 6750 §2.1, RFC 7617 §2.
"""

from base64 import b64decode
from typing import Final

CHALLENGES: Final = (
    (b"www-authenticate", b'Bearer realm="trio-kafka"'),
    (b"www-authenticate", b'Basic realm="trio-kafka", charset="UTF-8"'),
)


def token_of(authorization: bytes) -> bytes | None:
    """Return the token of a header, ignoring the user name; None if there is none."""
    scheme, _, credentials = authorization.partition(b" ")
    if scheme.lower() == b"bearer":
        return credentials.strip()
    pair = basic_of(authorization)
    return None if pair is None else pair[1]


def basic_of(authorization: bytes) -> tuple[bytes, bytes] | None:
    """Return user and password of a Basic header; None if there are none.

    A password may contain colons, a name may not. Bytes are not decoded: in UTF-8 a colon is never
    part of another character.
    """
    scheme, _, credentials = authorization.partition(b" ")
    if scheme.lower() != b"basic":
        return None
    try:
        pair = b64decode(credentials.strip(), validate=True)
    except ValueError:
        return None
    user, colon, password = pair.partition(b":")
    return (user, password) if colon else None
