"""The requests that are in hand now: where each of them is, and what it waits for.

Nothing is kept for it beside what serving needs: connections are looked at when somebody asks. A
request that its reader serves in the same turn is never seen, as nobody else runs meanwhile.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import Enum
from itertools import islice
from typing import Final, Protocol

from trio_kafka.network import connection_events as events
from trio_kafka.network.connection import Connection
from trio_kafka.network.request import IN_QUEUE, IN_STEPS, Request
from trio_kafka.purgatory import Delayed

_NAMED: Final = 4  # keys of what is waited for


class Stage(Enum):
    """Where a request is."""

    ROOM = "waits for room"  # the request channel is full
    QUEUED = "queued"  # no handler has it yet, nor has the reader begun to serve it
    HANDLER = "handler"
    PARKED = "parked"
    SENDING = "sending"  # answered; the socket has not taken it all


class Connected(Protocol):
    """Who has connections: a processor, or what asks from within."""

    @property
    def connections(self) -> Mapping[int, Connection]: ...


def requests_in_hand(owners: Iterable[Connected]) -> Iterator[Request | None]:
    """Each request in hand; None for each connection that has none, so that who walks can pause.

    Connections that come meanwhile may be left out.
    """
    for owner in tuple(owners):
        for connection in tuple(owner.connections.values()):
            found = of_connection(connection)
            yield from found or (None,)


def of_connection(connection: Connection) -> Sequence[Request]:
    """What is in hand of one connection: those that are sent first."""
    if connection.closed:
        return ()
    found = [] if connection.out is None else list(connection.out.requests)
    found += [request for request, _ in connection.answers or ()]
    if connection.request is not None:
        found.append(connection.request)
    return found


def stage_of(request: Request) -> Stage:
    """Where a request of `requests_in_hand` is."""
    if request.stamps.answered:
        return Stage.SENDING
    if request.waits_for is IN_QUEUE:
        full = request.connection.muted & events.CHANNEL_FULL
        return Stage.ROOM if full else Stage.QUEUED
    parked = request.waits_for is not None and request.waits_for is not IN_STEPS
    return Stage.PARKED if parked else Stage.HANDLER


def wait_of(request: Request) -> str:
    """What a request waits for: the purgatory and its first keys, the function; or nothing."""
    waits_for = request.waits_for
    if waits_for is None:
        return ""
    if isinstance(waits_for, str):
        return waits_for
    if not isinstance(waits_for, Delayed):
        return str(getattr(waits_for, "__qualname__", type(waits_for).__name__))
    keys = ", ".join(_name_of(key) for key in islice(waits_for.keys, _NAMED))
    more = len(waits_for.keys) - _NAMED
    rest = f" and {more} more" if more > 0 else ""
    return f"{waits_for.purgatory.name}: {keys}{rest}"


def _name_of(key: object) -> str:
    """A partition by its name; of what has none, what it is."""
    return str(getattr(key, "at", type(key).__name__))
