"""APIs that should be prompt and are slow."""

from collections.abc import Iterator
from typing import Final

from trio_kafka.introspect.snapshots import HOPS
from trio_kafka.introspect.waits import Subject
from trio_kafka_admin.findings.change import Change, NodeChange
from trio_kafka_admin.findings.finding import Finding
from trio_kafka_admin.findings.rules.fault_rules import striking_rules
from trio_kafka_admin.findings.rules.slow_plugins import SLOW_MS, slow_plugins
from trio_kafka_admin.findings.subjects import handlers_of, plane_of

_PROMPT: Final = frozenset(
    {
        *("ApiVersions", "ConsumerGroupHeartbeat", "FindCoordinator", "Heartbeat"),
        *("InitProducerId", "LeaveGroup", "ListOffsets", "Metadata", "OffsetCommit"),
        *("OffsetFetch", "OffsetForLeaderEpoch", "Produce"),
    }
)
_LEAST_MS: Final = 1000.0  # of all its requests: a few that met a busy disk are usual
_HOP_WORDS: Final = {
    "queue": "waiting for a handler",
    "local": "in its handler",
    "remote": "parked",
    "response_queue": "waiting for its processor",
    "send": "being sent",
}


def slow_api(change: Change) -> Iterator[Finding]:
    for node in change.below("requests"):
        if len(node.path) < 3 or node.now.name not in _PROMPT:
            continue
        count = node.grown("count")
        mean_ms = node.grown("total_ms") / count if count > 0 else 0.0
        if mean_ms < SLOW_MS or node.grown("total_ms") < _LEAST_MS:
            continue
        hops_ms = {hop: node.grown(f"{hop}_ms") for hop in HOPS}
        hop = max(hops_ms, key=hops_ms.__getitem__)
        hop_ms = hops_ms[hop] / count
        yield Finding(
            kind="slow-api",
            title=f"{node.now.name} takes {mean_ms:,.0f} ms on average",
            more=f", {hop_ms:,.0f} ms of it {_HOP_WORDS[hop]}",
            subject=Subject("task", node.name),
            severity="watch",
            because=tuple(_reasons(change, node, hop)),
            node="/".join(node.path),
        )


def _reasons(change: Change, node: NodeChange, hop: str) -> Iterator[Subject]:
    """Yield what may slow the API down: what its requests in flight wait for, at last."""
    api = node.now.name
    for request in change.now.requests:
        if request.api == api and request.why:
            yield from (wait.on for wait in request.why)
            break
    if hop == "queue":
        yield handlers_of(plane_of(node.path))
    elif hop in ("local", "remote"):
        yield from slow_plugins(change)
        yield from striking_rules(change, api)
