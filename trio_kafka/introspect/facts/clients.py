"""Facts of clients, by client id: many connections may have one."""

from trio_kafka.attributes import frozen


@frozen(kw_only=True)
class ClientFacts:
    """Clients with the same id; empty: those that send none.

    software, hosts: of the connections, at most a few of each. requests: of the open connections,
    since they were opened. muted: connections that are not read from, other than for a request in
    flight. groups: those that this broker coordinates and in which the client has a member.
    """

    client_id: str
    connections: int
    software: tuple[str, ...]
    hosts: tuple[str, ...]
    requests: int
    in_flight: int
    muted: int
    unsent_bytes: int
    groups: tuple[str, ...] = ()


@frozen(kw_only=True)
class ClosedConnectionFacts:
    """Connection that was closed.

    reason: as in `network.reasons.CloseReason`. age_s: for which it was open; None: unknown.
    ago_s: since it was closed.
    """

    id: str
    listener: str
    host: str
    client_id: str
    software: str
    reason: str
    detail: str
    age_s: float | None
    ago_s: float
    requests: int
