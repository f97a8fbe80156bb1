"""Facts of requests in flight."""

from collections.abc import Mapping

from trio_kafka.attributes import frozen
from trio_kafka.introspect.waits import Wait


@frozen(kw_only=True)
class RequestFacts:
    """One request in flight.

    plane, processor: names. connection: id; None: a request from within. correlation: its
    correlation id, which finds it on its connection. stage: see `network.inflight.Stage`. hops_s:
    seconds in each hop that it has passed or is in, by name of `snapshots.HOPS`, in order.
    peer: address of the client. request_bytes: of the frame.
    why: waits, from the request's own outwards; empty while a handler works for it.
    """

    plane: str
    processor: str
    connection: str | None
    correlation: int
    client_id: str
    software: str
    principal: str
    api: str
    version: int
    stage: str
    age_s: float
    hops_s: dict[str, float]
    why: tuple[Wait, ...] = ()
    peer: str = ""
    listener: str = ""
    request_bytes: int = 0


@frozen(kw_only=True)
class OpenedRequest:
    """One request in detail.

    ended_s: since it has ended; None: it is in flight. fields: the decoded request with Kafka's
    names, JSON-ready; bytes by their size, secrets hidden; None: see `no_fields`, which says why.
    total_s: from its last received byte until now or until its end. throttled_s: pause after the
    answer. plugin_s: part of the handler's time in interceptors. error: code of a request that
    failed as a whole; 0: none.
    """

    facts: RequestFacts
    ended_s: float | None
    fields: Mapping[str, object] | None
    no_fields: str
    total_s: float
    throttled_s: float
    plugin_s: float
    response_bytes: int
    error: int
    local: str
    security_protocol: str
