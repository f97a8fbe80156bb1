"""Records of streams groups (KIP-1071)."""

from trio_kafka.protocol.fields import array, int8, int16, int32, int64, string, struct_
from trio_kafka.protocol.schema import record, struct
from trio_kafka.protocol.structs.streams import (
    KeyValue,
    Subtopology,
    TaskIds,
    UserEndpoint,
)


@record(key=17, versions="0")
class StreamsGroupMetadataKey:
    """A streams group."""

    group_id: str = string()


@record(key=17, versions="0", flexible="0+")
class StreamsGroupMetadataValue:
    """The group's epoch."""

    epoch: int = int32()
    metadata_hash: int = int64()
    validated_topology_epoch: int = int32(tag=0, default=-1)
    last_assignment_configs: list[KeyValue] | None = array(KeyValue, nullable="0+", tag=1)
    stored_description_topology_epoch: int = int32(tag=2, default=-1)
    failed_description_topology_epoch: int = int32(tag=3, default=-1)


@record(key=19, versions="0")
class StreamsGroupMemberMetadataKey:
    """A member of a streams group."""

    group_id: str = string()
    member_id: str = string()


@record(key=19, versions="0", flexible="0+")
class StreamsGroupMemberMetadataValue:
    """State that a member reported."""

    instance_id: str | None = string(nullable="0+")
    rack_id: str | None = string(nullable="0+")
    client_id: str = string()
    client_host: str = string()
    rebalance_timeout_ms: int = int32(default=-1)
    topology_epoch: int = int32()
    process_id: str = string()
    user_endpoint: UserEndpoint | None = struct_(UserEndpoint, nullable="0+", default=None)
    client_tags: list[KeyValue] = array(KeyValue)


@record(key=20, versions="0")
class StreamsGroupTargetAssignmentMetadataKey:
    """The target assignment of a group."""

    group_id: str = string()


@record(key=20, versions="0", flexible="0+")
class StreamsGroupTargetAssignmentMetadataValue:
    """The epoch of the target assignment."""

    assignment_epoch: int = int32()
    assignment_timestamp: int = int64(tag=0, ignorable=True)


@record(key=21, versions="0")
class StreamsGroupTargetAssignmentMemberKey:
    """The target assignment of a member."""

    group_id: str = string()
    member_id: str = string()


@record(key=21, versions="0", flexible="0+")
class StreamsGroupTargetAssignmentMemberValue:
    """Target tasks of a member."""

    active_tasks: list[TaskIds] = array(TaskIds)
    standby_tasks: list[TaskIds] = array(TaskIds)
    warmup_tasks: list[TaskIds] = array(TaskIds)


@record(key=22, versions="0")
class StreamsGroupCurrentMemberAssignmentKey:
    """Current assignment of a member."""

    group_id: str = string()
    member_id: str = string()


@struct
class CurrentTaskIds:
    subtopology_id: str = string()
    partitions: list[int] = array(int32)
    assignment_epochs: list[int] | None = array(int32, nullable="0+", tag=0)


@record(key=22, versions="0", flexible="0+")
class StreamsGroupCurrentMemberAssignmentValue:
    """Tasks that a member has, and those that it must revoke."""

    member_epoch: int = int32()
    previous_member_epoch: int = int32()
    state: int = int8()
    active_tasks: list[CurrentTaskIds] = array(CurrentTaskIds)
    standby_tasks: list[CurrentTaskIds] = array(CurrentTaskIds)
    warmup_tasks: list[CurrentTaskIds] = array(CurrentTaskIds)
    active_tasks_pending_revocation: list[CurrentTaskIds] = array(CurrentTaskIds)
    standby_tasks_pending_revocation: list[CurrentTaskIds] = array(CurrentTaskIds)
    warmup_tasks_pending_revocation: list[CurrentTaskIds] = array(CurrentTaskIds)


@record(key=23, versions="0")
class StreamsGroupTopologyKey:
    """The topology of a group."""

    group_id: str = string()


@struct
class TopicInfo:
    name: str = string()
    partitions: int = int32()
    replication_factor: int = int16()
    topic_configs: list[KeyValue] = array(KeyValue)


@record(key=23, versions="0", flexible="0+")
class StreamsGroupTopologyValue:
    """Subtopologies with their topics."""

    epoch: int = int32()
    subtopologies: list[Subtopology] = array(Subtopology)
