"""What a processor's response channel carries, why connections are muted, and why they are
closed.
"""

from functools import cache
from typing import TYPE_CHECKING, Final

from trio_kafka.attributes import define

if TYPE_CHECKING:
    from trio_kafka.network.connection import Connection
    from trio_kafka.network.request import Request
    from trio_kafka.wire.server import Segments

# Reasons to read nothing from a connection: a set, as bits. It is muted while the set is not empty.
IN_HAND: Final = 1  # one request at a time is in hand
CHANNEL_FULL: Final = 2  # its request waits for room in the request channel
THROTTLED: Final = 4
MEMORY: Final = 8
DRAINING: Final = 16
REAUTHENTICATING: Final = 32
SENDING: Final = 64  # its socket has not taken all of its answers
BUSY: Final = IN_HAND | SENDING

# Reasons to close a connection: a closed set, as they are labels of a counter.
LEFT: Final = "left"  # the peer ended the stream in order
GONE: Final = "gone"  # reset, or an error of the socket
IDLE: Final = "idle"  # asked nothing, or took nothing, for connections.max.idle.ms
EXCEEDED: Final = "max connections"  # for the sake of another, or of a limit that was lowered
BAD_FRAME: Final = "bad frame"  # a size that is never read
UNKNOWN_API: Final = "unknown api"  # key or version
UNDECODABLE: Final = "undecodable"
NO_ERROR_ANSWER: Final = "no error answer"  # its request failed, and its API cannot say so
FORBIDDEN: Final = "forbidden"  # its handler ended it: what was asked cannot be answered at all
TRUNCATED: Final = "truncated"  # the file was cut under an answer whose length was promised
DRAINED: Final = "drained"
STOPPED: Final = "stopped"


_WORDS: Final = {
    IN_HAND: "in hand",
    CHANNEL_FULL: "channel full",
    THROTTLED: "throttled",
    MEMORY: "memory",
    DRAINING: "draining",
    REAUTHENTICATING: "re-authenticating",
    SENDING: "sending",
}


@cache
def words_of(muted: int) -> str:
    """A set of these reasons for people; empty if it is."""
    return ", ".join(words for reason, words in _WORDS.items() if muted & reason)


@define(eq=False)
class Send:
    """An answer to send."""

    connection: "Connection"
    request: "Request"
    segments: "Segments"


@define(eq=False)
class NoOp:
    """A request is done and has no answer (acks=0)."""

    connection: "Connection"
    request: "Request"


@define(eq=False)
class StartThrottle:
    """Read nothing from the connection until EndThrottle."""

    connection: "Connection"


@define(eq=False)
class EndThrottle:
    connection: "Connection"


@define(eq=False)
class MemoryGiven:
    """The memory that the connection's next request needs was taken for it."""

    connection: "Connection"


@define(eq=False)
class Flush:
    """Go on with an answer that used up its share of a turn; at most one per connection is
    queued.
    """

    connection: "Connection"


@define(eq=False)
class Close:
    """End the connection; `request`, if given, is done with it and has no answer."""

    connection: "Connection"
    reason: str
    detail: str = ""
    request: "Request | None" = None


def answered_at(item: "Item") -> float | None:
    """When the answer that it carries was made; None for what carries none."""
    return item.request.stamps.answered if isinstance(item, Send | NoOp) else None


Item = Send | NoOp | StartThrottle | EndThrottle | MemoryGiven | Flush | Close
