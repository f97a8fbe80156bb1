"""Records of consumer groups (KIP-848)."""

from trio_kafka.protocol.fields import array, bytes_, int8, int32, int64, string, struct_, uuid
from trio_kafka.protocol.schema import record, struct
from trio_kafka.protocol.structs.cluster import TopicPartitions


@record(key=3, versions="0")
class ConsumerGroupMetadataKey:
    """A consumer group."""

    group_id: str = string()


@record(key=3, versions="0", flexible="0+")
class ConsumerGroupMetadataValue:
    """The group's epoch."""

    epoch: int = int32()
    metadata_hash: int = int64(tag=0)


@record(key=4, versions="0")
class ConsumerGroupPartitionMetadataKey:
    """The partitions that a group was assigned from; no longer written."""

    group_id: str = string()


@struct
class PartitionMetadata:
    partition: int = int32()
    racks: list[str] = array(string)


@struct
class TopicMetadata:
    topic_id: bytes = uuid()
    topic_name: str = string()
    num_partitions: int = int32()
    partition_metadata: list[PartitionMetadata] = array(PartitionMetadata)


@record(key=4, versions="0", flexible="0+")
class ConsumerGroupPartitionMetadataValue:
    """Topics with their numbers of partitions."""

    topics: list[TopicMetadata] = array(TopicMetadata)


@record(key=5, versions="0")
class ConsumerGroupMemberMetadataKey:
    """A member of a consumer group."""

    group_id: str = string()
    member_id: str = string()


@struct
class ClassicProtocol:
    name: str = string()
    metadata: bytes = bytes_()


@struct
class ClassicMemberMetadata:
    session_timeout_ms: int = int32()
    supported_protocols: list[ClassicProtocol] = array(ClassicProtocol)


@record(key=5, versions="0", flexible="0+")
class ConsumerGroupMemberMetadataValue:
    """State that a member reported."""

    instance_id: str | None = string(nullable="0+")
    rack_id: str | None = string(nullable="0+")
    client_id: str = string()
    client_host: str = string()
    subscribed_topic_names: list[str] = array(string)
    subscribed_topic_regex: str | None = string(nullable="0+")
    rebalance_timeout_ms: int = int32(default=-1)
    server_assignor: str | None = string(nullable="0+")
    classic_member_metadata: ClassicMemberMetadata | None = struct_(
        ClassicMemberMetadata, nullable="0+", tag=0
    )


@record(key=6, versions="0")
class ConsumerGroupTargetAssignmentMetadataKey:
    """The target assignment of a group."""

    group_id: str = string()


@record(key=6, versions="0", flexible="0+")
class ConsumerGroupTargetAssignmentMetadataValue:
    """The epoch of the target assignment."""

    assignment_epoch: int = int32()
    assignment_timestamp: int = int64(tag=0, ignorable=True)


@record(key=7, versions="0")
class ConsumerGroupTargetAssignmentMemberKey:
    """The target assignment of a member."""

    group_id: str = string()
    member_id: str = string()


@record(key=7, versions="0", flexible="0+")
class ConsumerGroupTargetAssignmentMemberValue:
    """Target partitions of a member."""

    topic_partitions: list[TopicPartitions] = array(TopicPartitions)


@record(key=8, versions="0")
class ConsumerGroupCurrentMemberAssignmentKey:
    """Current assignment of a member."""

    group_id: str = string()
    member_id: str = string()


@struct
class CurrentTopicPartitions:
    topic_id: bytes = uuid()
    partitions: list[int] = array(int32)
    assignment_epochs: list[int] | None = array(int32, nullable="0+", tag=0)


@record(key=8, versions="0", flexible="0+")
class ConsumerGroupCurrentMemberAssignmentValue:
    """Partitions that a member has, and those that it must revoke."""

    member_epoch: int = int32()
    previous_member_epoch: int = int32()
    state: int = int8()
    assigned_partitions: list[CurrentTopicPartitions] = array(CurrentTopicPartitions)
    partitions_pending_revocation: list[CurrentTopicPartitions] = array(CurrentTopicPartitions)


@record(key=16, versions="0")
class ConsumerGroupRegularExpressionKey:
    """A regular expression by which members of a group subscribe."""

    group_id: str = string()
    regular_expression: str = string()


@record(key=16, versions="0", flexible="0+")
class ConsumerGroupRegularExpressionValue:
    """Topics that an expression matched, and when."""

    topics: list[str] = array(string)
    version: int = int64()
    timestamp: int = int64()
