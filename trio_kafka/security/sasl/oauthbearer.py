"""OAUTHBEARER, the client's side: presents a token that another party has issued.

Source: RFC 7628; KIP-255.
"""

from collections.abc import Generator, Mapping
from typing import Final

from trio_kafka.security.sasl.errors import AuthenticationError
from trio_kafka.security.sasl.scram import GS2

OAUTHBEARER: Final = "OAUTHBEARER"


def oauthbearer(token: str, extensions: Mapping[str, str]) -> Generator[bytes, bytes, None]:
    """Yield the token. A server that rejects it says why, and waits for one byte more.

    Raises AuthenticationError.
    """
    more = "".join(f"{key}={value}\x01" for key, value in extensions.items())
    answer = yield f"{GS2}\x01auth=Bearer {token}\x01{more}\x01".encode()
    if answer:
        yield b"\x01"
        raise AuthenticationError(f"OAUTHBEARER login was rejected: {answer[:200]!r}")
