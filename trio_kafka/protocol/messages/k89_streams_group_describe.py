"""StreamsGroupDescribe (key 89): describe streams groups (KIP-1071)."""

from typing import ClassVar

from trio_kafka.protocol.fields import (
    array,
    boolean,
    int8,
    int16,
    int32,
    string,
    struct_,
)
from trio_kafka.protocol.schema import request, response, struct
from trio_kafka.protocol.structs.streams import (
    KeyValue,
    TaskIds,
    TaskOffset,
    TopicInfo,
    UserEndpoint,
)


@request(key=89, versions="0-1", flexible="0+")
class StreamsGroupDescribeRequest:
    """Describe streams groups (KIP-1071): epochs, topology, members and tasks."""

    response: ClassVar[type["StreamsGroupDescribeResponse"]]

    group_ids: list[str] = array(string)
    include_authorized_operations: bool = boolean()
    include_topology_description: bool = boolean("1+")


@struct
class Subtopology:
    subtopology_id: str = string()
    source_topics: list[str] = array(string)
    repartition_sink_topics: list[str] = array(string)
    state_changelog_topics: list[TopicInfo] = array(TopicInfo)
    repartition_source_topics: list[TopicInfo] = array(TopicInfo)


@struct
class Topology:
    epoch: int = int32()
    subtopologies: list[Subtopology] | None = array(Subtopology, nullable="0+", default=None)


@struct
class Assignment:
    active_tasks: list[TaskIds] = array(TaskIds)
    standby_tasks: list[TaskIds] = array(TaskIds)
    warmup_tasks: list[TaskIds] = array(TaskIds)


@struct
class Member:
    member_id: str = string()
    member_epoch: int = int32()
    instance_id: str | None = string(nullable="0+", default=None)
    rack_id: str | None = string(nullable="0+", default=None)
    client_id: str = string()
    client_host: str = string()
    topology_epoch: int = int32()
    process_id: str = string()
    user_endpoint: UserEndpoint | None = struct_(UserEndpoint, nullable="0+", default=None)
    client_tags: list[KeyValue] = array(KeyValue)
    task_offsets: list[TaskOffset] = array(TaskOffset)
    task_end_offsets: list[TaskOffset] = array(TaskOffset)
    assignment: Assignment = struct_(Assignment)
    target_assignment: Assignment = struct_(Assignment)
    is_classic: bool = boolean()


@struct
class TopologyDescriptionNode:
    name: str = string()
    node_type: int = int8()
    source_topics: list[str] = array(string)
    sink_topic: str | None = string(nullable="1+", default=None, cached=True)
    stores: list[str] = array(string)
    successors: list[str] = array(string)


@struct
class TopologyDescriptionSubtopology:
    subtopology_id: str = string()
    nodes: list[TopologyDescriptionNode] = array(TopologyDescriptionNode)


@struct
class TopologyDescriptionGlobalStore:
    source: TopologyDescriptionNode = struct_(TopologyDescriptionNode)
    processor: TopologyDescriptionNode = struct_(TopologyDescriptionNode)


@struct
class TopologyDescription:
    subtopologies: list[TopologyDescriptionSubtopology] = array(TopologyDescriptionSubtopology)
    global_stores: list[TopologyDescriptionGlobalStore] = array(TopologyDescriptionGlobalStore)


@struct
class DescribedGroup:
    error_code: int = int16()
    error_message: str | None = string(nullable="0+", default=None)
    group_id: str = string()
    group_state: str = string()
    group_epoch: int = int32()
    assignment_epoch: int = int32()
    topology: Topology | None = struct_(Topology, nullable="0+", default=None)
    members: list[Member] = array(Member)
    authorized_operations: int = int32(default=-2147483648)
    topology_description: TopologyDescription | None = struct_(
        TopologyDescription, "1+", nullable="1+", default=None
    )
    topology_description_status: int = int8("1+")
    assignor_name: str | None = string("1+", nullable="1+", default=None, ignorable=True)


@response(StreamsGroupDescribeRequest)
class StreamsGroupDescribeResponse:
    """Epochs, topology, members and tasks of each group."""

    throttle_time_ms: int = int32()
    groups: list[DescribedGroup] = array(DescribedGroup)
