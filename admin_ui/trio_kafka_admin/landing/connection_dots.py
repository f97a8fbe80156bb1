"""Dots of connections, a row for each processor."""

from collections.abc import Sequence
from typing import Final

from trio_kafka.introspect.facts.connections import ConnectionFacts
from trio_kafka.introspect.waits import Subject
from trio_kafka_admin.findings.change import Change, NodeChange
from trio_kafka_admin.findings.rules.clients import UNREAD_S, name_of, quota_wait
from trio_kafka_admin.findings.texts import amount, counted, duration
from trio_kafka_admin.landing.dots import Dot, DotRow, DotState, dot_row

_HELD: Final = frozenset({"channel", "memory"})
"""Causes for which the broker does not read a connection though it could answer."""


def connection_rows(change: Change, plane: str, nodes: Sequence[NodeChange]) -> list[DotRow]:
    """Return a row for each processor of a plane that has connections."""
    dots = dict[str, list[Dot]]()
    for connection in change.now.connections:
        if connection.plane == plane:
            dots.setdefault(connection.processor, []).append(connection_dot(connection))
    rows = list[DotRow]()
    processors = [node for node in nodes if node.now.kind == "selector"]
    for number, processor in enumerate(processors):
        own, count = dots.pop(processor.now.name, []), int(processor.number("connections"))
        row = dot_row(f"processor {number}", own)
        unread = max(count - len(own), 0)
        rows.append(DotRow(row.label, row.dots, row.words, row.more + unread))
    rows += (dot_row(name, own) for name, own in dots.items())
    return [row for row in rows if row.dots or row.more]


def connection_dot(connection: ConnectionFacts) -> Dot:
    """Return the dot of one connection."""
    state, words = _state(connection)
    return Dot(
        state,
        f"{name_of(connection)} {connection.host}: {words}",
        Subject("connection", connection.id),
        connection.id,
    )


def _state(connection: ConnectionFacts) -> tuple[DotState, str]:
    if connection.unsent_bytes and (connection.unsent_s or 0.0) >= UNREAD_S:
        return "wrong", (
            f"does not read; {amount(connection.unsent_bytes)} unsent"
            f" for {duration(connection.unsent_s or 0.0)}"
        )
    quota = quota_wait(connection)
    if quota is not None:
        return "watch", f"throttled, {quota.words}"
    held = [wait for wait in connection.waits if wait.cause in _HELD]
    if held:
        return "watch", f"not read, {held[0].words}"
    if connection.in_flight:
        return "busy", f"{counted(connection.in_flight, 'request')} under way"
    return "idle", "nothing under way"
