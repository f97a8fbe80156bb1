"""Connections as facts: their clients, what they have not read, and why they are not read from."""

from typing import Final

import trio

from trio_kafka.introspect.facts.connections import ConnectionFacts, ConnectionSearch
from trio_kafka.network.connection import Connection
from trio_kafka.network.inflight import requests_of
from trio_kafka.network.plane import Plane
from trio_kafka.network.processor import Processor
from trio_kafka.requests.connection_waits import ConnectionWaits, connection_id
from trio_kafka.requests.descriptions import LONGEST
from trio_kafka.requests.handler_waits import busy_handlers
from trio_kafka.requests.parts import Parts
from trio_kafka.requests.request_facts import request_waits
from trio_kafka.scheduling.chunked_work import Steps

_A_STEP: Final = 32  # connections in one step
_LOOKED_AT: Final = 128  # connections in one step of a search that does not find them


def read_connection_facts(parts: Parts, limit: int) -> Steps[list[ConnectionFacts]]:
    """Return facts of at most `limit` open connections, by plane and processor, in steps.

    Connections that are added meanwhile may be left out.
    """
    facts: list[ConnectionFacts] = []
    for plane in parts.planes:
        waits = connection_waits(parts, plane)
        for processor in plane.processors:
            for connection in tuple(processor.connections.values()):
                if connection.closed:
                    continue
                if len(facts) >= limit:
                    return facts
                facts.append(connection_facts(plane, processor, connection, waits))
                if not len(facts) % _A_STEP:
                    yield
        yield
    return facts


def search_connections(parts: Parts, text: str, limit: int) -> Steps[ConnectionSearch]:
    """Return the open connections of which id, client id, software, listener or plane contains a
    text, in whatever case; facts, with the bytes received and sent, of the first `limit`.
    """
    searched = text.lower()
    facts = list[ConnectionFacts]()
    total = number = 0
    for plane in parts.planes:
        waits = connection_waits(parts, plane)
        for processor in plane.processors:
            for connection in tuple(processor.connections.values()):
                number += 1
                if not number % _LOOKED_AT:
                    yield
                if connection.closed or (searched and searched not in _texts(plane, connection)):
                    continue
                total += 1
                if len(facts) < limit:
                    facts.append(
                        connection_facts(plane, processor, connection, waits, is_counted=True)
                    )
                    if not len(facts) % _A_STEP:
                        yield
        yield
    return ConnectionSearch(tuple(facts), total)


def _texts(plane: Plane, connection: Connection) -> str:
    """Return what a search looks at."""
    software = " ".join(connection.software or ())
    names = (connection_id(connection), connection.latest_client_id, software)
    return "\0".join((*names, connection.origin.listener, plane.name)).lower()


def connection_waits(parts: Parts, plane: Plane) -> ConnectionWaits:
    """Return the waits of a plane's connections at this moment."""
    now, requests = trio.current_time(), request_waits(parts, plane)
    return ConnectionWaits(
        plane=plane.name,
        handlers=busy_handlers(plane),
        memory=plane.memory,
        throttled=parts.quotas.muted(),
        now=now,
        quota_now_ms=parts.quotas.quotas.now_ms(),
        request_waits=lambda request: requests.of(request, now),
    )


def connection_facts(
    plane: Plane,
    processor: Processor,
    connection: Connection,
    waits: ConnectionWaits,
    *,
    is_counted: bool = False,
) -> ConnectionFacts:
    """Return the facts of one connection, which is open. is_counted: with its bytes."""
    now, slot = waits.now, connection.slot
    received, sent = connection.socket.transferred() if is_counted else (None, None)
    idle_s = max(now - connection.progress, 0.0)
    return ConnectionFacts(
        id=connection_id(connection),
        plane=plane.name,
        listener=connection.origin.listener,
        processor=processor.name,
        host=connection.peer.host,
        client_id=connection.latest_client_id[:LONGEST],
        software=" ".join(connection.software or ())[:LONGEST],
        principal=str(connection.principal)[:LONGEST],
        age_s=idle_s if slot is None else max(now - slot.since, 0.0),
        idle_s=idle_s,
        in_flight=len(requests_of(connection)),
        unsent_bytes=connection.unsent_bytes,
        unsent_s=idle_s if connection.out is not None else None,
        received_bytes=received,
        sent_bytes=sent,
        waits=waits.of(connection),
        peer=str(connection.peer),
        requests=connection.requests,
    )
