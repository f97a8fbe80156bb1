"""ShareFetch (key 78): acquire records as a member of a share group (KIP-932)."""

from collections.abc import Sized
from typing import ClassVar

from trio_kafka.protocol.fields import (
    array,
    boolean,
    int8,
    int16,
    int32,
    int64,
    records,
    string,
    struct_,
    uuid,
)
from trio_kafka.protocol.schema import request, response, struct
from trio_kafka.protocol.structs.cluster import TopicPartitions
from trio_kafka.protocol.structs.share import (
    AcknowledgementBatch,
    LeaderIdAndEpoch,
    ShareNodeEndpoint,
)


@struct
class FetchPartition:
    partition_index: int = int32()
    partition_max_bytes: int = int32("0")
    acknowledgement_batches: list[AcknowledgementBatch] = array(AcknowledgementBatch)


@struct
class FetchTopic:
    topic_id: bytes = uuid()
    partitions: list[FetchPartition] = array(FetchPartition)


@request(key=78, versions="1-2", flexible="0+")
class ShareFetchRequest:
    """Partitions, and acknowledgements of earlier records."""

    response: ClassVar[type["ShareFetchResponse"]]

    group_id: str | None = string(nullable="0+", default=None)
    member_id: str | None = string(nullable="0+")
    share_session_epoch: int = int32()
    max_wait_ms: int = int32()
    min_bytes: int = int32()
    max_bytes: int = int32(default=0x7FFFFFFF)
    max_records: int = int32()
    batch_size: int = int32()
    share_acquire_mode: int = int8("2+", ignorable=True)
    is_renew_ack: bool = boolean("2+")
    topics: list[FetchTopic] = array(FetchTopic)
    forgotten_topics_data: list[TopicPartitions] = array(TopicPartitions)


@struct
class AcquiredRecords:
    first_offset: int = int64()
    last_offset: int = int64()
    delivery_count: int = int16()


@struct
class PartitionData:
    partition_index: int = int32()
    error_code: int = int16()
    error_message: str | None = string(nullable="0+", default=None)
    acknowledge_error_code: int = int16()
    acknowledge_error_message: str | None = string(nullable="0+", default=None)
    current_leader: LeaderIdAndEpoch = struct_(LeaderIdAndEpoch)
    records: Sized | None = records(nullable="0")
    acquired_records: list[AcquiredRecords] = array(AcquiredRecords)


@struct
class ShareFetchableTopicResponse:
    topic_id: bytes = uuid()
    partitions: list[PartitionData] = array(PartitionData)


@response(ShareFetchRequest)
class ShareFetchResponse:
    """Batches as stored, and the acquired ranges of their records."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
    error_message: str | None = string(nullable="0+", default=None)
    acquisition_lock_timeout_ms: int = int32()
    responses: list[ShareFetchableTopicResponse] = array(ShareFetchableTopicResponse)
    node_endpoints: list[ShareNodeEndpoint] = array(ShareNodeEndpoint)
