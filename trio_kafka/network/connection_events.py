"""Events of a processor's response channel: answers, and all that changes a connection in order."""

from trio_kafka.attributes import define
from trio_kafka.network.connection import Connection
from trio_kafka.network.reasons import CloseReason, MuteReason
from trio_kafka.network.request import Request
from trio_kafka.wire.server import Segments


@define(eq=False)
class SendAnswer:
    """Send the answer of a request."""

    connection: Connection
    request: Request
    segments: Segments


@define(eq=False)
class NoAnswer:
    """End a request that has no answer (acks=0)."""

    connection: Connection
    request: Request


@define(eq=False)
class Mute:
    """Add a mute reason."""

    connection: Connection
    reason: MuteReason


@define(eq=False)
class Unmute:
    """Remove a mute reason."""

    connection: Connection
    reason: MuteReason


@define(eq=False)
class ContinueSending:
    """Continue an answer that used up its share of file bytes; at most one a connection."""

    connection: Connection


@define(eq=False)
class CloseConnection:
    """Close the connection; `request`, if given, ends without an answer."""

    connection: Connection
    reason: CloseReason
    detail: str = ""
    request: Request | None = None


ConnectionEvent = SendAnswer | NoAnswer | Mute | Unmute | ContinueSending | CloseConnection


def answered_at(event: ConnectionEvent) -> float | None:
    """Return when the answer of the event was made; None if it carries none."""
    return event.request.stamps.answered if isinstance(event, SendAnswer | NoAnswer) else None
