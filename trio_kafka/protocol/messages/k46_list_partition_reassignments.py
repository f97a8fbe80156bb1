"""ListPartitionReassignments (key 46): list reassignments in progress."""

from typing import ClassVar

from trio_kafka.protocol.schema import array, int16, int32, request, response, string, struct


@struct
class ListPartitionReassignmentsTopics:
    name: str = string(cached=True)
    partition_indexes: list[int] = array(int32)


@request(key=46, versions="0", flexible="0+")
class ListPartitionReassignmentsRequest:
    """Partitions: null is all."""

    response: ClassVar[type["ListPartitionReassignmentsResponse"]]

    timeout_ms: int = int32(default=60000)
    topics: list[ListPartitionReassignmentsTopics] | None = array(
        ListPartitionReassignmentsTopics, nullable="0+", default=None
    )


@struct
class OngoingPartitionReassignment:
    partition_index: int = int32()
    replicas: list[int] = array(int32)
    adding_replicas: list[int] = array(int32)
    removing_replicas: list[int] = array(int32)


@struct
class OngoingTopicReassignment:
    name: str = string(cached=True)
    partitions: list[OngoingPartitionReassignment] = array(OngoingPartitionReassignment)


@response(ListPartitionReassignmentsRequest)
class ListPartitionReassignmentsResponse:
    """Replicas, and those being added and removed."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
    error_message: str | None = string(nullable="0+")
    topics: list[OngoingTopicReassignment] = array(OngoingTopicReassignment)
