"""The token in an Authorization header: Bearer, or Basic, which browsers support.

A browser repeats Basic credentials by itself, also for requests of hostile pages (CSRF).
`host_check` rejects those by their Origin, except plain GETs, whose responses the page cannot read.
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
    """Return the token of a header, ignoring the user name; None if there is none.

    A token may contain colons, a name may not. Bytes are not decoded: in UTF-8 a colon is never
    part of another character.
    """
    scheme, _, credentials = authorization.partition(b" ")
    match scheme.lower():
        case b"bearer":
            return credentials.strip()
        case b"basic":
            try:
                pair = b64decode(credentials.strip(), validate=True)
            except ValueError:
                return None
            _, colon, password = pair.partition(b":")
            return password if colon else None
    return None
