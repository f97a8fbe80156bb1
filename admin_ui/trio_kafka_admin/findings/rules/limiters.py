"""Limiters without a free token."""

from collections.abc import Iterator

from trio_kafka.introspect.waits import Subject
from trio_kafka_admin.findings.change import Change
from trio_kafka_admin.findings.finding import Finding
from trio_kafka_admin.findings.rules.handlers import is_long
from trio_kafka_admin.findings.subjects import HANDLERS, handlers_of, plane_of


def spent_limiter(change: Change) -> Iterator[Finding]:
    """Yield limiters whose tokens are all taken while tasks wait.

    Handlers are left to `handlers.busy_handlers` if a request has been in them for long.
    """
    is_long_served = any(map(is_long, change.now.requests))
    for node in change.of_kind("limiter"):
        tokens, waiting = node.number("tokens"), node.number("waiting")
        if node.path[-1] == HANDLERS and is_long_served:
            continue
        if waiting and node.number("borrowed") >= tokens:
            yield Finding(
                kind="spent-limiter",
                title=f"all {tokens:.0f} tokens of {node.name} are taken",
                more=f", and {waiting:.0f} tasks wait",
                subject=Subject("limiter", node.name)
                if node.path[-1] != HANDLERS
                else handlers_of(plane_of(node.path)),
                severity="watch",
                node="/".join(node.path),
            )
