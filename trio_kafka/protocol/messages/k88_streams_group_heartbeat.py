"""StreamsGroupHeartbeat (key 88): keep a member of a streams group alive (KIP-1071)."""

from typing import ClassVar

from trio_kafka.protocol.fields import (
    array,
    boolean,
    int8,
    int16,
    int32,
    int64,
    string,
    struct_,
)
from trio_kafka.protocol.schema import request, response, struct
from trio_kafka.protocol.structs.streams import (
    KeyValue,
    Subtopology,
    TaskIds,
    TaskOffset,
    UserEndpoint,
)


@struct
class Topology:
    epoch: int = int32()
    subtopologies: list[Subtopology] = array(Subtopology)


@request(key=88, versions="0-1", flexible="0+")
class StreamsGroupHeartbeatRequest:
    """The member, its topology and its tasks; null fields are unchanged."""

    response: ClassVar[type["StreamsGroupHeartbeatResponse"]]

    group_id: str = string()
    member_id: str = string()
    member_epoch: int = int32()
    endpoint_information_epoch: int = int32()
    instance_id: str | None = string(nullable="0+", default=None)
    rack_id: str | None = string(nullable="0+", default=None)
    rebalance_timeout_ms: int = int32(default=-1)
    topology: Topology | None = struct_(Topology, nullable="0+", default=None)
    active_tasks: list[TaskIds] | None = array(TaskIds, nullable="0+", default=None)
    standby_tasks: list[TaskIds] | None = array(TaskIds, nullable="0+", default=None)
    warmup_tasks: list[TaskIds] | None = array(TaskIds, nullable="0+", default=None)
    process_id: str | None = string(nullable="0+", default=None)
    user_endpoint: UserEndpoint | None = struct_(UserEndpoint, nullable="0+", default=None)
    client_tags: list[KeyValue] | None = array(KeyValue, nullable="0+", default=None)
    task_offsets: list[TaskOffset] | None = array(TaskOffset, nullable="0+", default=None)
    task_end_offsets: list[TaskOffset] | None = array(TaskOffset, nullable="0+", default=None)
    shutdown_application: bool = boolean()


@struct
class Status:
    status_code: int = int8()
    status_detail: str = string()


@struct
class TopicPartition:
    topic: str = string(cached=True)
    partitions: list[int] = array(int32)


@struct
class EndpointToPartitions:
    user_endpoint: UserEndpoint = struct_(UserEndpoint)
    active_partitions: list[TopicPartition] = array(TopicPartition)
    standby_partitions: list[TopicPartition] = array(TopicPartition)


@response(StreamsGroupHeartbeatRequest)
class StreamsGroupHeartbeatResponse:
    """The member's epoch, its tasks if they changed, and the group's problems."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
    error_message: str | None = string(nullable="0+", default=None)
    member_id: str = string()
    member_epoch: int = int32()
    heartbeat_interval_ms: int = int32()
    acceptable_recovery_lag_legacy: int = int32("0")
    task_offset_interval_ms: int = int32()
    acceptable_recovery_lag: int = int64("1+", default=-1, ignorable=True)
    status: list[Status] | None = array(Status, nullable="0+")
    active_tasks: list[TaskIds] | None = array(TaskIds, nullable="0+", default=None)
    standby_tasks: list[TaskIds] | None = array(TaskIds, nullable="0+", default=None)
    warmup_tasks: list[TaskIds] | None = array(TaskIds, nullable="0+", default=None)
    topology_description_required: bool = boolean("1+")
    endpoint_information_epoch: int = int32()
    partitions_by_user_endpoint: list[EndpointToPartitions] | None = array(
        EndpointToPartitions, nullable="0+", default=None
    )
