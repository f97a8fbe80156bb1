"""Reasons to mute and to close a connection."""

from enum import IntEnum, StrEnum
from functools import cache
from typing import Final


class MuteReason(IntEnum):
    """Reason to read nothing from a connection.

    A connection keeps its reasons as bits of one int, and is muted while that is not 0. IntEnum and
    not IntFlag: the flags of Python 3.11 take ten times as long to combine.
    """

    IN_FLIGHT = 1  # one request at a time is in flight
    CHANNEL_FULL = 2  # the request waits for room in the request channel
    THROTTLED = 4
    MEMORY = 8  # the next request waits for memory
    DRAINING = 16
    UNAUTHENTICATED = 32  # its authentication has failed, and it is closed after a delay
    SENDING = 64  # the socket has not taken all answers


# For code that runs for each request: in Python 3.11 a member costs ten times as much by its class.
IN_FLIGHT: Final = MuteReason.IN_FLIGHT
SENDING: Final = MuteReason.SENDING
BUSY: Final = IN_FLIGHT | SENDING


class CloseReason(StrEnum):
    """Reason why a connection was closed; a label of the counter `connections_closed`."""

    LEFT = "left"  # the peer ended the stream in order
    GONE = "gone"  # reset, or an error of the socket
    IDLE = "idle"  # no progress for connections.max.idle.ms
    EXCEEDED = "max connections"  # evicted, as there are more connections than allowed
    BAD_FRAME = "bad frame"  # a frame size that is never read
    UNKNOWN_API = "unknown api"  # key or version
    UNDECODABLE = "undecodable"
    NO_ERROR_ANSWER = "no error answer"  # the request failed and its API has no error field
    UNAUTHENTICATED = "unauthenticated"  # it did not prove who it is
    EXPIRED = "session expired"  # it did not authenticate again in time
    FORBIDDEN = "forbidden"  # the handler raised ProtocolError
    TRUNCATED = "truncated"  # an answer became shorter when its length was sent already
    DRAINED = "drained"
    STOPPED = "stopped"


@cache
def mute_reasons_text(muted: int) -> str:
    """Return the mute reasons in `muted` as words; empty for 0."""
    return ", ".join(
        reason.name.lower().replace("_", " ") for reason in MuteReason if muted & reason
    )
