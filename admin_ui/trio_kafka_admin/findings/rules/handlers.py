"""Handlers that are all busy."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from trio_kafka.introspect.facts.requests import RequestFacts
from trio_kafka.introspect.waits import Subject
from trio_kafka_admin.findings.change import Change
from trio_kafka_admin.findings.finding import Finding
from trio_kafka_admin.findings.subjects import HANDLERS, handlers_of, plane_of
from trio_kafka_admin.findings.texts import counted, duration

LONG_S: Final = 0.5  # time in a handler from which it is long: handlers that turn over are healthy
WAITS_FOR_A_HANDLER: Final = frozenset({"waits for room", "queued"})
"""Stages: see `network.inflight.Stage`."""


def busy_handlers(change: Change) -> Iterator[Finding]:
    """Yield planes with no free handler while their requests stay in them."""
    for node in change.of_kind("limiter"):
        tokens = node.number("tokens")
        if node.path[-1] != HANDLERS or not tokens or node.number("borrowed") < tokens:
            continue
        plane = plane_of(node.path)
        of_plane = [request for request in change.now.requests if request.plane == plane]
        served = [request for request in of_plane if is_long(request)]
        waiting = [request for request in of_plane if request.stage in WAITS_FOR_A_HANDLER]
        if not served:
            continue
        yield Finding(
            kind="busy-handlers",
            title=f"all {counted(tokens, 'handler')} of {node.path[1]} are busy",
            more=f"{_with(served)}; {counted(len(waiting), 'request')} {_verb(waiting)} for one",
            subject=handlers_of(plane),
            severity="wrong" if waiting else "watch",
            because=tuple(Subject("plugin", name) for name in plugins_of(served)),
            hurt=len({request.client_id for request in waiting}),
            node="/".join(node.path),
            age_s=max(request.hops_s.get("local", 0.0) for request in served),
        )


def is_long(request: RequestFacts) -> bool:
    """Return whether a request has been in its handler, or in code around it, for long."""
    is_served = request.stage == "handler" or (request.why and request.why[0].cause == "plugin")
    return bool(is_served) and request.hops_s.get("local", request.age_s) >= LONG_S


def plugins_of(served: Sequence[RequestFacts]) -> list[str]:
    """Return the names of plugins whose code requests are in, the rarest first."""
    plugins = Counter(
        wait.on.name for request in served for wait in request.why[:1] if wait.cause == "plugin"
    )
    return [name for name, _ in reversed(plugins.most_common())]


def _with(served: Sequence[RequestFacts]) -> str:
    oldest_s = max(request.hops_s.get("local", request.age_s) for request in served)
    names = plugins_of(served)
    if names:
        inside = [r for r in served if r.why and r.why[0].on.name == names[-1]]
        return f": {len(inside)} with plugin {names[-1]}, for {duration(oldest_s)} at most"
    [(api, count)] = Counter(request.api for request in served).most_common(1)
    return f": {count} with {api}, for {duration(oldest_s)} at most"


def _verb(waiting: Sequence[RequestFacts]) -> str:
    return "waits" if len(waiting) == 1 else "wait"
