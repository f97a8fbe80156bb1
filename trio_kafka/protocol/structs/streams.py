"""Structs that several messages and records of streams groups share."""

from trio_kafka.protocol.fields import array, int16, int32, int64, string, uint16
from trio_kafka.protocol.schema import struct


@struct
class KeyValue:
    """Key and value of a setting or tag."""

    key: str = string()
    value: str = string()


@struct
class UserEndpoint:
    """Address that a streams client announces for interactive queries."""

    host: str = string()
    port: int = uint16()


@struct
class TaskIds:
    """Tasks of one subtopology."""

    subtopology_id: str = string()
    partitions: list[int] = array(int32)


@struct
class TaskOffset:
    """Offset of a task of a streams group."""

    subtopology_id: str = string()
    partition: int = int32()
    offset: int = int64()


@struct
class TopicInfo:
    """Internal topic of a topology."""

    name: str = string(cached=True)
    partitions: int = int32()
    replication_factor: int = int16()
    topic_configs: list[KeyValue] = array(KeyValue)


@struct
class CopartitionGroup:
    """Topics with equal numbers of partitions, by position."""

    source_topics: list[int] = array(int16)
    source_topic_regex: list[int] = array(int16)
    repartition_source_topics: list[int] = array(int16)


@struct
class Subtopology:
    """Part of a topology whose tasks are assigned together."""

    subtopology_id: str = string()
    source_topics: list[str] = array(string)
    source_topic_regex: list[str] = array(string)
    state_changelog_topics: list[TopicInfo] = array(TopicInfo)
    repartition_sink_topics: list[str] = array(string)
    repartition_source_topics: list[TopicInfo] = array(TopicInfo)
    copartition_groups: list[CopartitionGroup] = array(CopartitionGroup)
