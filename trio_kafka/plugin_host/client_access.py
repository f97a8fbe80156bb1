"""Facts of clients for plugins that show them; see `state_access`.

They need DESCRIBE on the cluster, as for DescribeRequests; each group of a client needs DESCRIBE on
the group, and is left out otherwise.
"""

from collections.abc import Sequence
from functools import cache
from typing import Final

from attrs import evolve

from trio_kafka.attributes import frozen
from trio_kafka.coordinators.groups.facts.client_groups import groups_of_clients
from trio_kafka.errors import KafkaError
from trio_kafka.introspect.facts.clients import ClientFacts, ClosedConnectionFacts
from trio_kafka.introspect.facts.connections import ConnectionFacts, ConnectionSearch
from trio_kafka.plugin_host.group_access import may_describe_group
from trio_kafka.plugin_host.paced_steps import paced
from trio_kafka.plugin_host.state_access import is_allowed
from trio_kafka.requests.client_facts import (
    read_client_connections,
    read_clients,
    read_closed_connections,
)
from trio_kafka.requests.connection_facts import search_connections
from trio_kafka.requests.parts import Missing, Parts
from trio_kafka.security.operations import Operation
from trio_kafka.security.principal import Principal
from trio_kafka.security.resources import DENIALS, THE_CLUSTER

CLOSED: Final = 64  # connections that were closed last
_GROUPS: Final = 16  # of one client


@frozen
class ClientPage:
    """Some clients in their order. total: client ids that there are. closed: connections that were
    closed last.
    """

    clients: Sequence[ClientFacts]
    total: int
    closed: Sequence[ClosedConnectionFacts]


@frozen
class ClientDetails:
    """Connections of one client id, or one connection; each open one with its requests so far."""

    connections: Sequence[tuple[ConnectionFacts, int]]
    closed: Sequence[ClosedConnectionFacts]
    groups: Sequence[str]


async def read_client_page_as(
    principal: Principal, parts: Parts, *, of: str = "", first: int = 0, most: int
) -> ClientPage:
    """Read some of the clients, the most troubled first.

    of: text that their ids contain, in whatever case. first: clients to skip.
    Raises KafkaError(CLUSTER_AUTHORIZATION_FAILED).
    """
    _authorize(principal, parts)
    searched = of.lower()
    clients = await paced(read_clients(parts))
    chosen = [client for client in clients if searched in client.client_id.lower()]
    shown = chosen[first : first + most]
    groups = await _groups(principal, parts, {client.client_id for client in shown})
    return ClientPage(
        [evolve(client, groups=groups.get(client.client_id, ())) for client in shown],
        len(chosen),
        read_closed_connections(parts, lambda _, client_id: searched in client_id.lower(), CLOSED),
    )


async def read_client_as(
    principal: Principal, parts: Parts, name: str, *, most: int
) -> ClientDetails:
    """Read one client. name: its id, or the id of one of its connections.

    most: of its open connections. Raises KafkaError(CLUSTER_AUTHORIZATION_FAILED).
    """
    _authorize(principal, parts)

    def is_searched(connection: str, client_id: str) -> bool:
        return name in (client_id, connection)

    connections = await paced(read_client_connections(parts, is_searched, most))
    closed = read_closed_connections(parts, is_searched, CLOSED)
    client_ids = {facts.client_id for facts, _ in connections} or {name}
    groups = await _groups(principal, parts, client_ids - {""})
    return ClientDetails(
        connections, closed, sorted({group for own in groups.values() for group in own})
    )


async def search_connections_as(
    principal: Principal, parts: Parts, *, of: str = "", most: int
) -> ConnectionSearch:
    """Read the connections that contain a text: see `connection_facts.search_connections`.

    Raises KafkaError(CLUSTER_AUTHORIZATION_FAILED).
    """
    _authorize(principal, parts)
    return await paced(search_connections(parts, of, most))


def _authorize(principal: Principal, parts: Parts) -> None:
    if not is_allowed(principal, parts, Operation.DESCRIBE):
        raise KafkaError(
            DENIALS[THE_CLUSTER.type],
            f"{principal} has no permission {Operation.DESCRIBE.name} on cluster"
            f" {THE_CLUSTER.name}: ask an administrator for it",
        )


async def _groups(
    principal: Principal, parts: Parts, client_ids: set[str]
) -> dict[str, tuple[str, ...]]:
    if isinstance(parts.groups, Missing):
        return {}
    may_see = cache(may_describe_group(principal, parts))
    return await paced(groups_of_clients(parts.groups.machines, client_ids, may_see, _GROUPS))
