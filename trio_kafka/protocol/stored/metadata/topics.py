"""Metadata records of topics and their partitions."""

from trio_kafka.protocol.schema import array, int8, int32, record, string, uuid


@record(key=2, versions="0", flexible="0+")
class TopicRecord:
    """Creation of a topic."""

    name: str = string(cached=True)
    topic_id: bytes = uuid()


@record(key=3, versions="0-2", flexible="0+")
class PartitionRecord:
    """Creation of a partition, with its first state."""

    partition_id: int = int32(default=-1)
    topic_id: bytes = uuid()
    replicas: list[int] = array(int32)
    isr: list[int] = array(int32)
    removing_replicas: list[int] = array(int32)
    adding_replicas: list[int] = array(int32)
    leader: int = int32(default=-1)
    leader_recovery_state: int = int8(tag=0)
    leader_epoch: int = int32(default=-1)
    partition_epoch: int = int32(default=-1)
    directories: list[bytes] = array(uuid, "1+")
    eligible_leader_replicas: list[int] | None = array(
        int32, "2+", nullable="2+", tag=1, default=None
    )
    last_known_elr: list[int] | None = array(int32, "2+", nullable="2+", tag=2, default=None)


@record(key=5, versions="0-2", flexible="0+")
class PartitionChangeRecord:
    """Change of a partition's state; unchanged fields are null, leader -2 and recovery -1."""

    partition_id: int = int32(default=-1)
    topic_id: bytes = uuid()
    isr: list[int] | None = array(int32, nullable="0+", tag=0, default=None)
    leader: int = int32(tag=1, default=-2)
    replicas: list[int] | None = array(int32, nullable="0+", tag=2, default=None)
    removing_replicas: list[int] | None = array(int32, nullable="0+", tag=3, default=None)
    adding_replicas: list[int] | None = array(int32, nullable="0+", tag=4, default=None)
    leader_recovery_state: int = int8(tag=5, default=-1)
    directories: list[bytes] | None = array(uuid, "1+", nullable="1+", tag=8, default=None)
    eligible_leader_replicas: list[int] | None = array(
        int32, "2+", nullable="2+", tag=6, default=None
    )
    last_known_elr: list[int] | None = array(int32, "2+", nullable="2+", tag=7, default=None)


@record(key=9, versions="0", flexible="0+")
class RemoveTopicRecord:
    """Removal of a topic with its partitions and settings."""

    topic_id: bytes = uuid()


@record(key=28, versions="0", flexible="0+")
class ClearElrRecord:
    """Removal of the eligible leader replicas of a topic's partitions; empty name: all topics."""

    topic_name: str = string(cached=True)
