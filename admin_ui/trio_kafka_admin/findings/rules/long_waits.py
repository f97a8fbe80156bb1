"""Requests that have waited for long."""

from collections.abc import Iterator
from typing import Final

from trio_kafka.introspect.facts.requests import RequestFacts
from trio_kafka.introspect.waits import Subject
from trio_kafka_admin.findings.change import Change
from trio_kafka_admin.findings.finding import Finding
from trio_kafka_admin.findings.rules.handlers import WAITS_FOR_A_HANDLER
from trio_kafka_admin.findings.subjects import handlers_of
from trio_kafka_admin.findings.texts import short

LONG_S: Final = 5.0  # age from which a wait is long
WAITING_APIS: Final = frozenset({"Fetch", "JoinGroup", "SyncGroup"})
"""APIs whose requests wait for other clients by design."""


def long_wait(change: Change) -> Iterator[Finding]:
    """Yield a finding for each API and last wait with requests older than LONG_S."""
    waiting = dict[tuple[str, str, Subject | None], list[RequestFacts]]()
    for request in change.now.requests:
        if request.age_s > LONG_S and request.api not in WAITING_APIS:
            last = request.why[-1].on if request.why else None
            waiting.setdefault((request.plane, request.api, last), []).append(request)
    for (plane, api, last), requests in waiting.items():
        oldest = max(requests, key=lambda request: request.age_s)
        because = tuple(wait.on for wait in oldest.why)
        if oldest.stage in WAITS_FOR_A_HANDLER:
            because = (*because, handlers_of(plane))
        yield Finding(
            kind="long-wait",
            title=f"{api} requests that have waited for more than {LONG_S:.0f} s:"
            f" {len(requests):,}",
            more=f"; the oldest, of client {short(oldest.client_id)}, for {oldest.age_s:,.0f} s;"
            f" they wait for {_chain(oldest)}",
            subject=Subject("request", f"{plane} {api} {last.name if last else ''}"),
            severity="wrong",
            because=because,
            hurt=len({request.client_id for request in requests}),
            link=_request(oldest),
            age_s=oldest.age_s,
        )


def _chain(request: RequestFacts) -> str:
    """Return what a request waits for, and what that waits for, in words."""
    if not request.why:
        return request.stage
    return ", ".join(wait.words for wait in request.why)


def _request(request: RequestFacts) -> Subject:
    return Subject("request", f"{request.connection or ''}/{request.correlation}")
