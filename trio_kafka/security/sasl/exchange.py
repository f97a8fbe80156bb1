"""The server's side of an exchange: tokens of a client in, challenges out, a user at the end."""

from collections.abc import Callable
from typing import Protocol

from attrs import field

from trio_kafka.attributes import frozen


class ServerExchange(Protocol):
    """One exchange with one client. user: None until the client is authenticated.

    by_token: the client presents a delegation token, and the user is its owner.
    expires_ms: wall-clock time at which the credential ends; None: never.
    """

    user: str | None
    by_token: bool
    expires_ms: int | None

    def evaluate(self, token: bytes) -> bytes:
        """Return the answer to a token of the client; empty if there is none.

        Raises AuthenticationError, after which the exchange must not be used.
        """


@frozen(kw_only=True)
class ServerMechanism:
    """A mechanism that a listener offers.

    begin: makes an exchange. longest_session_ms: `connections.max.reauth.ms`; 0: unlimited.
    """

    name: str
    begin: Callable[[], ServerExchange] = field(repr=False)  # it knows passwords
    longest_session_ms: int = 0
