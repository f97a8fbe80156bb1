"""Connections that were closed lately, with the reason, for inspection."""

from typing import Final, NamedTuple

from trio_kafka.introspect.stamps import Origin

MOST: Final = 64
"""Closed connections that each processor remembers."""
LONGEST: Final = 256  # characters of a client id or a detail


class ClosedConnection(NamedTuple):
    """A connection that was closed. A tuple: each connection makes one when it ends.

    since, at: `trio.current_time()` when it was opened, None: unknown, and when it was closed.
    """

    origin: Origin
    client_id: str
    reason: str
    detail: str
    since: float | None
    at: float
    requests: int
