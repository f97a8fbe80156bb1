"""Clients that do not read their answers, and clients that are throttled."""

from collections.abc import Iterator
from typing import Final

from trio_kafka.introspect.facts.connections import ConnectionFacts
from trio_kafka.introspect.waits import Subject, Wait
from trio_kafka_admin.findings.change import Change
from trio_kafka_admin.findings.finding import Finding
from trio_kafka_admin.findings.texts import amount, counted, duration, short

UNREAD_S: Final = 2.0  # a client that took nothing for so long does not read


def unread_answers(change: Change) -> Iterator[Finding]:
    for connection in change.now.connections:
        unsent_s = connection.unsent_s or 0.0
        if not connection.unsent_bytes or unsent_s < UNREAD_S:
            continue
        yield Finding(
            kind="unread-answers",
            title=f"client {name_of(connection)} does not read its answers",
            more=f": it has taken nothing for {duration(unsent_s)};"
            f" {amount(connection.unsent_bytes)} wait to be sent to {connection.host}"
            f" on connection {connection.id}",
            subject=_client(connection),
            severity="wrong",
            hurt=1,
            link=Subject("connection", connection.id),
            age_s=unsent_s,
        )


def throttled_client(change: Change) -> Iterator[Finding]:
    """Yield a finding for each client whose connections are muted by a quota."""
    throttled = dict[str, list[tuple[ConnectionFacts, Wait]]]()
    for connection in change.now.connections:
        wait = quota_wait(connection)
        if wait is not None:
            throttled.setdefault(connection.client_id, []).append((connection, wait))
    for entries in throttled.values():
        connection, wait = max(entries, key=lambda entry: entry[1].left_s or 0.0)
        until = "" if not wait.left_s else f"; it is read again in {duration(wait.left_s)}"
        several = f" on {counted(len(entries), 'connection')}" if len(entries) > 1 else ""
        yield Finding(
            kind="throttled-client",
            title=f"client {name_of(connection)} is throttled{several}",
            more=f": {wait.words}{until}",
            subject=_client(connection),
            severity="watch",
            explains=(wait.on,),
            hurt=1,
            link=Subject("connection", connection.id),
            age_s=wait.age_s,
        )


def quota_wait(connection: ConnectionFacts) -> Wait | None:
    """Return the wait for a quota, if the connection is muted by one."""
    return next((wait for wait in connection.waits if wait.cause == "quota"), None)


def name_of(connection: ConnectionFacts) -> str:
    """Return what to call a client: its id, or its host."""
    return short(connection.client_id or connection.host)


def _client(connection: ConnectionFacts) -> Subject:
    return Subject("client", connection.client_id or connection.id)
