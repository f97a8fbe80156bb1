"""CreateTopics (key 19): create topics."""

from typing import ClassVar

from trio_kafka.protocol.fields import array, boolean, int8, int16, int32, string, uuid
from trio_kafka.protocol.schema import request, response, struct


@struct
class CreatableReplicaAssignment:
    partition_index: int = int32()
    broker_ids: list[int] = array(int32)


@struct
class CreatableTopicConfig:
    name: str = string()
    value: str | None = string(nullable="0+")


@struct
class CreatableTopic:
    name: str = string(cached=True)
    num_partitions: int = int32()
    replication_factor: int = int16()
    assignments: list[CreatableReplicaAssignment] = array(CreatableReplicaAssignment)
    configs: list[CreatableTopicConfig] = array(CreatableTopicConfig)


@request(key=19, versions="2-7", flexible="5+")
class CreateTopicsRequest:
    """Topics by counts (-1: the broker's default, v4+) or by assignment."""

    response: ClassVar[type["CreateTopicsResponse"]]

    topics: list[CreatableTopic] = array(CreatableTopic)
    timeout_ms: int = int32(default=60000)
    validate_only: bool = boolean()


@struct
class CreatableTopicConfigs:
    name: str = string()
    value: str | None = string(nullable="5+")
    read_only: bool = boolean()
    config_source: int = int8(default=-1, ignorable=True)
    is_sensitive: bool = boolean()


@struct
class CreatableTopicResult:
    name: str = string(cached=True)
    topic_id: bytes = uuid("7+", ignorable=True)
    error_code: int = int16()
    error_message: str | None = string(nullable="0+", ignorable=True)
    topic_config_error_code: int = int16("5+", tag=0, ignorable=True)
    num_partitions: int = int32("5+", default=-1, ignorable=True)
    replication_factor: int = int16("5+", default=-1, ignorable=True)
    configs: list[CreatableTopicConfigs] | None = array(
        CreatableTopicConfigs, "5+", nullable="5+", ignorable=True
    )


@response(CreateTopicsRequest)
class CreateTopicsResponse:
    """Properties of each created topic (v5+), or an error."""

    throttle_time_ms: int = int32(ignorable=True)
    topics: list[CreatableTopicResult] = array(CreatableTopicResult)
