"""Reading of the requests in flight, with the chain of their waits."""

from collections.abc import Collection, Sequence

from trio_kafka.introspect.facts.requests import OpenedRequest, RequestFacts
from trio_kafka.plugin_host.state_access import open_request_as, read_request_facts_as
from trio_kafka.requests.parts import Parts
from trio_kafka.security.principal import Principal


async def read_requests_in_flight(
    parts: Parts,
    principal: Principal,
    *,
    keys: Collection[int] = (),
    client_id: str | None = None,
    most: int = -1,
) -> Sequence[RequestFacts]:
    """Return facts of at most `most` requests, by plane and connection; -1: of as many as the
    broker's bound allows.

    keys: only these APIs; empty: all. client_id: only this client. Raises KafkaError.
    """
    return await read_request_facts_as(
        principal, parts, keys=frozenset(keys), client_id=client_id, most=most
    )


async def read_request(
    parts: Parts, principal: Principal, connection: str, correlation: int
) -> OpenedRequest | None:
    """Return one request in detail; None: it is unknown, as it has ended long ago.

    connection: id of its connection. Raises KafkaError.
    """
    return await open_request_as(principal, parts, connection, correlation)
