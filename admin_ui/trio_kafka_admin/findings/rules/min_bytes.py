"""Fetches that wait for more bytes than there are, for long."""

from collections.abc import Iterator
from typing import Final

from trio_kafka.introspect.facts.requests import RequestFacts
from trio_kafka.introspect.waits import Subject, Wait
from trio_kafka_admin.findings.change import Change
from trio_kafka_admin.findings.finding import Finding
from trio_kafka_admin.findings.texts import duration, short

_LONG_S: Final = 5.0  # a Fetch that may wait for so long; clients set 0.5 s by default
_SEEN_S: Final = 1.0  # it has waited for so long already


def waiting_fetch(change: Change) -> Iterator[Finding]:
    """Yield clients whose Fetch needs more than one byte and may wait for long.

    A Fetch for one byte waits until there is a record: nothing is odd about that.
    """
    for request in change.now.requests:
        wait = _wait(request)
        if wait is None:
            continue
        client = short(request.client_id)
        until = "" if wait.left_s is None else f"; it is answered in {duration(wait.left_s)}"
        yield Finding(
            kind="waiting-fetch",
            title=f"fetch of {client} has waited {duration(wait.age_s or request.age_s)}"
            " for min.bytes",
            more=f": {wait.words}{until}",
            subject=Subject("client", request.client_id),
            severity="waits",
            hurt=1,
            link=Subject("request", f"{request.connection or ''}/{request.correlation}"),
            age_s=wait.age_s or request.age_s,
        )


def _wait(request: RequestFacts) -> Wait | None:
    if request.api != "Fetch" or not request.why or request.why[0].cause != "bytes":
        return None
    wait = request.why[0]
    age_s = request.age_s if wait.age_s is None else wait.age_s
    may_s = age_s + (wait.left_s or 0.0)
    is_short = wait.needs is not None and wait.needs > 1 and (wait.has or 0) < wait.needs
    return wait if is_short and may_s >= _LONG_S and age_s >= _SEEN_S else None
