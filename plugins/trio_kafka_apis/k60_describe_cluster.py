"""DescribeCluster (key 60): the brokers and the id of the cluster (KIP-700, KIP-919, KIP-1073).

Never waits. Anybody may ask. Brokers that have no address on this listener are left out; fenced
ones are named only to who asks for them. Controllers are asked for at their own listener.
"""

from typing import Final

from trio_kafka.plugin import NO_NODE, OF_CLUSTER, Context, ErrorCode, KafkaError, api, endpoints_on
from trio_kafka.protocol.messages.k60_describe_cluster import (
    DescribeClusterBroker,
    DescribeClusterRequest,
    DescribeClusterResponse,
)

BROKERS: Final = 1
CONTROLLERS: Final = 2


@api(DescribeClusterRequest)
def describe_cluster(request: DescribeClusterRequest, context: Context) -> DescribeClusterResponse:
    if request.endpoint_type == CONTROLLERS:
        raise KafkaError(
            ErrorCode.MISMATCHED_ENDPOINT_TYPE, "this is a broker's endpoint, not a controller's"
        )
    if request.endpoint_type != BROKERS:
        raise KafkaError(
            ErrorCode.UNSUPPORTED_ENDPOINT_TYPE, f"endpoint type {request.endpoint_type}"
        )
    image = context.metadata.image
    brokers = [
        DescribeClusterBroker(
            broker_id=one.node, host=one.host, port=one.port, rack=one.rack, is_fenced=one.fenced
        )
        for one in endpoints_on(image, context.listener)
        if request.include_fenced_brokers or not one.fenced
    ]
    alive = {broker.broker_id for broker in brokers if not broker.is_fenced}
    response = DescribeClusterResponse(
        cluster_id=image.cluster_id,
        # Clients send to any broker what is for the controller: it is passed on.
        controller_id=context.node_id if context.node_id in alive else NO_NODE,
        brokers=brokers,
    )
    if request.include_cluster_authorized_operations:
        response.cluster_authorized_operations = OF_CLUSTER
    return response
