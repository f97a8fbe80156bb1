"""Structs of nodes, partitions and quotas that several messages and records share."""

from trio_kafka.protocol.fields import array, int16, int32, string, uint16, uuid
from trio_kafka.protocol.schema import struct


@struct
class VoterListener:
    """Address of a voter's listener."""

    name: str = string()
    host: str = string()
    port: int = uint16()


@struct
class NodeEndpoint:
    """Address of a node of the quorum."""

    node_id: int = int32()
    host: str = string()
    port: int = uint16()


@struct
class NodeListener:
    """Address of a registered node's listener."""

    name: str = string()
    host: str = string()
    port: int = uint16()
    security_protocol: int = int16()


@struct
class NodeFeature:
    """Levels of a feature that a node supports."""

    name: str = string()
    min_supported_version: int = int16()
    max_supported_version: int = int16()


@struct
class KRaftVersionFeature:
    """Levels of kraft.version that a voter supports."""

    min_supported_version: int = int16()
    max_supported_version: int = int16()


@struct
class EntityData:
    """User, client id or address that a quota applies to."""

    entity_type: str = string()
    entity_name: str | None = string(nullable="0+")


@struct
class TopicPartitions:
    """Partitions of a topic by id."""

    topic_id: bytes = uuid()
    partitions: list[int] = array(int32)
