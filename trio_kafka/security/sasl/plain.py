"""PLAIN: user name and password as they are, so only for encrypted connections.

Source: RFC 4616; PlainSaslServer of Apache Kafka 4.4.0 for the errors.
"""

import hmac
from collections.abc import Generator, Mapping
from typing import Final

from trio_kafka.security.sasl.errors import AuthenticationError

PLAIN: Final = "PLAIN"
_PARTS: Final = 3


class PlainServer:
    """Exchange of one message. passwords: by user name."""

    def __init__(self, passwords: Mapping[str, str]) -> None:
        self.user: str | None = None
        self.by_token = False
        self.expires_ms: int | None = None
        self._passwords = passwords

    def evaluate(self, token: bytes) -> bytes:
        """Check a name and a password. Raises AuthenticationError."""
        parts = token.split(b"\0", _PARTS)
        if len(parts) != _PARTS:
            raise _error(f"Invalid SASL/PLAIN response: expected 3 tokens, got {len(parts)}")
        authorization_id, name, password = parts
        if not name:
            raise _error("Authentication failed: username not specified")
        if not password:
            raise _error("Authentication failed: password not specified")
        user = name.decode("utf-8", errors="replace")
        expected = self._passwords.get(user)
        # An unknown user takes as long as a wrong password.
        matches = hmac.compare_digest((expected or "").encode(), password)
        if expected is None or not matches:
            raise _error("Authentication failed: Invalid username or password")
        if authorization_id not in (b"", name):
            raise _error(
                "Authentication failed: Client requested an authorization id that is different"
                " from username"
            )
        self.user = user
        return b""


def plain(username: str, password: str) -> Generator[bytes, bytes, None]:
    """Yield the one message of a client.

    Raises ValueError for a name or password that is empty or has a NUL.
    """
    if not username or not password or "\0" in username + password:
        raise ValueError("username and password may be neither empty nor hold a NUL")
    yield f"\0{username}\0{password}".encode()


def _error(reason: str) -> AuthenticationError:
    return AuthenticationError(reason, is_public=True)
