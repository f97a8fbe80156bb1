"""Requests in flight as facts: where each is, for how long, and the chain of its waits."""

from collections.abc import Callable, Iterable
from typing import Final

import trio

from trio_kafka.introspect.facts.requests import RequestFacts
from trio_kafka.introspect.snapshots import HOPS
from trio_kafka.introspect.stamps import Stamps
from trio_kafka.network.connection import Connection
from trio_kafka.network.inflight import Stage, requests_of, stage_of
from trio_kafka.network.plane import Plane
from trio_kafka.network.request import Request
from trio_kafka.requests.connection_waits import connection_id
from trio_kafka.requests.controller_waits import controller_waits
from trio_kafka.requests.descriptions import LONGEST
from trio_kafka.requests.handler_waits import busy_handlers
from trio_kafka.requests.parts import Parts
from trio_kafka.requests.request_waits import RequestWaits
from trio_kafka.scheduling.chunked_work import Steps

_A_STEP: Final = 32  # requests, or connections, in one step
_NOT_BEGUN: Final = frozenset({Stage.QUEUED, Stage.ROOM})
RequestFilter = Callable[[Stamps, str], bool]
"""Returns whether a request with that client id is wanted."""


def read_request_facts(
    parts: Parts, is_wanted: RequestFilter, limit: int
) -> Steps[list[RequestFacts]]:
    """Return facts of at most `limit` requests in flight, by plane and connection, in steps."""
    facts: list[RequestFacts] = []
    for plane in parts.planes:
        waits = request_waits(parts, plane)
        for number, (processor, connection) in enumerate(_connections(parts, plane)):
            for request in requests_of(connection):
                if not is_wanted(request.stamps, request.client_id):
                    continue
                if len(facts) >= limit:
                    return facts
                facts.append(request_facts(plane, processor, request, waits))
            if not number % _A_STEP:
                yield
    return facts


def request_waits(parts: Parts, plane: Plane) -> RequestWaits:
    """Return the waits of a plane's requests, with what its handlers do now."""
    return RequestWaits(busy_handlers(plane), lambda now: controller_waits(parts, now))


def request_facts(
    plane: Plane, processor: str, request: Request, waits: RequestWaits
) -> RequestFacts:
    """Return the facts of one request. processor: its name; empty: it is from within."""
    stamps, stage, elapsed = request.stamps, stage_of(request), plane.request_metrics.elapsed()
    port = request.connection
    return RequestFacts(
        plane=plane.name,
        processor=processor,
        connection=connection_id(port) if processor else None,
        correlation=request.correlation,
        client_id=request.client_id[:LONGEST],
        software=" ".join(port.software or ())[:LONGEST],
        principal=str(port.principal)[:LONGEST],
        api=plane.request_metrics.name_of(stamps.key),
        version=stamps.version,
        stage=stage.value,
        age_s=elapsed - stamps.received,
        hops_s=hop_times(stamps, stage, elapsed),
        why=waits.of(request, trio.current_time()),
        peer=str(port.peer),
        listener=port.origin.listener,
        request_bytes=stamps.request_bytes,
    )


def hop_times(stamps: Stamps, stage: Stage, now: float) -> dict[str, float]:
    """Return the seconds in each hop that a request has passed or is in, in order.

    now: on the clock of the stamps.
    """
    begun = 0.0 if stage in _NOT_BEGUN else stamps.begun
    marks = (stamps.received, begun, stamps.handled, stamps.answered, stamps.sending)
    hops: dict[str, float] = {}
    for number, (hop, start) in enumerate(zip(HOPS, marks, strict=True)):
        if not start:
            break
        ends = next((mark for mark in marks[number + 1 :] if mark), 0.0)
        hops[hop] = max((ends or stamps.sent or now) - start, 0.0)
    return hops


def _connections(parts: Parts, plane: Plane) -> Iterable[tuple[str, Connection]]:
    """Yield each connection of a plane with the name of its processor.

    Requests from within have none, and belong to the first plane. Connections that are added
    meanwhile may be left out.
    """
    for processor in plane.processors:
        for connection in tuple(processor.connections.values()):
            yield processor.name, connection
    if plane is parts.planes[0]:
        for connection in tuple(parts.in_process.connections.values()):
            yield "", connection
