"""Requests in flight: where each of them is.

Nothing is recorded for this: connections are inspected when asked. A request that its reader serves
within one share of the loop budget is never seen, as no other task runs meanwhile.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import Enum
from typing import Protocol

from trio_kafka.network.connection import Connection
from trio_kafka.network.reasons import MuteReason
from trio_kafka.network.request import IN_QUEUE, IN_STEPS, Request


class Stage(Enum):
    """Stage of a request in flight."""

    ROOM = "waits for room"  # the request channel is full
    QUEUED = "queued"  # neither a handler nor the reader serves it yet
    HANDLER = "handler"
    PARKED = "parked"
    SENDING = "sending"  # answered; the socket has not taken all of the answer


class ConnectionOwners(Protocol):
    """A processor, or the owner of requests from within."""

    @property
    def connections(self) -> Mapping[int, Connection]: ...


def requests_in_flight(owners: Iterable[ConnectionOwners]) -> Iterator[Request | None]:
    """Yield each request in flight, and None for each connection without one, to pause at.

    Connections that are added meanwhile may be left out.
    """
    for owner in tuple(owners):
        for connection in tuple(owner.connections.values()):
            requests = requests_of(connection)
            yield from requests or (None,)


def requests_of(connection: Connection) -> Sequence[Request]:
    """Return the requests in flight of one connection, those that are sent first."""
    if connection.request is None and connection.out is None and not connection.answers:
        return ()  # as nearly all, nearly always
    if connection.closed:
        return ()
    requests = [] if connection.out is None else list(connection.out.requests)
    requests += [request for request, _ in connection.answers or ()]
    if connection.request is not None:
        requests.append(connection.request)
    return requests


def stage_of(request: Request) -> Stage:
    """Return where a request in flight is."""
    if request.stamps.answered:
        return Stage.SENDING
    if request.waits_for is IN_QUEUE:
        full = request.connection.muted & MuteReason.CHANNEL_FULL
        return Stage.ROOM if full else Stage.QUEUED
    parked = request.waits_for is not None and request.waits_for is not IN_STEPS
    return Stage.PARKED if parked else Stage.HANDLER
