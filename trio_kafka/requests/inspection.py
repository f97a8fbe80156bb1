"""Inspection of a broker's requests: those in flight, the latest, and the slowest.

An inspection runs in steps, so requests that end meanwhile may be left out. The filter applies
before the limit: the result holds the first of all requests that match.
"""

import heapq
from collections.abc import Callable, Iterable
from enum import IntEnum
from typing import Final

import trio

from trio_kafka.attributes import frozen
from trio_kafka.introspect.stamps import Stamps
from trio_kafka.network.inflight import ConnectionOwners, requests_in_flight, stage_of
from trio_kafka.network.plane import Plane
from trio_kafka.requests.handler_waits import busy_handlers
from trio_kafka.requests.loopback import InProcessClient
from trio_kafka.requests.request_waits import RequestWaits, no_more_waits, wait_words
from trio_kafka.scheduling.chunked_work import Steps

MAX_REQUESTS: Final = 5000  # of one inspection
_PER_STEP: Final = 64  # connections, or requests

RequestFilter = Callable[[Stamps, str], bool]
"""Returns whether a request with that client id is wanted."""


class Selection(IntEnum):
    """Selection of requests."""

    IN_FLIGHT = 0
    LATEST = 1
    SLOWEST = 2


@frozen(kw_only=True)
class InspectedRequest:
    """One request.

    now: time of the inspection on the clock of the stamps.
    stage, waits_for: empty if the request has ended.
    """

    plane: str
    api: str
    stamps: Stamps
    client_id: str
    now: float
    stage: str = ""
    waits_for: str = ""


def inspect_requests(
    planes: Iterable[Plane],
    selection: Selection,
    is_wanted: RequestFilter,
    limit: int = MAX_REQUESTS,
    in_process: InProcessClient | None = None,
) -> Steps[tuple[list[InspectedRequest], bool]]:
    """Return at most `limit` requests, and whether there are more. Reads no frame.

    LATEST is sorted from the newest, SLOWEST from the slowest, over all planes and APIs. IN_FLIGHT
    is sorted by plane and connection.
    in_process: requests from within the broker, shown with the first plane.
    """
    if selection is Selection.IN_FLIGHT:
        return (yield from _inspect_in_flight(planes, is_wanted, limit, in_process))
    return (yield from _inspect_ended(planes, selection, is_wanted, limit))


def _inspect_in_flight(
    planes: Iterable[Plane],
    is_wanted: RequestFilter,
    limit: int,
    in_process: InProcessClient | None,
) -> Steps[tuple[list[InspectedRequest], bool]]:
    inspected: list[InspectedRequest] = []
    for at, plane in enumerate(planes):
        requests = _in_flight(plane, is_wanted, None if at else in_process)
        for number, request in enumerate(requests):
            if request is not None:
                if len(inspected) >= limit:
                    return inspected, True
                inspected.append(request)
            if not number % _PER_STEP:
                yield
    return inspected, False


def _inspect_ended(
    planes: Iterable[Plane], selection: Selection, is_wanted: RequestFilter, limit: int
) -> Steps[tuple[list[InspectedRequest], bool]]:
    """Keep the `limit` largest in a heap, because the requests come API by API."""
    is_latest = selection is Selection.LATEST
    heap: list[tuple[float, int, InspectedRequest]] = []
    matched = number = 0
    for plane in planes:
        for request in _ended(plane, selection, is_wanted):
            if request is not None:
                matched += 1
                ended, received = request.stamps.sent, request.stamps.received
                entry = (ended if is_latest else ended - received, -matched, request)
                if len(heap) < limit:
                    heapq.heappush(heap, entry)
                elif heap:
                    heapq.heappushpop(heap, entry)
            if not number % _PER_STEP:
                yield
            number += 1
    yield
    return [request for _, _, request in sorted(heap, reverse=True)], matched > limit


def _in_flight(
    plane: Plane, is_wanted: RequestFilter, in_process: InProcessClient | None
) -> Iterable[InspectedRequest | None]:
    """Yield each wanted request, and None for each other, to pause at."""
    owners: list[ConnectionOwners] = [*plane.processors]
    if in_process is not None:
        owners.append(in_process)
    waits, now = RequestWaits(busy_handlers(plane), no_more_waits), trio.current_time()
    for request in requests_in_flight(owners):
        if request is None or not is_wanted(request.stamps, request.client_id):
            yield None
        else:
            stage, waits_for = stage_of(request).value, wait_words(waits.of(request, now))
            yield _inspected(plane, request.stamps, request.client_id, stage, waits_for)


def _ended(
    plane: Plane, selection: Selection, is_wanted: RequestFilter
) -> Iterable[InspectedRequest | None]:
    """Yield each wanted request, and None for each other, to pause at."""
    times = plane.request_metrics
    for stamps in times.latest() if selection is Selection.LATEST else times.slowest():
        is_shown = is_wanted(stamps, stamps.client_id)
        yield _inspected(plane, stamps, stamps.client_id) if is_shown else None


def _inspected(
    plane: Plane, stamps: Stamps, client_id: str, stage: str = "", waits_for: str = ""
) -> InspectedRequest:
    times = plane.request_metrics
    return InspectedRequest(
        plane=plane.name,
        api=times.name_of(stamps.key),
        stamps=stamps,
        client_id=client_id,
        now=times.elapsed(),
        stage=stage,
        waits_for=waits_for,
    )
