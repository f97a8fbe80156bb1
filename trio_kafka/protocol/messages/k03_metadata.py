"""Metadata (key 3): list brokers, and the leaders of partitions."""

from typing import ClassVar

from trio_kafka.protocol.fields import array, boolean, int16, int32, string, uuid
from trio_kafka.protocol.schema import request, response, struct


@struct
class MetadataRequestTopic:
    topic_id: bytes = uuid("10+", ignorable=True)
    name: str | None = string(nullable="10+", cached=True)


@request(key=3, versions="0-13", flexible="9+")
class MetadataRequest:
    """The topics to describe: null is all (v1+), and so is an empty list in v0."""

    response: ClassVar[type["MetadataResponse"]]

    topics: list[MetadataRequestTopic] | None = array(MetadataRequestTopic, nullable="1+")
    allow_auto_topic_creation: bool = boolean("4+", default=True)
    include_cluster_authorized_operations: bool = boolean("8-10")
    include_topic_authorized_operations: bool = boolean("8+")


@struct
class MetadataResponseBroker:
    node_id: int = int32()
    host: str = string()
    port: int = int32()
    rack: str | None = string("1+", nullable="1+", default=None, ignorable=True)


@struct
class MetadataResponsePartition:
    error_code: int = int16()
    partition_index: int = int32()
    leader_id: int = int32()
    leader_epoch: int = int32("7+", default=-1, ignorable=True)
    replica_nodes: list[int] = array(int32)
    isr_nodes: list[int] = array(int32)
    offline_replicas: list[int] = array(int32, "5+", ignorable=True)


@struct
class MetadataResponseTopic:
    error_code: int = int16()
    name: str | None = string(nullable="12+", cached=True)
    topic_id: bytes = uuid("10+", ignorable=True)
    is_internal: bool = boolean("1+", ignorable=True)
    partitions: list[MetadataResponsePartition] = array(MetadataResponsePartition)
    topic_authorized_operations: int = int32("8+", default=-2147483648)


@response(MetadataRequest)
class MetadataResponse:
    """Brokers, and partitions by topic."""

    throttle_time_ms: int = int32("3+", ignorable=True)
    brokers: list[MetadataResponseBroker] = array(MetadataResponseBroker)
    cluster_id: str | None = string("2+", nullable="2+", default=None, ignorable=True)
    controller_id: int = int32("1+", default=-1, ignorable=True)
    topics: list[MetadataResponseTopic] = array(MetadataResponseTopic)
    cluster_authorized_operations: int = int32("8-10", default=-2147483648)
    error_code: int = int16("13+", ignorable=True)
