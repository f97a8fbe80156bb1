"""The token in an Authorization header: by Bearer, or by Basic, which a browser can send.

A browser repeats Basic credentials by itself, for requests of strangers' pages too (CSRF). The
plane bears that: what such a page sends has an Origin, which `authority` refuses, but for plain
GETs, whose answers the page cannot read. So no GET may change anything.
Source: RFC 6750 §2.1, RFC 7617 §2.
"""

from base64 import b64decode
from typing import Final

CHALLENGES: Final = (
    (b"www-authenticate", b'Bearer realm="trio-kafka"'),
    (b"www-authenticate", b'Basic realm="trio-kafka", charset="UTF-8"'),
)


def token_of(authorization: bytes) -> bytes | None:
    """What the header gives as a token, whatever the user's name; None for one that gives none.

    The token may have colons, the name has none. Bytes are not decoded: in UTF-8 a colon is no
    part of another character.
    """
    scheme, _, given = authorization.partition(b" ")
    match scheme.lower():
        case b"bearer":
            return given.strip()
        case b"basic":
            try:
                pair = b64decode(given.strip(), validate=True)
            except ValueError:
                return None
            _, colon, password = pair.partition(b":")
            return password if colon else None
    return None
