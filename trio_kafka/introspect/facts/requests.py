"""Facts of requests in flight."""

from trio_kafka.attributes import frozen
from trio_kafka.introspect.waits import Wait


@frozen(kw_only=True)
class RequestFacts:
    """One request in flight.

    plane, processor: names. connection: id; None: a request from within. correlation: its
    correlation id, which finds it on its connection. stage: see `network.inflight.Stage`. hops_s:
    seconds in each hop that it has passed or is in, by name of `snapshots.HOPS`, in order.
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
