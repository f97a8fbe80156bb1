"""Requests as a viewer of the broker sees them: those in hand, the latest, the slowest.

A look is no single moment: it is taken in steps, and what goes meanwhile may be left out. Filters
apply before the bound, so a bounded look holds the first requests of all that match.
"""

import heapq
from collections.abc import Callable, Iterable
from enum import IntEnum
from typing import Final

from trio_kafka.attributes import frozen
from trio_kafka.introspect.stamps import Stamps
from trio_kafka.network.inflight import ConnectionOwners, requests_in_flight, stage_of, wait_of
from trio_kafka.network.plane import Plane
from trio_kafka.requests.loopback.in_process import InProcess
from trio_kafka.scheduling.chunked_work import Steps

MOST: Final = 5000  # of one look
_A_STEP: Final = 64  # connections, or requests

Wanted = Callable[[Stamps, str], bool]
"""Whether a request, of that client id, is to be seen."""


class Which(IntEnum):
    """Which requests."""

    IN_HAND = 0
    LATEST = 1
    SLOWEST = 2


@frozen(kw_only=True)
class Seen:
    """One request. stage, waits_for: empty when it is over."""

    plane: str
    api: str
    stamps: Stamps
    client_id: str
    now: float  # a reading of `elapsed`
    stage: str = ""
    waits_for: str = ""


def look(
    planes: Iterable[Plane],
    which: Which,
    wanted: Wanted,
    most: int = MOST,
    inside: InProcess | None = None,
) -> Steps[tuple[list[Seen], bool]]:
    """The requests, at most `most`, and whether there were more. Looks at no frame.

    LATEST: the newest first; SLOWEST: the slowest first, over all planes and APIs; IN_HAND: by
    plane and connection.
    inside: requests from within the broker, shown with the first of the planes.
    """
    if which is Which.IN_HAND:
        return (yield from _look_in_hand(planes, wanted, most, inside))
    return (yield from _look_over(planes, which, wanted, most))


def _look_in_hand(
    planes: Iterable[Plane], wanted: Wanted, most: int, inside: InProcess | None
) -> Steps[tuple[list[Seen], bool]]:
    seen: list[Seen] = []
    for at, plane in enumerate(planes):
        for number, one in enumerate(_in_hand(plane, wanted, None if at else inside)):
            if one is not None:
                if len(seen) >= most:
                    return seen, True
                seen.append(one)
            if not number % _A_STEP:
                yield
    return seen, False


def _look_over(
    planes: Iterable[Plane], which: Which, wanted: Wanted, most: int
) -> Steps[tuple[list[Seen], bool]]:
    """Keep the `most` largest in a heap: the requests come API by API."""
    rank = _newness if which is Which.LATEST else _slowness
    heap: list[tuple[float, int, Seen]] = []
    matched = number = 0
    for plane in planes:
        for one in _over(plane, which, wanted):
            if one is not None:
                matched += 1
                entry = (rank(one.stamps), -matched, one)
                if len(heap) < most:
                    heapq.heappush(heap, entry)
                elif heap:
                    heapq.heappushpop(heap, entry)
            if not number % _A_STEP:
                yield
            number += 1
    yield
    return [one for _, _, one in sorted(heap, reverse=True)], matched > most


def _newness(stamps: Stamps) -> float:
    return stamps.sent


def _slowness(stamps: Stamps) -> float:
    return stamps.sent - stamps.received


def _in_hand(plane: Plane, wanted: Wanted, inside: InProcess | None) -> Iterable[Seen | None]:
    owners: list[ConnectionOwners] = [*plane.processors]
    if inside is not None:
        owners.append(inside)
    for request in requests_in_flight(owners):
        if request is None or not wanted(request.stamps, request.client_id):
            yield None
            continue
        yield Seen(
            plane=plane.name,
            api=plane.request_metrics.name_of(request.key),
            stamps=request.stamps,
            client_id=request.client_id,
            now=plane.request_metrics.elapsed(),
            stage=stage_of(request).value,
            waits_for=wait_of(request),
        )


def _over(plane: Plane, which: Which, wanted: Wanted) -> Iterable[Seen | None]:
    times = plane.request_metrics
    for stamps in times.latest() if which is Which.LATEST else times.slowest():
        if not wanted(stamps, stamps.client_id):
            yield None
            continue
        yield Seen(
            plane=plane.name,
            api=times.name_of(stamps.key),
            stamps=stamps,
            client_id=stamps.client_id,
            now=times.elapsed(),
        )
