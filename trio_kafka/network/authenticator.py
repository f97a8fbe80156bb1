"""Authenticator: decides what becomes of each frame until a connection may ask anything.

Without I/O and without a clock. A connection of a listener without authentication has none.
"""

from typing import Final, Protocol

from trio_kafka.attributes import frozen
from trio_kafka.security.principal import Principal
from trio_kafka.wire.frame import Frame


@frozen(kw_only=True)
class Step:
    """Decision about a frame.

    passes: it is a request like any other. answer: bytes to send.
    principal: set when the client is authenticated.
    is_last: the connection needs no authenticator from now on.
    knows_sessions: the client learns of the end of its session, so that it can renew it.
    renewal_s: time that a renewal took; None: it is none.
    failure: reason for the log, without credentials: after a delay the answer is sent, if there is
        one, and the connection is closed.
    is_expired: the session has ended; the connection is closed without an answer.
    """

    passes: bool = False
    answer: bytes | None = None
    principal: Principal | None = None
    is_last: bool = False
    knows_sessions: bool = False
    renewal_s: float | None = None
    failure: str | None = None
    is_expired: bool = False


PASS: Final = Step(passes=True)


class Authenticator(Protocol):
    """Authenticator of one connection. mechanism: for the log; None: not chosen yet.

    is_renewing: the client is authenticated, and proves again that it is.
    is_logging_in: the next frame is one of a login, the first one or a renewal.
    """

    mechanism: str | None
    is_renewing: bool

    @property
    def is_logging_in(self) -> bool: ...

    def take(self, frame: Frame, now: float) -> Step:
        """Take a frame, which is valid until the call returns.

        now: of a clock that never goes back, in seconds.
        Raises ProtocolError for a frame that ends the connection at once.
        """
