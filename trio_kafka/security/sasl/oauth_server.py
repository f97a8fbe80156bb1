"""The server's side of OAUTHBEARER: one token, and the reason if it is not accepted.

A client is told by JSON that its token is invalid. It acknowledges that with one byte, and fails
then, or presents another token.
Source: RFC 7628 §3; OAuthBearerSaslServer of Apache Kafka 4.4.0.
"""

import re
from collections.abc import Callable
from typing import Final

from trio_kafka.security.sasl.errors import AuthenticationError
from trio_kafka.security.tokens.claims import InvalidTokenError, VerifiedToken

_INVALID: Final = b'{"status":"invalid_token"}'
_KVSEP: Final = b"\x01"
_NAME: Final = rb"(?:[\x01-\x2b\x2d-\x3c\x3e-\x7f]|=2C|=3D)+"
_MESSAGE: Final = re.compile(
    rb"n,(?:a=(?P<authorization>" + _NAME + rb"))?,\x01"
    rb"(?P<pairs>(?:[A-Za-z]+=[\x21-\x7e \t\r\n]+\x01)*)\x01"
)
_ACKNOWLEDGEMENT: Final = b"\x01"
_AUTH: Final = re.compile(r"(?P<scheme>\w+) +(?P<token>[-\w~+/.]+=*)", re.ASCII)
_SCHEME: Final = "bearer"


class OauthServer:
    """Exchange of one token. verify: returns who presents it. Raises InvalidTokenError."""

    def __init__(self, verify: Callable[[str], VerifiedToken]) -> None:
        self.user: str | None = None
        self.by_token = False  # of another kind
        self.expires_ms: int | None = None
        self._verify = verify
        self._failure: str | None = None

    def evaluate(self, token: bytes) -> bytes:
        """See `ServerExchange.evaluate`."""
        if self._failure is not None and token == _ACKNOWLEDGEMENT:
            raise AuthenticationError(self._failure, answer=_INVALID.decode())
        match = _MESSAGE.fullmatch(token)
        if match is None:
            raise AuthenticationError("Invalid OAUTHBEARER client first message")
        pairs = dict(pair.split(b"=", 1) for pair in match["pairs"].split(_KVSEP) if pair)
        auth = _AUTH.fullmatch(pairs.get(b"auth", b"").decode("ascii"))
        if auth is None or auth["scheme"].lower() != _SCHEME:
            raise AuthenticationError("Invalid OAUTHBEARER client first message: 'auth' not given")
        try:
            verified = self._verify(auth["token"])
        except InvalidTokenError as error:
            self._failure = f"invalid token: {error}"
            return _INVALID
        authorization = match["authorization"]
        if authorization and _unescaped(authorization) != verified.principal:
            # The client knows both names. The log gets none.
            names = f" ({_unescaped(authorization)})", f" ({verified.principal})"
            raise AuthenticationError(_other_name("", ""), answer=_other_name(*names))
        self.user, self.expires_ms = verified.principal, verified.expires_ms
        return b""


def _other_name(authorization: str, principal: str) -> str:
    return (
        f"Authentication failed: Client requested an authorization id{authorization} that is"
        f" different from the token's principal name{principal}"
    )


def _unescaped(name: bytes) -> str:
    return name.decode("ascii").replace("=2C", ",").replace("=3D", "=")
