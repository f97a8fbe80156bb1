"""DescribeCluster (key 60): describe the cluster: id, controller, brokers or controllers."""

from typing import ClassVar

from trio_kafka.protocol.fields import array, boolean, int8, int16, int32, string
from trio_kafka.protocol.schema import request, response, struct


@request(key=60, versions="0-2", flexible="0+")
class DescribeClusterRequest:
    """Options; endpoint type 1 is brokers, 2 controllers (v1+)."""

    response: ClassVar[type["DescribeClusterResponse"]]

    include_cluster_authorized_operations: bool = boolean()
    endpoint_type: int = int8("1+", default=1)
    include_fenced_brokers: bool = boolean("2+")


@struct
class DescribeClusterBroker:
    broker_id: int = int32()
    host: str = string()
    port: int = int32()
    rack: str | None = string(nullable="0+", default=None)
    is_fenced: bool = boolean("2+")


@response(DescribeClusterRequest)
class DescribeClusterResponse:
    """The cluster and its nodes."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
    error_message: str | None = string(nullable="0+", default=None)
    endpoint_type: int = int8("1+", default=1)
    cluster_id: str = string()
    controller_id: int = int32(default=-1)
    brokers: list[DescribeClusterBroker] = array(DescribeClusterBroker)
    cluster_authorized_operations: int = int32(default=-2147483648)
