"""Waits of requests in flight as data: the chain from a request to what it waits for at last.

Nothing is recorded for this: whatever is waited for computes its waits when it is asked.
"""

from collections.abc import Callable

from trio_kafka.attributes import define
from trio_kafka.introspect.waits import Subject, Wait, Waiting
from trio_kafka.network.inflight import Stage, stage_of
from trio_kafka.network.request import IN_STEPS, Request
from trio_kafka.requests.connection_waits import client_wait, connection_id
from trio_kafka.requests.handler_waits import BusyHandlers

MoreWaits = Callable[[float], tuple[Wait, ...]]


@define(eq=False)
class RequestWaits:
    """Waits of the requests of one plane.

    handlers: of the plane. controller_waits: what the controller waits for, at a time.
    """

    handlers: BusyHandlers
    controller_waits: MoreWaits

    def of(self, request: Request, now: float) -> tuple[Wait, ...]:
        """Return what a request waits for, from its own wait outwards; empty while a handler of the
        broker works for it. now: `trio.current_time()`.
        """
        waits = self._own(request, stage_of(request), now)
        if waits and waits[-1].on.kind == "controller":
            waits += self.controller_waits(now)
        return waits

    def _own(self, request: Request, stage: Stage, now: float) -> tuple[Wait, ...]:
        match stage:
            case Stage.ROOM:
                return self.handlers.room_waits()
            case Stage.QUEUED:
                return self.handlers.queue_waits()
            case Stage.SENDING:
                return (_sending_wait(request, now),)
            case Stage.PARKED:
                return parked_waits(request, now)
            case Stage.HANDLER:
                return self._handler_waits(request)

    def _handler_waits(self, request: Request) -> tuple[Wait, ...]:
        if request in self.handlers.takers:
            return self.handlers.token_waits()
        if request.waits_for is IN_STEPS:
            words = "its next slice of the loop: it is computed in slices"
            return (Wait(cause="steps", words=words, on=Subject("task", "slices")),)
        return self.handlers.serving_waits(request)


def no_more_waits(now: float) -> tuple[Wait, ...]:
    """Return no waits, where only the first of a chain matters."""
    del now
    return ()


def parked_waits(request: Request, now: float) -> tuple[Wait, ...]:
    """Return the waits of a parked request."""
    waits_for: Waiting | str = request.waits_for
    if isinstance(waits_for, str):
        return (Wait(cause="change", words=waits_for, on=Subject("task", waits_for)),)
    return waits_for.waits(now)


def wait_words(waits: tuple[Wait, ...]) -> str:
    """Return the first wait in words; empty for none."""
    return waits[0].words if waits else ""


def _sending_wait(request: Request, now: float) -> Wait:
    """Return the wait of an answer that is not sent: for its round, or for the client."""
    if request.stamps.sending:
        return client_wait(request.connection, now)
    words, name = "its processor to send the answer", connection_id(request.connection)
    return Wait(cause="processor", words=words, on=Subject("connection", name))
