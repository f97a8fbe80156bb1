"""Dots of handlers: free ones, and taken ones with their request."""

from collections.abc import Iterator, Sequence

from trio_kafka.introspect.facts.requests import RequestFacts
from trio_kafka.introspect.waits import Subject
from trio_kafka_admin.findings.rules.handlers import is_long
from trio_kafka_admin.findings.texts import duration, short
from trio_kafka_admin.landing.dots import Dot, DotRow, dot_row


def handler_row(taken: int, handlers: int, requests: Sequence[RequestFacts]) -> DotRow:
    """Return a row with a dot for each handler.

    taken: tokens in use. requests: in flight in the plane. They are read a moment after the tokens,
    so a taken handler may have no request to show.
    """
    return dot_row("", _dots(taken, handlers, requests))


def _dots(taken: int, handlers: int, requests: Sequence[RequestFacts]) -> Iterator[Dot]:
    served = [request for request in requests if is_served(request)]
    served.sort(key=lambda request: -request.age_s)
    for number in range(handlers):
        if number >= taken:
            yield Dot("free", "free", None, f"handler {number}")
        elif number < len(served):
            yield _taken(served[number], number)
        else:
            yield Dot("taken", "busy", None, f"handler {number}")


def is_served(request: RequestFacts) -> bool:
    """Return whether a handler, or a plugin in it, works for a request."""
    return request.stage == "handler" or bool(request.why and request.why[0].cause == "plugin")


def _taken(request: RequestFacts, number: int) -> Dot:
    inside = f", {request.why[0].words}" if request.why else ""
    return Dot(
        "wrong" if is_long(request) else "taken",
        f"{request.api} of {short(request.client_id)} for {duration(request.age_s)}{inside}",
        request_subject(request),
        f"handler {number}",
    )


def request_subject(request: RequestFacts) -> Subject:
    """Return what a link to a request leads to."""
    return Subject("request", f"{request.connection or ''}/{request.correlation}")
