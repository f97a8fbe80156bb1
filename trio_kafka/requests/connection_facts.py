"""Connections as facts: their clients, what they have not read, and why they are not read from."""

from typing import Final

import trio

from trio_kafka.introspect.facts.connections import ConnectionFacts
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
    plane: Plane, processor: Processor, connection: Connection, waits: ConnectionWaits
) -> ConnectionFacts:
    """Return the facts of one connection."""
    now, slot = waits.now, connection.slot
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
        received_bytes=None,
        sent_bytes=None,
        waits=waits.of(connection),
    )
