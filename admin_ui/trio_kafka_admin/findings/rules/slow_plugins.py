"""Interceptors of plugins that are slow, and requests that stay in them."""

from collections.abc import Iterator
from typing import Final

from trio_kafka.introspect.facts.requests import RequestFacts
from trio_kafka.introspect.waits import Subject
from trio_kafka_admin.findings.change import Change, NodeChange
from trio_kafka_admin.findings.finding import Finding
from trio_kafka_admin.findings.rules.handlers import LONG_S, is_long
from trio_kafka_admin.findings.subjects import HANDLERS, plane_of
from trio_kafka_admin.findings.texts import counted, duration

SLOW_MS: Final = 100.0  # a mean


def slow_plugin(change: Change) -> Iterator[Finding]:
    """Yield interceptors that are slow on average, and plugins that hold requests for long."""
    measured = set[str]()
    for node in change.below("interceptors"):
        owner, mean_ms = str(node["owner"]), _mean_ms(node)
        if mean_ms < SLOW_MS or owner == "faults":  # faults have a rule of their own
            continue
        measured.add(owner)
        interceptor = node.now.name.removeprefix(f"{owner} ")
        yield _finding(
            change,
            owner,
            f"plugin {owner} takes {mean_ms:,.0f} ms of each request",
            f", {interceptor}",
            node="/".join(node.path),
        )
    held = dict[str, list[RequestFacts]]()
    for request in change.now.requests:
        if is_long(request) and request.why and request.why[0].cause == "plugin":
            held.setdefault(request.why[0].on.name, []).append(request)
    for owner, requests in held.items():
        if owner not in measured and owner != "faults":
            oldest_s = max(request.hops_s.get("local", request.age_s) for request in requests)
            yield _finding(
                change,
                owner,
                f"plugin {owner} holds {counted(len(requests), 'request')}",
                f", for {duration(oldest_s)} at most, which wait for {requests[0].why[0].words}",
                node="",
            )


def slow_plugins(change: Change) -> Iterator[Subject]:
    """Yield the plugins whose interceptors are slow."""
    for node in change.below("interceptors"):
        if _mean_ms(node) >= SLOW_MS:
            yield Subject("plugin", str(node["owner"]))


def _mean_ms(node: NodeChange) -> float:
    calls = node.grown("calls")
    return node.grown("ms") / calls if calls > 0 else 0.0


def _finding(change: Change, owner: str, title: str, more: str, *, node: str) -> Finding:
    inside = [
        request
        for request in change.now.requests
        if request.why and request.why[0].cause == "plugin" and request.why[0].on.name == owner
    ]
    return Finding(
        kind="slow-plugin",
        title=title,
        more=f"{more}{_busy(change, inside)}",
        subject=Subject("plugin", owner),
        severity="wrong" if len(inside) > 1 else "watch",
        hurt=len({request.client_id for request in inside}),
        node=node,
        age_s=max((request.age_s for request in inside), default=LONG_S),
    )


def _busy(change: Change, inside: list[RequestFacts]) -> str:
    """Return which of the handlers the plugin takes, in words, if it takes all of a plane."""
    for node in change.of_kind("limiter"):
        tokens, plane = node.number("tokens"), plane_of(node.path)
        count = sum(request.plane == plane for request in inside)
        if node.path[-1] == HANDLERS and 0 < tokens <= count:
            return f"; all {counted(tokens, 'handler')} of {node.path[1]} are in it"
    return ""
