"""Limiters without a free token."""

from collections.abc import Iterator

from trio_kafka.introspect.waits import Subject
from trio_kafka_admin.findings.change import Change
from trio_kafka_admin.findings.finding import Finding
from trio_kafka_admin.findings.subjects import HANDLERS


def spent_limiter(change: Change) -> Iterator[Finding]:
    """Yield limiters whose tokens are all taken while tasks wait.

    Handlers are left to `handlers.busy_handlers`, which says with what they are busy, once their
    requests have come.
    """
    for node in change.of_kind("limiter"):
        tokens, waiting = node.number("tokens"), node.number("waiting")
        if waiting and node.number("borrowed") >= tokens:
            yield Finding(
                kind="spent-limiter",
                title=f"all {tokens:.0f} tokens of {node.name} are taken",
                more=f", and {waiting:.0f} tasks wait",
                subject=Subject("limiter", node.name),
                severity="watch" if node.path[-1] == HANDLERS else "wrong",
                node="/".join(node.path),
            )
