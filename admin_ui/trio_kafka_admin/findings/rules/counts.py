"""Figures that are 0 in a healthy broker, and the state of the broker."""

from collections.abc import Iterator
from typing import Final

from trio_kafka.introspect.waits import Subject
from trio_kafka_admin.findings.change import Change
from trio_kafka_admin.findings.finding import Finding, Severity

_COUNTED: Final[dict[tuple[str, str], tuple[str, Severity]]] = {
    ("log-manager", "offline"): ("log directories offline", "wrong"),
    ("replica-manager", "offline"): ("partitions offline", "wrong"),
    ("replica-manager", "under_replicated"): ("under-replicated partitions", "watch"),
    ("replica-manager", "under_minimum"): (
        "partitions with fewer than min.insync.replicas in sync",
        "wrong",
    ),
    ("listening", "failed"): ("listeners that could not be opened", "wrong"),
    ("group-coordinator", "failed"): (
        "partitions of __consumer_offsets that could not be loaded",
        "wrong",
    ),
}


def counted(change: Change) -> Iterator[Finding]:
    """Yield a finding for each figure; offline partitions come of a lost directory."""
    lost = tuple(
        Subject("directory", directory.path)
        for directory in change.now.directories
        if directory.error
    )
    for (name, figure), (title, severity) in _COUNTED.items():
        for node in change.named(name):
            count = node.number(figure) if len(node.path) == 2 else 0.0
            if not count:
                continue
            yield Finding(
                kind=f"{name}-{figure}",
                title=f"{title}: {count:.0f}",
                subject=Subject("task", name),
                severity=severity,
                because=lost if figure == "offline" else (),
                node="/".join(node.path),
            )


def not_running(change: Change) -> Iterator[Finding]:
    for node in change.named("lifecycle-manager"):
        if node["state"] != "running":
            yield Finding(
                kind="not-running",
                title="the broker is not serving",
                more=f": it is {node['state']}",
                subject=Subject("broker", node.path[0]),
                severity="wrong",
                node="/".join(node.path),
            )
