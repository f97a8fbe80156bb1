"""SASL of a connection: PLAIN, SCRAM-SHA-256 and -512, OAUTHBEARER.

A mechanism is a generator: it yields what the client says and is sent what the server says.
Source: RFC 4616 (PLAIN); RFC 5802 and RFC 7677 (SCRAM, without channel binding and without
SASLprep, as Kafka); RFC 7628 (OAUTHBEARER); KIP-152 (SaslAuthenticate), KIP-368 (session lifetime).
"""

import base64
import binascii
import hashlib
import hmac
import re
import secrets
from collections.abc import Generator, Mapping
from typing import Final

from trio_kafka.errors import ErrorCode
from trio_kafka.peers.session import Handshake, exchange
from trio_kafka.protocol.messages.k17_sasl_handshake import SaslHandshakeRequest
from trio_kafka.protocol.messages.k36_sasl_authenticate import SaslAuthenticateRequest
from trio_kafka_spark.client.errors import AuthenticationError, OptionError
from trio_kafka_spark.client.jaas import OPTION
from trio_kafka_spark.client.oauth import bearer_token
from trio_kafka_spark.client.security import OAUTHBEARER, PLAIN, Sasl

Exchange = Generator[bytes, bytes, None]

_FEWEST_ITERATIONS: Final = 4096  # as Kafka's clients
_MOST_ITERATIONS: Final = 1_000_000  # 0.3 s; a hostile server may not keep a task busy
_SESSION_SHARE: Final = 0.85  # of a session's lifetime; Kafka's clients use 0.85 to 0.95
_HASHES: Final = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}
_SERVER_FIRST: Final = re.compile(
    r"r=(?P<nonce>[\x21-\x2b\x2d-\x7e]+),s=(?P<salt>[A-Za-z0-9+/=]+)"
    r",i=(?P<count>[1-9]\d*)(?:,.*)?"
)
_GS2: Final = "n,,"


def log_in(sasl: Sasl) -> Handshake:
    """Log in on a connection that has agreed on versions; returns for how many seconds.

    Raises AuthenticationError; OptionError for credentials that are missing on this machine.
    """
    messages = _mechanism(sasl)
    mechanism = sasl.mechanism
    shaken = yield from exchange(SaslHandshakeRequest(mechanism))
    if shaken.error_code == ErrorCode.UNSUPPORTED_SASL_MECHANISM:
        enabled = ", ".join(sorted(shaken.mechanisms)) or "none"
        raise AuthenticationError(f"the broker does not enable {mechanism}; it enables: {enabled}")
    if shaken.error_code == ErrorCode.ILLEGAL_SASL_STATE:
        raise AuthenticationError(
            "this listener does not use SASL: check the port, or kafka.security.protocol"
        )
    if shaken.error_code:
        raise AuthenticationError(f"SaslHandshake: error code {shaken.error_code}")
    message = next(messages)
    while True:
        answer = yield from exchange(SaslAuthenticateRequest(message))
        if answer.error_code:
            reason = answer.error_message or f"error code {answer.error_code}"
            raise AuthenticationError(f"{mechanism} login was rejected: {reason}")
        try:
            message = messages.send(answer.auth_bytes)
        except StopIteration:
            lifetime_ms = answer.session_lifetime_ms
            return lifetime_ms * _SESSION_SHARE / 1000 if lifetime_ms > 0 else float("inf")


def _mechanism(sasl: Sasl) -> Exchange:
    login = sasl.login()
    if sasl.mechanism == OAUTHBEARER:
        token, extensions = bearer_token(sasl, login)
        return oauthbearer(token, extensions)
    username, password = login.need("username"), login.need("password")
    if sasl.mechanism == PLAIN:
        return plain(username, password)
    is_token = login.options.get("tokenauth", "").lower() == "true"
    return scram(
        _HASHES[sasl.mechanism],
        username,
        password,
        nonce=secrets.token_urlsafe(24),
        extension=",tokenauth=true" if is_token else "",
    )


def plain(username: str, password: str) -> Exchange:
    """One message: name and password in plain text."""
    if not username or not password or "\0" in username + password:
        raise OptionError(OPTION, "username and password may be neither empty nor hold a NUL")
    yield f"\0{username}\0{password}".encode()


def scram(
    digest: str, username: str, password: str, *, nonce: str, extension: str = ""
) -> Exchange:
    """Prove the password without telling it, and check that the server knows it too.

    digest: name of the hash. nonce: random, printable, without a comma.
    """
    name = username.replace("=", "=3D").replace(",", "=2C")
    client_first = f"n={name},r={nonce}{extension}"
    server_first = _ascii((yield f"{_GS2}{client_first}".encode()))
    match = _SERVER_FIRST.fullmatch(server_first)
    if match is None:
        raise AuthenticationError(
            f"SCRAM: the server's first message is malformed{_said(server_first)}"
        )
    if not match["nonce"].startswith(nonce) or match["nonce"] == nonce:
        raise AuthenticationError("SCRAM: the server's nonce does not continue the client's")
    count = int(match["count"])
    if not _FEWEST_ITERATIONS <= count <= _MOST_ITERATIONS:
        raise AuthenticationError(
            f"SCRAM: {count} iterations: want {_FEWEST_ITERATIONS} to {_MOST_ITERATIONS}"
        )
    salt = _decoded(match["salt"])
    salted = hashlib.pbkdf2_hmac(digest, password.encode(), salt, count)
    client_key = hmac.digest(salted, b"Client Key", digest)
    stored_key = hashlib.new(digest, client_key).digest()
    header = base64.b64encode(_GS2.encode()).decode()
    without_proof = f"c={header},r={match['nonce']}"
    signed = f"{client_first},{server_first},{without_proof}".encode()
    signature = hmac.digest(stored_key, signed, digest)
    proof = bytes(a ^ b for a, b in zip(client_key, signature, strict=True))
    client_final = f"{without_proof},p={base64.b64encode(proof).decode()}"
    server_final = _ascii((yield client_final.encode()))
    server_key = hmac.digest(salted, b"Server Key", digest)
    expected = hmac.digest(server_key, signed, digest)
    if not server_final.startswith("v="):
        raise AuthenticationError(f"SCRAM: the server ended the login{_said(server_final)}")
    if not hmac.compare_digest(_decoded(server_final[2:].partition(",")[0]), expected):
        raise AuthenticationError(
            "SCRAM: the server's signature is wrong: it does not know this user's password"
        )


def oauthbearer(token: str, extensions: Mapping[str, str]) -> Exchange:
    """Present a token. A server that rejects it says why, and waits for one byte more."""
    more = "".join(f"{key}={value}\x01" for key, value in extensions.items())
    answer = yield f"{_GS2}\x01auth=Bearer {token}\x01{more}\x01".encode()
    if answer:
        yield b"\x01"
        raise AuthenticationError(f"OAUTHBEARER login was rejected: {answer[:200]!r}")


def _ascii(message: bytes) -> str:
    return message.decode("ascii", errors="replace")


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error:
        raise AuthenticationError("SCRAM: the server sent malformed base64") from None


def _said(message: str) -> str:
    """Return the reason that the server gave for a rejection; an empty text if none."""
    return f": {message[2:100]!r}" if message.startswith("e=") else ""
