"""Requests as somebody who looks inside sees them: those in hand, the latest, the slowest.

A look is no single moment: it is taken in steps, and what goes meanwhile may be left out.
"""

from collections.abc import Callable, Iterable
from enum import IntEnum
from typing import Final

from trio_kafka.attributes import frozen
from trio_kafka.introspect.stamps import Stamps
from trio_kafka.network.in_hand import Connected, requests_in_hand, stage_of, wait_of
from trio_kafka.network.plane import Plane
from trio_kafka.requests.in_process import InProcess
from trio_kafka.steps import Steps

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
    """The requests, at most so many, and whether there were more. Looks at no frame.

    inside: who asks from within, by the first of the planes.
    """
    seen: list[Seen] = []
    for at, plane in enumerate(planes):
        if which is Which.IN_HAND:
            steps = _in_hand(plane, wanted, None if at else inside)
        else:
            steps = _over(plane, which, wanted)
        for number, one in enumerate(steps):
            if one is not None:
                if len(seen) >= most:
                    return seen, True
                seen.append(one)
            if not number % _A_STEP:
                yield
    return seen, False


def _in_hand(plane: Plane, wanted: Wanted, inside: InProcess | None) -> Iterable[Seen | None]:
    owners: list[Connected] = [*plane.processors]
    if inside is not None:
        owners.append(inside)
    for request in requests_in_hand(owners):
        if request is None or not wanted(request.stamps, request.client_id):
            yield None
            continue
        yield Seen(
            plane=plane.name,
            api=plane.times.name_of(request.key),
            stamps=request.stamps,
            client_id=request.client_id,
            now=plane.times.elapsed(),
            stage=stage_of(request).value,
            waits_for=wait_of(request),
        )


def _over(plane: Plane, which: Which, wanted: Wanted) -> Iterable[Seen | None]:
    times = plane.times
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
