"""ShareAcknowledge (key 79): acknowledge records as a member of a share group (KIP-932)."""

from typing import ClassVar

from trio_kafka.protocol.fields import (
    array,
    boolean,
    int16,
    int32,
    string,
    struct_,
    uuid,
)
from trio_kafka.protocol.schema import request, response, struct
from trio_kafka.protocol.structs.share import (
    AcknowledgementBatch,
    LeaderIdAndEpoch,
    ShareNodeEndpoint,
)


@struct
class AcknowledgePartition:
    partition_index: int = int32()
    acknowledgement_batches: list[AcknowledgementBatch] = array(AcknowledgementBatch)


@struct
class AcknowledgeTopic:
    topic_id: bytes = uuid()
    partitions: list[AcknowledgePartition] = array(AcknowledgePartition)


@request(key=79, versions="1-2", flexible="0+")
class ShareAcknowledgeRequest:
    """Acknowledgements by partition, in batches of offsets."""

    response: ClassVar[type["ShareAcknowledgeResponse"]]

    group_id: str | None = string(nullable="0+", default=None)
    member_id: str | None = string(nullable="0+")
    share_session_epoch: int = int32()
    is_renew_ack: bool = boolean("2+")
    topics: list[AcknowledgeTopic] = array(AcknowledgeTopic)


@struct
class PartitionData:
    partition_index: int = int32()
    error_code: int = int16()
    error_message: str | None = string(nullable="0+", default=None)
    current_leader: LeaderIdAndEpoch = struct_(LeaderIdAndEpoch)


@struct
class ShareAcknowledgeTopicResponse:
    topic_id: bytes = uuid()
    partitions: list[PartitionData] = array(PartitionData)


@response(ShareAcknowledgeRequest)
class ShareAcknowledgeResponse:
    """An error for each partition."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
    error_message: str | None = string(nullable="0+", default=None)
    acquisition_lock_timeout_ms: int = int32("2+", ignorable=True)
    responses: list[ShareAcknowledgeTopicResponse] = array(ShareAcknowledgeTopicResponse)
    node_endpoints: list[ShareNodeEndpoint] = array(ShareNodeEndpoint)
