"""The client's side of SCRAM: proves the password without sending it, and checks the server.

Source: RFC 5802 §7; ScramSaslClient of Apache Kafka 4.4.0.
"""

import hmac
import re
from collections.abc import Callable, Generator
from functools import partial
from typing import Final

from trio_kafka.security.sasl.errors import AuthenticationError
from trio_kafka.security.sasl.scram import (
    GS2,
    ScramMechanism,
    client_key_of,
    from_base64,
    hash_of,
    salted_password,
    server_key_of,
    to_base64,
    xor,
)

MOST_ITERATIONS: Final = 1_000_000
"""Iterations, up to 0.4 s, beyond which a server is refused: it may not keep a task busy."""
_AT_ONCE: Final = 4096  # iterations, up to 2 ms
_SERVER_FIRST: Final = re.compile(
    r"r=(?P<nonce>[\x21-\x2b\x2d-\x7e]+),s=(?P<salt>[A-Za-z0-9+/=]+)"
    r",i=(?P<count>[1-9][0-9]*)(?:,.*)?"
)


def scram(
    mechanism: ScramMechanism, username: str, password: str, *, nonce: str, extension: str = ""
) -> Generator[bytes | Callable[[], bytes], bytes, None]:
    """Yield the two messages of a client; is sent those of the server.

    Between them it may yield a call of several ms, for its result.

    nonce: random, printable, without a comma. extension: begins with a comma.
    Raises AuthenticationError.
    """
    digest = mechanism.digest
    name = username.replace("=", "=3D").replace(",", "=2C")
    client_first = f"n={name},r={nonce}{extension}"
    server_first = _ascii((yield f"{GS2}{client_first}".encode()))
    match = _SERVER_FIRST.fullmatch(server_first)
    if match is None:
        raise AuthenticationError(
            f"SCRAM: the server's first message is malformed{_said(server_first)}"
        )
    if not match["nonce"].startswith(nonce) or match["nonce"] == nonce:
        raise AuthenticationError("SCRAM: the server's nonce does not continue the client's")
    count = int(match["count"]) if len(match["count"]) < len(str(MOST_ITERATIONS)) + 1 else -1
    if not mechanism.fewest <= count <= MOST_ITERATIONS:
        raise AuthenticationError(
            f"SCRAM: {match['count'][:20]} iterations: want {mechanism.fewest} to {MOST_ITERATIONS}"
        )
    stretch = partial(
        salted_password, mechanism, password, salt=_decoded(match["salt"]), iterations=count
    )
    salted = stretch() if count <= _AT_ONCE else (yield stretch)
    client_key = client_key_of(digest, salted)
    without_proof = f"c={to_base64(GS2.encode())},r={match['nonce']}"
    signed = f"{client_first},{server_first},{without_proof}".encode()
    signature = hmac.digest(hash_of(digest, client_key), signed, digest)
    proof = xor(client_key, signature)
    server_final = _ascii((yield f"{without_proof},p={to_base64(proof)}".encode()))
    expected = hmac.digest(server_key_of(digest, salted), signed, digest)
    if not server_final.startswith("v="):
        raise AuthenticationError(f"SCRAM: the server ended the login{_said(server_final)}")
    if not hmac.compare_digest(_decoded(server_final[2:].partition(",")[0]), expected):
        raise AuthenticationError(
            "SCRAM: the server's signature is wrong: it does not know this user's password"
        )


def _ascii(message: bytes) -> str:
    return message.decode("ascii", errors="replace")


def _decoded(text: str) -> bytes:
    try:
        return from_base64(text)
    except ValueError:
        raise AuthenticationError("SCRAM: the server sent malformed base64") from None


def _said(message: str) -> str:
    """Return the reason that the server gave for a rejection; an empty text if none."""
    return f": {message[2:100]!r}" if message.startswith("e=") else ""
