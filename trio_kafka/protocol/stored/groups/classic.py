"""Records of classic groups, and the offsets of all kinds of groups."""

from trio_kafka.protocol.schema import array, bytes_, int32, int64, record, string, struct, uuid


@record(key=0, versions="0")
class LegacyOffsetCommitKey:
    """OffsetCommitKey of type 0: read from old logs, never written."""

    group: str = string()
    topic: str = string()
    partition: int = int32()


@record(key=0, versions="0")
class LegacyOffsetCommitValue:
    """Value of a LegacyOffsetCommitKey."""

    offset: int = int64()
    metadata: str = string()
    commit_timestamp: int = int64()


@record(key=1, versions="0")
class OffsetCommitKey:
    """A group's offset in a partition."""

    group: str = string()
    topic: str = string()
    partition: int = int32()


@record(key=1, versions="0-4", flexible="4+")
class OffsetCommitValue:
    """Committed offset with its commit time."""

    offset: int = int64()
    leader_epoch: int = int32("3+", default=-1, ignorable=True)
    metadata: str = string()
    commit_timestamp: int = int64()
    expire_timestamp: int = int64("1", default=-1, ignorable=True)
    topic_id: bytes = uuid("4+", tag=0, ignorable=True)


@record(key=2, versions="0")
class GroupMetadataKey:
    """A classic group."""

    group: str = string()


@struct
class MemberMetadata:
    member_id: str = string()
    group_instance_id: str | None = string("3+", nullable="3+", default=None, ignorable=True)
    client_id: str = string()
    client_host: str = string()
    rebalance_timeout: int = int32("1+", default=-1, ignorable=True)
    session_timeout: int = int32()
    subscription: bytes = bytes_()
    assignment: bytes = bytes_()


@record(key=2, versions="0-4", flexible="4+")
class GroupMetadataValue:
    """The group's generation, with members and their assignments."""

    protocol_type: str = string()
    generation: int = int32()
    protocol: str | None = string(nullable="0+")
    leader: str | None = string(nullable="0+")
    current_state_timestamp: int = int64("2+", default=-1, ignorable=True)
    members: list[MemberMetadata] = array(MemberMetadata)
