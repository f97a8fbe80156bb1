"""Call that describes the cluster: id, controller, brokers."""

from collections.abc import Iterator, Sequence
from typing import Final

from trio_kafka.attributes import frozen
from trio_kafka.clients.admin.authorized import operations_of
from trio_kafka.clients.admin.calls.call import (
    Call,
    Plan,
    Rejection,
    as_older,
    perform_single,
    result_of,
)
from trio_kafka.clients.admin.calls.targets import ANY
from trio_kafka.protocol.messages.k03_metadata import MetadataRequest, MetadataResponse
from trio_kafka.protocol.messages.k60_describe_cluster import (
    DescribeClusterRequest,
    DescribeClusterResponse,
)

_TARGETS: Final = {None: ANY}


@frozen(kw_only=True)
class ClusterNode:
    """A broker of the cluster. is_fenced: registered, but serves no clients."""

    node_id: int
    host: str
    port: int
    rack: str | None = None
    is_fenced: bool = False


@frozen(kw_only=True)
class ClusterDescription:
    """A cluster. controller_id: -1: there is none; brokers of KRaft name any broker.

    authorized_operations: see `TopicDescription`.
    """

    cluster_id: str | None
    controller_id: int
    nodes: tuple[ClusterNode, ...]
    authorized_operations: frozenset[str] | None = None


def describe_cluster(
    *, include_authorized_operations: bool = False, include_fenced_brokers: bool = False
) -> Plan[ClusterDescription]:
    """Describe the cluster. include_fenced_brokers: needs a broker of Kafka 4.0 or later."""
    older: Call[None, MetadataResponse, ClusterDescription] = Call(
        targets=_TARGETS,
        request=lambda _items, _timeout_ms: MetadataRequest(
            topics=[], allow_auto_topic_creation=False
        ),
        read=_read_metadata,
    )
    call: Call[None, DescribeClusterResponse, ClusterDescription] = Call(
        targets=_TARGETS,
        request=lambda _items, _timeout_ms: DescribeClusterRequest(
            include_cluster_authorized_operations=include_authorized_operations,
            include_fenced_brokers=include_fenced_brokers,
        ),
        read=_read_cluster,
        older=None if include_fenced_brokers else as_older(older),
    )
    return perform_single(call)


def _read_cluster(
    response: DescribeClusterResponse, _items: Sequence[None]
) -> Iterator[tuple[None, ClusterDescription | Rejection]]:
    description = ClusterDescription(
        cluster_id=response.cluster_id,
        controller_id=response.controller_id,
        nodes=tuple(
            ClusterNode(
                node_id=row.broker_id,
                host=row.host,
                port=row.port,
                rack=row.rack,
                is_fenced=row.is_fenced,
            )
            for row in sorted(response.brokers, key=lambda row: row.broker_id)
        ),
        authorized_operations=operations_of(response.cluster_authorized_operations),
    )
    yield None, result_of(response.error_code, response.error_message, description)


def _read_metadata(
    response: MetadataResponse, _items: Sequence[None]
) -> Iterator[tuple[None, ClusterDescription | Rejection]]:
    nodes = (
        ClusterNode(node_id=row.node_id, host=row.host, port=row.port, rack=row.rack)
        for row in sorted(response.brokers, key=lambda row: row.node_id)
    )
    description = ClusterDescription(
        cluster_id=response.cluster_id, controller_id=response.controller_id, nodes=tuple(nodes)
    )
    yield None, description
