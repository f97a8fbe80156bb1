"""ConsumerGroupHeartbeat (key 68): keep a member of a consumer group (KIP-848) alive, and send
changes.
"""

from typing import ClassVar

from trio_kafka.protocol.fields import array, int16, int32, string, struct_
from trio_kafka.protocol.schema import request, response
from trio_kafka.protocol.structs.cluster import TopicPartitions
from trio_kafka.protocol.structs.groups import Assignment


@request(key=68, versions="0-1", flexible="0+")
class ConsumerGroupHeartbeatRequest:
    """The member's epoch: 0 joins, -1 leaves, -2 leaves temporarily; null fields are unchanged."""

    response: ClassVar[type["ConsumerGroupHeartbeatResponse"]]

    group_id: str = string()
    member_id: str = string()
    member_epoch: int = int32()
    instance_id: str | None = string(nullable="0+", default=None)
    rack_id: str | None = string(nullable="0+", default=None)
    rebalance_timeout_ms: int = int32(default=-1)
    subscribed_topic_names: list[str] | None = array(string, nullable="0+", default=None)
    subscribed_topic_regex: str | None = string("1+", nullable="1+", default=None)
    server_assignor: str | None = string(nullable="0+", default=None)
    topic_partitions: list[TopicPartitions] | None = array(
        TopicPartitions, nullable="0+", default=None
    )


@response(ConsumerGroupHeartbeatRequest)
class ConsumerGroupHeartbeatResponse:
    """The member's epoch, and its assignment if it changed."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
    error_message: str | None = string(nullable="0+", default=None)
    member_id: str | None = string(nullable="0+", default=None)
    member_epoch: int = int32()
    heartbeat_interval_ms: int = int32()
    assignment: Assignment | None = struct_(Assignment, nullable="0+", default=None)
