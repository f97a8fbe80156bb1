"""Reading of the open connections."""

from collections.abc import Sequence

from trio_kafka.introspect.facts.connections import ConnectionFacts, ConnectionSearch
from trio_kafka.plugin_host.client_access import search_connections_as
from trio_kafka.plugin_host.state_access import read_connections_as
from trio_kafka.requests.parts import Parts
from trio_kafka.security.principal import Principal


async def read_connections(
    parts: Parts, principal: Principal, *, most: int = -1
) -> Sequence[ConnectionFacts]:
    """Return facts of at most `most` connections, by plane and processor; -1: of as many as the
    broker's bound allows. Raises KafkaError.
    """
    return await read_connections_as(principal, parts, most=most)


async def search_connections(
    parts: Parts, principal: Principal, *, of: str, most: int
) -> ConnectionSearch:
    """Return the connections that contain a text, at most `most`. Raises KafkaError."""
    return await search_connections_as(principal, parts, of=of, most=most)
