"""The headline: what the broker does now, what waits and what is wrong, in one sentence."""

from collections.abc import Sequence

from trio_kafka.attributes import frozen
from trio_kafka.introspect.snapshots import ApiLoad, LoopLoad
from trio_kafka_admin.findings.finding import Finding
from trio_kafka_admin.findings.texts import counted
from trio_kafka_admin.moments import Moment

_WORK = ("queue", "local", "response_queue", "send")
_LONG_S = 1.0  # age from which a request waits, for the headline


@frozen(kw_only=True)
class Headline:
    """Figures of the headline. sentence, more: the same in words.

    clients: client ids with a connection. waiting: requests in flight for more than a second.
    wrong, watch: findings of these severities. work_ms: mean time of a request without the time
    that it was parked. busy_percent: of the loop.
    """

    clients: int
    connections: int
    requests_per_s: float
    waiting: int
    wrong: int
    watch: int
    work_ms: float | None
    busy_percent: float | None
    sentence: str
    more: str


def headline(
    now: Moment, findings: Sequence[Finding], apis: Sequence[ApiLoad], *, loops: Sequence[LoopLoad]
) -> Headline:
    """Return the headline of a moment."""
    clients = len({connection.client_id for connection in now.connections})
    connections = sum(loop.connections for loop in loops)
    per_s = sum(api.per_s or 0.0 for api in apis)
    waiting = sum(request.age_s > _LONG_S for request in now.requests)
    wrong = [finding for finding in findings if finding.severity == "wrong"]
    watch = sum(finding.severity == "watch" for finding in findings)
    shares = [loop.busy_percent for loop in loops if loop.busy_percent is not None]
    busy = max(shares, default=None)
    return Headline(
        clients=clients,
        connections=connections,
        requests_per_s=per_s,
        waiting=waiting,
        wrong=len(wrong),
        watch=watch,
        work_ms=_work_ms(apis, per_s),
        busy_percent=busy,
        sentence=_sentence(clients, per_s, waiting=waiting, wrong=wrong, watch=watch),
        more=_more(connections, _work_ms(apis, per_s), busy),
    )


def _sentence(
    clients: int, per_s: float, *, waiting: int, wrong: Sequence[Finding], watch: int
) -> str:
    parts = [counted(clients, "client"), f"{rate(per_s)} a second"]
    if waiting:
        parts.append(f"{counted(waiting, 'request')} {'waits' if waiting == 1 else 'wait'}")
    if watch:
        parts.append(f"{watch} to watch")
    if wrong:
        parts.append(f"{len(wrong)} {'is' if len(wrong) == 1 else 'are'} wrong: {wrong[0].title}")
    elif not watch:
        parts.append("nothing is wrong")
    return ", ".join(parts)


def rate(per_s: float) -> str:
    """Return a rate in words, without "a second"."""
    if 0 < per_s < 10:
        return f"{per_s:.1f} requests"
    return counted(per_s, "request")


def _work_ms(apis: Sequence[ApiLoad], per_s: float) -> float | None:
    if not per_s:
        return None
    total = sum((api.per_s or 0.0) * sum(api.hops_ms[hop] for hop in _WORK) for api in apis)
    return total / per_s


def _more(connections: int, work_ms: float | None, busy: float | None) -> str:
    parts = [f"{counted(connections, 'connection')} open"]
    if work_ms is not None:
        parts.append(f"a request takes {work_ms:,.1f} ms of work and queueing on average")
    if busy is not None:
        parts.append(f"the loop is busy for {busy:.0f} % of the time")
    return "; ".join(parts)
