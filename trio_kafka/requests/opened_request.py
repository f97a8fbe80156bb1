"""One request in detail: its waits, its hops and its decoded fields.

Its frame is decoded only when it is opened, and only while it is small. Records and other bytes are
shown by their size, secrets not at all.
"""

from collections.abc import Iterator
from itertools import chain
from typing import Final

from trio_kafka.errors import ProtocolError
from trio_kafka.introspect.facts.requests import OpenedRequest, RequestFacts
from trio_kafka.introspect.stamps import Origin, Stamps
from trio_kafka.network.connection import Connection
from trio_kafka.network.inflight import Stage, requests_of
from trio_kafka.network.plane import Plane
from trio_kafka.network.request import Request
from trio_kafka.protocol.errors import ManyItemsError
from trio_kafka.requests.chunked_codec import LARGE
from trio_kafka.requests.completions import parked_message
from trio_kafka.requests.connection_waits import origin_id
from trio_kafka.requests.descriptions import LONGEST
from trio_kafka.requests.parts import Parts
from trio_kafka.requests.pool import HandlerGroup
from trio_kafka.requests.request_facts import hop_times, request_facts, request_waits
from trio_kafka.requests.request_log.lines import request_body
from trio_kafka.scheduling.chunked_work import Steps

_A_STEP: Final = 64  # connections, or ended requests, in one step
_STRUCTS: Final = 300  # structs of a request that are shown
_ITEMS: Final = 50  # items of an array that are shown
_NOT_KEPT: Final = "a request that waits keeps no buffer, and its message is with its handler"
_TOO_LARGE: Final = "the request is larger than 64 KiB"
_ENDED: Final = "a request that has ended keeps no fields"


def open_request(parts: Parts, connection: str, correlation: int) -> Steps[OpenedRequest | None]:
    """Return a request in detail, in steps; None: it is unknown.

    connection: id of its connection, as in the request log. A request that has ended lately is
    known, too.
    """
    for plane in parts.planes:
        for number, (processor, candidate) in enumerate(_connections(plane)):
            if not number % _A_STEP:
                yield
            if _is_of(candidate.origin, connection):
                for request in requests_of(candidate):
                    if request.correlation == correlation:
                        return _opened(parts, plane, processor, request)
        metrics = plane.request_metrics
        for number, stamps in enumerate(chain(metrics.latest(), metrics.slowest())):
            if not number % _A_STEP:
                yield
            if stamps.correlation == correlation and _is_of(stamps.origin, connection):
                return _ended(plane, stamps)
    return None


def _connections(plane: Plane) -> Iterator[tuple[str, Connection]]:
    for processor in plane.processors:
        for connection in tuple(processor.connections.values()):
            yield processor.name, connection


def _is_of(origin: Origin, connection: str) -> bool:
    """Return whether this is the origin of a connection. The number is compared first: it is cheap
    to read.
    """
    return connection.endswith(f"-{origin.number}") and origin_id(origin) == connection


def _opened(parts: Parts, plane: Plane, processor: str, request: Request) -> OpenedRequest:
    facts = request_facts(plane, processor, request, request_waits(parts, plane))
    fields, no_fields = _fields_of(plane, request)
    return _detail(request.stamps, facts, None, fields, no_fields)


def _ended(plane: Plane, stamps: Stamps) -> OpenedRequest:
    origin = stamps.origin
    facts = RequestFacts(
        plane=plane.name,
        processor="",
        connection=origin_id(origin),
        correlation=stamps.correlation,
        client_id=stamps.client_id[:LONGEST],
        software=" ".join(origin.software or ())[:LONGEST],
        principal="",
        api=plane.request_metrics.name_of(stamps.key),
        version=stamps.version,
        stage="",
        age_s=stamps.sent - stamps.received,
        hops_s=hop_times(stamps, Stage.SENDING, stamps.sent),
        peer=str(origin.peer),
        listener=origin.listener,
        request_bytes=stamps.request_bytes,
    )
    ended_s = plane.request_metrics.elapsed() - stamps.sent
    return _detail(stamps, facts, ended_s, None, _ENDED)


def _detail(
    stamps: Stamps,
    facts: RequestFacts,
    ended_s: float | None,
    fields: dict[str, object] | None,
    no_fields: str,
) -> OpenedRequest:
    origin = stamps.origin
    return OpenedRequest(
        facts=facts,
        ended_s=ended_s,
        fields=fields,
        no_fields=no_fields,
        total_s=facts.age_s,
        throttled_s=stamps.throttled_s,
        plugin_s=stamps.plugin_s,
        response_bytes=stamps.response_bytes,
        error=stamps.error,
        local=str(origin.local),
        security_protocol=origin.protocol,
    )


def _fields_of(plane: Plane, request: Request) -> tuple[dict[str, object] | None, str]:
    """Return the decoded fields, or None and why there are none."""
    message = parked_message(request) or _decoded(plane, request)
    if message is None:
        is_large = request.stamps.request_bytes > LARGE
        return None, _TOO_LARGE if is_large else _NOT_KEPT
    return request_body(message, request.version, structs=_STRUCTS, items=_ITEMS), ""


def _decoded(plane: Plane, request: Request) -> object | None:
    """Decode the frame of a request that still has it; None if it is large or malformed."""
    frame, handlers = request.frame, plane.handlers
    if frame is None or len(frame) > LARGE or not isinstance(handlers, HandlerGroup):
        return None
    route = handlers.routes[request.code]
    if route is None:
        return None
    try:
        message: object = route.read(request, frame)
    except (ManyItemsError, ProtocolError, UnicodeDecodeError):
        return None
    return message
