"""Records of share groups (KIP-932)."""

from trio_kafka.protocol.schema import array, int8, int32, int64, record, string, struct, uuid
from trio_kafka.protocol.structs.cluster import TopicPartitions


@record(key=10, versions="0")
class ShareGroupMemberMetadataKey:
    """A member of a share group."""

    group_id: str = string()
    member_id: str = string()


@record(key=10, versions="0", flexible="0+")
class ShareGroupMemberMetadataValue:
    """State that a member reported."""

    rack_id: str | None = string(nullable="0+")
    client_id: str = string()
    client_host: str = string()
    subscribed_topic_names: list[str] = array(string)


@record(key=11, versions="0")
class ShareGroupMetadataKey:
    """A share group."""

    group_id: str = string()


@record(key=11, versions="0", flexible="0+")
class ShareGroupMetadataValue:
    """The group's epoch."""

    epoch: int = int32()
    metadata_hash: int = int64()


@record(key=12, versions="0")
class ShareGroupTargetAssignmentMetadataKey:
    """The target assignment of a group."""

    group_id: str = string()


@record(key=12, versions="0", flexible="0+")
class ShareGroupTargetAssignmentMetadataValue:
    """The epoch of the target assignment."""

    assignment_epoch: int = int32()
    assignment_timestamp: int = int64(tag=0, ignorable=True)


@record(key=13, versions="0")
class ShareGroupTargetAssignmentMemberKey:
    """The target assignment of a member."""

    group_id: str = string()
    member_id: str = string()


@record(key=13, versions="0", flexible="0+")
class ShareGroupTargetAssignmentMemberValue:
    """Target partitions of a member."""

    topic_partitions: list[TopicPartitions] = array(TopicPartitions)


@record(key=14, versions="0")
class ShareGroupCurrentMemberAssignmentKey:
    """Current assignment of a member."""

    group_id: str = string()
    member_id: str = string()


@record(key=14, versions="0", flexible="0+")
class ShareGroupCurrentMemberAssignmentValue:
    """Partitions that a member has."""

    member_epoch: int = int32()
    previous_member_epoch: int = int32()
    state: int = int8()
    assigned_partitions: list[TopicPartitions] = array(TopicPartitions)


@record(key=15, versions="0")
class ShareGroupStatePartitionMetadataKey:
    """Partitions for which a group has share state."""

    group_id: str = string()


@struct
class TopicPartitionsInfo:
    topic_id: bytes = uuid()
    topic_name: str = string()
    partitions: list[int] = array(int32)


@struct
class TopicInfo:
    topic_id: bytes = uuid()
    topic_name: str = string()


@record(key=15, versions="0", flexible="0+")
class ShareGroupStatePartitionMetadataValue:
    """Topics whose state is being initialized, exists, or is being deleted."""

    initializing_topics: list[TopicPartitionsInfo] = array(TopicPartitionsInfo)
    initialized_topics: list[TopicPartitionsInfo] = array(TopicPartitionsInfo)
    deleting_topics: list[TopicInfo] = array(TopicInfo)
