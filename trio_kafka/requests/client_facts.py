"""Clients as facts: their open connections together, and those that were closed lately."""

from collections.abc import Callable, Iterator
from typing import Final

import trio
from attrs import field

from trio_kafka.attributes import define
from trio_kafka.introspect.facts.clients import ClientFacts, ClosedConnectionFacts
from trio_kafka.introspect.facts.connections import ConnectionFacts
from trio_kafka.network.closed_connections import ClosedConnection
from trio_kafka.network.connection import Connection
from trio_kafka.network.inflight import requests_of
from trio_kafka.network.reasons import BUSY
from trio_kafka.requests.connection_facts import connection_facts, connection_waits
from trio_kafka.requests.connection_waits import connection_id
from trio_kafka.requests.descriptions import LONGEST
from trio_kafka.requests.parts import Parts
from trio_kafka.scheduling.chunked_work import Steps

_A_STEP: Final = 128  # connections in one step: 0.2 ms
_NAMES: Final = 4  # of software and hosts of one client


@define(eq=False)
class _Count:
    """Sums over the connections of one client id."""

    connections: int = 0
    requests: int = 0
    in_flight: int = 0
    muted: int = 0
    unsent_bytes: int = 0
    software: dict[str, None] = field(factory=dict)
    hosts: dict[str, None] = field(factory=dict)

    def add(self, connection: Connection) -> None:
        self.connections += 1
        self.requests += connection.requests
        self.in_flight += len(requests_of(connection))
        self.muted += bool(connection.muted & ~BUSY)
        self.unsent_bytes += connection.unsent_bytes
        if len(self.hosts) < _NAMES:
            self.hosts[connection.peer.host] = None
        if connection.software is not None and len(self.software) < _NAMES:
            self.software[" ".join(connection.software)[:LONGEST]] = None

    def facts(self, client_id: str) -> ClientFacts:
        return ClientFacts(
            client_id=client_id,
            connections=self.connections,
            software=tuple(self.software),
            hosts=tuple(self.hosts),
            requests=self.requests,
            in_flight=self.in_flight,
            muted=self.muted,
            unsent_bytes=self.unsent_bytes,
        )


def read_clients(parts: Parts) -> Steps[list[ClientFacts]]:
    """Return the clients with open connections: those with muted connections first, then those
    with the most unsent bytes, then with the most connections. Their groups are not known here.
    """
    counts = dict[str, _Count]()
    for number, connection in enumerate(_connections(parts), 1):
        client_id = connection.latest_client_id[:LONGEST]
        count = counts.get(client_id)
        if count is None:
            count = counts[client_id] = _Count()
        count.add(connection)
        if not number % _A_STEP:
            yield
    yield
    clients = [count.facts(client_id) for client_id, count in counts.items()]
    clients.sort(key=_trouble)
    return clients


def _trouble(client: ClientFacts) -> tuple[int, int, int, str]:
    return -client.muted, -client.unsent_bytes, -client.connections, client.client_id


def read_client_connections(
    parts: Parts, is_searched: Callable[[str, str], bool], limit: int
) -> Steps[list[tuple[ConnectionFacts, int]]]:
    """Return facts of at most `limit` open connections, each with its number of requests.

    is_searched: of the id of a connection and its client id.
    """
    facts: list[tuple[ConnectionFacts, int]] = []
    number = 0
    for plane in parts.planes:
        waits = connection_waits(parts, plane)
        for processor in plane.processors:
            for connection in tuple(processor.connections.values()):
                number += 1
                if not number % _A_STEP:
                    yield
                client_id = connection.latest_client_id[:LONGEST]
                if connection.closed or not is_searched(connection_id(connection), client_id):
                    continue
                if len(facts) >= limit:
                    return facts
                row = connection_facts(plane, processor, connection, waits, is_counted=True)
                facts.append((row, connection.requests))
        yield
    return facts


def read_closed_connections(
    parts: Parts, is_searched: Callable[[str, str], bool], limit: int
) -> list[ClosedConnectionFacts]:
    """Return the connections that were closed last, at most `limit`, the newest first.

    Each processor remembers a few. is_searched: as in `read_client_connections`.
    """
    now = trio.current_time()
    closed = [_closed(connection, now) for connection in _closed_connections(parts)]
    chosen = [facts for facts in closed if is_searched(facts.id, facts.client_id)]
    return sorted(chosen, key=lambda facts: facts.ago_s)[:limit]


def _connections(parts: Parts) -> Iterator[Connection]:
    for plane in parts.planes:
        for processor in plane.processors:
            for connection in tuple(processor.connections.values()):
                if not connection.closed:
                    yield connection


def _closed_connections(parts: Parts) -> Iterator[ClosedConnection]:
    for plane in parts.planes:
        for processor in plane.processors:
            yield from processor.table.recently_closed


def _closed(connection: ClosedConnection, now: float) -> ClosedConnectionFacts:
    origin, since = connection.origin, connection.since
    return ClosedConnectionFacts(
        id=f"{origin.local}-{origin.peer}-{origin.number}",
        listener=origin.listener,
        host=origin.peer.host,
        client_id=connection.client_id,
        software=" ".join(origin.software or ())[:LONGEST],
        reason=connection.reason,
        detail=connection.detail,
        age_s=None if since is None else max(connection.at - since, 0.0),
        ago_s=max(now - connection.at, 0.0),
        requests=connection.requests,
    )
