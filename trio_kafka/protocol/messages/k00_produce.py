"""Produce (key 0): append record batches to partitions."""

from typing import ClassVar

from trio_kafka.protocol.fields import array, int16, int32, int64, records, string, struct_, uuid
from trio_kafka.protocol.schema import request, response, struct
from trio_kafka.protocol.structs.leaders import LeaderIdAndEpoch, NodeEndpoint


@struct
class PartitionProduceData:
    index: int = int32()
    records: memoryview | None = records(nullable="0+")


@struct
class TopicProduceData:
    name: str = string("0-12", ignorable=True, cached=True)
    topic_id: bytes = uuid("13+", ignorable=True)
    partition_data: list[PartitionProduceData] = array(PartitionProduceData)


@request(key=0, versions="3-13", flexible="9+")
class ProduceRequest:
    """Batches for partitions, by topic name up to v12 and by topic id from v13 on."""

    response: ClassVar[type["ProduceResponse"]]

    transactional_id: str | None = string(nullable="3+", default=None)
    acks: int = int16()
    timeout_ms: int = int32()
    topic_data: list[TopicProduceData] = array(TopicProduceData)


@struct
class BatchIndexAndErrorMessage:
    batch_index: int = int32()
    batch_index_error_message: str | None = string(nullable="8+", default=None)


@struct
class PartitionProduceResponse:
    index: int = int32()
    error_code: int = int16()
    base_offset: int = int64()
    log_append_time_ms: int = int64(default=-1, ignorable=True)
    log_start_offset: int = int64("5+", default=-1, ignorable=True)
    record_errors: list[BatchIndexAndErrorMessage] = array(
        BatchIndexAndErrorMessage, "8+", ignorable=True
    )
    error_message: str | None = string("8+", nullable="8+", default=None, ignorable=True)
    current_leader: LeaderIdAndEpoch = struct_(LeaderIdAndEpoch, "10+", tag=0)


@struct
class TopicProduceResponse:
    name: str = string("0-12", ignorable=True, cached=True)
    topic_id: bytes = uuid("13+", ignorable=True)
    partition_responses: list[PartitionProduceResponse] = array(PartitionProduceResponse)


@response(ProduceRequest)
class ProduceResponse:
    """For each partition the offset of its first record, or an error."""

    responses: list[TopicProduceResponse] = array(TopicProduceResponse)
    throttle_time_ms: int = int32(ignorable=True)
    node_endpoints: list[NodeEndpoint] = array(NodeEndpoint, "10+", tag=0)
