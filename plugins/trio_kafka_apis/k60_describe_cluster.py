"""DescribeCluster (key 60): describe the brokers and the id of the cluster.

Never waits. Brokers without an address on this listener are left out; fenced ones are included only
on request. Controllers are described at their own listener. Source: KIP-700, KIP-919, KIP-1073.

Needs no permission, as in Kafka. Authorized operations of the cluster need DESCRIBE on it; without
it the set is empty.
"""

from typing import Final

from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.metadata.endpoints import endpoints_on
from trio_kafka.model import NO_NODE
from trio_kafka.protocol.messages.k60_describe_cluster import (
    DescribeClusterBroker,
    DescribeClusterRequest,
    DescribeClusterResponse,
)
from trio_kafka.requests.api import api
from trio_kafka.requests.context import Context
from trio_kafka.security.operations import Operation

BROKERS: Final = 1
CONTROLLERS: Final = 2


@api(DescribeClusterRequest)
def describe_cluster(request: DescribeClusterRequest, context: Context) -> DescribeClusterResponse:
    if request.endpoint_type == CONTROLLERS:
        raise KafkaError(
            ErrorCode.MISMATCHED_ENDPOINT_TYPE,
            "this is the endpoint of a broker: expected endpoint type 1",
        )
    if request.endpoint_type != BROKERS:
        raise KafkaError(
            ErrorCode.UNSUPPORTED_ENDPOINT_TYPE,
            f"endpoint type {request.endpoint_type}: expected 1 (brokers)",
        )
    image = context.image
    brokers = [
        DescribeClusterBroker(
            broker_id=broker.node,
            host=broker.host,
            port=broker.port,
            rack=broker.rack,
            is_fenced=broker.fenced,
        )
        for broker in endpoints_on(image, context.listener)
        if request.include_fenced_brokers or not broker.fenced
    ]
    alive = {broker.broker_id for broker in brokers if not broker.is_fenced}
    response = DescribeClusterResponse(
        cluster_id=image.cluster_id,
        # Clients send controller requests to any broker, which forwards them.
        controller_id=context.node_id if context.node_id in alive else NO_NODE,
        brokers=brokers,
    )
    if request.include_cluster_authorized_operations:
        may_describe = context.is_authorized(Operation.DESCRIBE, cluster=True)
        allowed = context.authorized_operations(cluster=True) if may_describe else 0
        response.cluster_authorized_operations = allowed
    return response
