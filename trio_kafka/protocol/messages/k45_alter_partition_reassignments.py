"""AlterPartitionReassignments (key 45): begin or cancel reassignments of partitions."""

from typing import ClassVar

from trio_kafka.protocol.fields import array, boolean, int16, int32, string
from trio_kafka.protocol.schema import request, response, struct


@struct
class ReassignablePartition:
    partition_index: int = int32()
    replicas: list[int] | None = array(int32, nullable="0+", default=None)


@struct
class ReassignableTopic:
    name: str = string(cached=True)
    partitions: list[ReassignablePartition] = array(ReassignablePartition)


@request(key=45, versions="0-1", flexible="0+")
class AlterPartitionReassignmentsRequest:
    """New replicas by partition; null cancels."""

    response: ClassVar[type["AlterPartitionReassignmentsResponse"]]

    timeout_ms: int = int32(default=60000)
    allow_replication_factor_change: bool = boolean("1+", default=True)
    topics: list[ReassignableTopic] = array(ReassignableTopic)


@struct
class ReassignablePartitionResponse:
    partition_index: int = int32()
    error_code: int = int16()
    error_message: str | None = string(nullable="0+")


@struct
class ReassignableTopicResponse:
    name: str = string(cached=True)
    partitions: list[ReassignablePartitionResponse] = array(ReassignablePartitionResponse)


@response(AlterPartitionReassignmentsRequest)
class AlterPartitionReassignmentsResponse:
    """An error for each partition."""

    throttle_time_ms: int = int32()
    allow_replication_factor_change: bool = boolean("1+", default=True, ignorable=True)
    error_code: int = int16()
    error_message: str | None = string(nullable="0+")
    responses: list[ReassignableTopicResponse] = array(ReassignableTopicResponse)
