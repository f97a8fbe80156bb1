"""The server's side of SCRAM: two messages of the client, two answers.

An unknown user is not told at the first message: it gets a salt that is always the same for its
name, and fails at the second, as a wrong password does. Kafka fails it at the first (a listed
difference). A client with the extension `tokenauth=true` presents a delegation token: its id is the
name, its HMAC in base64 the password, and the user is the token's owner (KIP-48).
Source: RFC 5802 §7; ScramSaslServer of Apache Kafka 4.4.0.
"""

import hmac
import re
from collections.abc import Callable
from typing import Final

from attrs import field

from trio_kafka.attributes import define, frozen
from trio_kafka.security.sasl.errors import AuthenticationError
from trio_kafka.security.sasl.scram import (
    ScramCredential,
    ScramMechanism,
    base_36,
    from_base64,
    hash_of,
    to_base64,
    xor,
)

LARGEST: Final = 8 << 10
"""Bytes of a message of a client. A client that is not authenticated yet makes the server keep the
first one, three times, and a regular expression read each."""
_BY_TOKEN: Final = ("tokenauth", "true")
_PRINTABLE: Final = r"[\x21-\x2b\x2d-\x7e]+"
_NAME: Final = r"(?:[\x01-\x2b\x2d-\x3c\x3e-\x7f]|=2C|=3D)+"
_EXTENSIONS: Final = r"(?:,[A-Za-z]+=[\x01-\x2b\x2d-\x7f]+)*"
_CLIENT_FIRST: Final = re.compile(
    rf"n,(?:a=(?P<authorization>{_NAME}))?,(?P<bare>(?:m=[\x01-\x2b\x2d-\x7f]+,)?"
    rf"n=(?P<name>{_NAME}),r=(?P<nonce>{_PRINTABLE})(?P<extensions>{_EXTENSIONS}))"
)
_DIGIT: Final = "[A-Za-z0-9+/]"
_BASE64: Final = rf"(?:{_DIGIT}{{4}})*(?:{_DIGIT}{{3}}=|{_DIGIT}{{2}}==)?"
# As in Kafka, extensions are not signed.
_CLIENT_FINAL: Final = re.compile(
    rf"(?P<signed>c={_BASE64},r=(?P<nonce>{_PRINTABLE})){_EXTENSIONS},p=(?P<proof>{_BASE64})"
)


@frozen(kw_only=True)
class TokenLogin:
    """A delegation token as a server knows it. owner: name of the user.

    expires_ms: wall-clock time.
    """

    owner: str
    expires_ms: int
    credential: ScramCredential


def decoy(mechanism: ScramMechanism, secret: bytes, user: str) -> ScramCredential:
    """Return the credential that stands in for an unknown user; no password fits it."""
    digest = hmac.digest(secret, f"{mechanism.name} {user}".encode(), "sha512")
    key = hash_of(mechanism.digest, digest)
    return ScramCredential(
        salt=base_36(int.from_bytes(digest)),
        stored_key=key,
        server_key=key,
        iterations=mechanism.fewest,
    )


@define(eq=False, repr=False, kw_only=True)
class ScramServer:
    """Exchange of two messages.

    credential: returns what is known of a user, or None. token: of a valid delegation token.
    nonce: random, printable, without commas.
    secret: of decoys, 16 bytes or more, the same for all exchanges of a broker.
    """

    mechanism: ScramMechanism
    credential: Callable[[str], ScramCredential | None]
    nonce: str
    secret: bytes
    token: Callable[[str], TokenLogin | None] = field(default=lambda _id: None)
    user: str | None = field(default=None, init=False)
    by_token: bool = field(default=False, init=False)
    expires_ms: int | None = field(default=None, init=False)
    _name: str = field(default="", init=False)
    _user_credential: ScramCredential | None = field(default=None, init=False)
    _is_decoy: bool = field(default=False, init=False)
    _both: str = field(default="", init=False)  # nonces
    _first: str = field(default="", init=False)  # messages, as they are signed

    def evaluate(self, token: bytes) -> bytes:
        """See `ServerExchange.evaluate`."""
        if self.user is not None:
            raise AuthenticationError("a message after the end of the exchange")
        if len(token) > LARGEST:
            raise AuthenticationError(
                f"a message of {len(token)} bytes: expected {LARGEST} at most"
            )
        message = token.decode("latin-1")
        return (
            self._begin(message)
            if self._user_credential is None
            else self._end(message, self._user_credential)
        )

    def _begin(self, message: str) -> bytes:
        match = _CLIENT_FIRST.fullmatch(message)
        if match is None:
            raise AuthenticationError("Invalid SCRAM client first message format")
        name = _unescaped(match["name"])
        if match["authorization"] and _unescaped(match["authorization"]) != name:
            raise AuthenticationError(
                "Authentication failed: Client requested an authorization id that is different"
                " from username",
                is_public=True,
            )
        self.by_token = _is_by_token(match["extensions"])
        stored = self._look_up(name)
        self._is_decoy = stored is None
        credential = stored or decoy(self.mechanism, self.secret, name)
        self._user_credential = credential
        self._both = match["nonce"] + self.nonce
        answer = f"r={self._both},s={to_base64(credential.salt)},i={credential.iterations}"
        self._first = f"{match['bare']},{answer}"
        return answer.encode("latin-1")

    def _look_up(self, name: str) -> ScramCredential | None:
        self._name = name
        if not self.by_token:
            return self.credential(name)
        login = self.token(name)
        if login is None:
            return None
        self._name, self.expires_ms = login.owner, login.expires_ms
        return login.credential

    def _end(self, message: str, credential: ScramCredential) -> bytes:
        match = _CLIENT_FINAL.fullmatch(message)
        if match is None:
            raise AuthenticationError("Invalid SCRAM client final message format")
        if match["nonce"] != self._both:
            raise AuthenticationError("Invalid client nonce in the final client message.")
        digest = self.mechanism.digest
        signed = f"{self._first},{match['signed']}".encode("latin-1")
        signature = hmac.digest(credential.stored_key, signed, digest)
        try:
            client_key = xor(signature, from_base64(match["proof"]))
        except ValueError:
            raise AuthenticationError("Invalid client credentials") from None
        matches = hmac.compare_digest(hash_of(digest, client_key), credential.stored_key)
        if not matches or self._is_decoy:
            raise AuthenticationError("Invalid client credentials")
        self.user = self._name
        answer = to_base64(hmac.digest(credential.server_key, signed, digest))
        return f"v={answer}".encode()


def _is_by_token(extensions: str) -> bool:
    pairs = (pair.partition("=") for pair in extensions.split(",") if pair)
    # As in Kafka, the name must match exactly and the value may be in capitals.
    return any((name, value.lower()) == _BY_TOKEN for name, _, value in pairs)


def _unescaped(name: str) -> str:
    return name.replace("=2C", ",").replace("=3D", "=")
