"""Data of the page of clients: connections with rates, and what a client reads and writes.

The broker keeps no list of a client's topics. They are known from requests in flight, which name
what they wait for, and from the assignments of the client's members in groups.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, Final

import attrs

from trio_kafka.attributes import frozen
from trio_kafka.introspect.facts.clients import ClientFacts, ClosedConnectionFacts
from trio_kafka.introspect.facts.connections import ConnectionFacts
from trio_kafka.introspect.facts.groups import GroupFacts
from trio_kafka.introspect.facts.requests import RequestFacts
from trio_kafka.protocol.messages.k10010_describe_requests import RequestLife
from trio_kafka_admin.mute_history import PauseRow
from trio_kafka_admin.rate_history import RateHistory

_TOPIC_KINDS: Final = ("topic", "partition")


@frozen(kw_only=True)
class ClientRow:
    """Client id in the list: see `ClientFacts`. requests_per_s: None before the second look."""

    client_id: str
    connections: int
    software: tuple[str, ...]
    hosts: tuple[str, ...]
    requests: int
    in_flight: int
    muted: int
    unsent_bytes: int
    groups: tuple[str, ...]
    requests_per_s: float | None


@frozen(kw_only=True)
class ConnectionRow:
    """Open connection: see `ConnectionFacts`. not_read: why the broker does not read from it now,
    and what it waits for; empty: it reads.
    """

    id: str
    plane: str
    listener: str
    processor: str
    host: str
    client_id: str
    software: str
    principal: str
    age_s: float
    idle_s: float | None
    in_flight: int
    unsent_bytes: int
    requests: int
    requests_per_s: float | None
    received_bytes: int | None
    sent_bytes: int | None
    not_read: str


@frozen(kw_only=True)
class InFlightRow:
    """Request in flight. waits_for: in words; empty: a handler works for it."""

    connection: str | None
    api: str
    age_s: float
    stage: str
    waits_for: str


@frozen(kw_only=True)
class RecentApiRow:
    """API among the client's latest requests. ago_s: since the last one ended."""

    api: str
    requests: int
    ago_s: float


@frozen(kw_only=True)
class TopicUseRow:
    """Topic that the client uses. how: "is assigned in group g", or the API that names it."""

    topic: str
    how: str


@frozen(kw_only=True)
class ClientDetail:
    """One client id, or one connection. pauses: see `mute_history`."""

    name: str
    connections: tuple[ConnectionRow, ...]
    in_flight: tuple[InFlightRow, ...]
    recent: tuple[RecentApiRow, ...]
    topics: tuple[TopicUseRow, ...]
    groups: tuple[str, ...]
    pauses: tuple[PauseRow, ...]
    closed: tuple[ClosedConnectionFacts, ...]


@frozen(kw_only=True)
class ClientsAnswer:
    """Data of the page. total: client ids that there are; the rows begin with the one after
    `first`; of: text that they contain. closed: connections that were closed last.

    client: the one that is asked for by name; then there are no rows.
    """

    total: int
    first: int
    of: str
    clients: tuple[ClientRow, ...]
    closed: tuple[ClosedConnectionFacts, ...]
    client: ClientDetail | None


def client_row(client: ClientFacts, rates: RateHistory) -> dict[str, Any]:
    """Return the row of a client id. Its rate begins anew when a connection is closed."""
    per_s = rates.note(("client", client.client_id), (client.requests,))
    return {
        **attrs.asdict(client, recurse=False),
        "requests_per_s": None if per_s is None else per_s[0],
    }


def connection_row(
    connection: ConnectionFacts, requests: int, rates: RateHistory
) -> dict[str, Any]:
    """Return the row of an open connection."""
    per_s = rates.note(("connection", connection.id), (requests,))
    row = ConnectionRow(
        id=connection.id,
        plane=connection.plane,
        listener=connection.listener,
        processor=connection.processor,
        host=connection.host,
        client_id=connection.client_id,
        software=connection.software,
        principal=connection.principal,
        age_s=connection.age_s,
        idle_s=connection.idle_s,
        in_flight=connection.in_flight,
        unsent_bytes=connection.unsent_bytes,
        requests=requests,
        requests_per_s=None if per_s is None else per_s[0],
        received_bytes=connection.received_bytes,
        sent_bytes=connection.sent_bytes,
        not_read="; ".join(wait.words for wait in connection.waits),
    )
    return attrs.asdict(row, recurse=False)


def in_flight_rows(requests: Iterable[RequestFacts]) -> list[InFlightRow]:
    """Return rows of requests in flight."""
    return [
        InFlightRow(
            connection=request.connection,
            api=request.api,
            age_s=request.age_s,
            stage=request.stage,
            waits_for="; ".join(wait.words for wait in request.why),
        )
        for request in requests
    ]


def recent_rows(lives: Sequence[RequestLife]) -> list[RecentApiRow]:
    """Return the APIs of finished requests with how many there are, the most frequent first."""
    counts = Counter(life.api_name for life in lives)
    latest = dict[str, int]()
    for life in lives:
        ended_us = latest.get(life.api_name)
        latest[life.api_name] = life.ended_us if ended_us is None else min(ended_us, life.ended_us)
    return [
        RecentApiRow(api=api, requests=count, ago_s=latest[api] / 1e6)
        for api, count in counts.most_common()
    ]


def topic_uses(
    client_ids: set[str], requests: Iterable[RequestFacts], groups: Iterable[GroupFacts]
) -> list[TopicUseRow]:
    """Return the topics that clients use, as far as it is known."""
    uses = dict[tuple[str, str], None]()
    for group in groups:
        for member in group.members:
            if member.client_id in client_ids:
                how = f"is assigned in group {group.group_id}"
                uses.update(dict.fromkeys([(topic, how) for topic in member.assigned]))
    for request in requests:
        for wait in request.why:
            if wait.on.kind in _TOPIC_KINDS and wait.on.name:
                name = wait.on.name
                topic = name.rpartition("-")[0] if wait.on.kind == "partition" else name
                uses[topic, f"{request.api} in flight"] = None
    return [TopicUseRow(topic=topic, how=how) for topic, how in sorted(uses)]
