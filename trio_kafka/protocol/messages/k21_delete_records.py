"""DeleteRecords (key 21): delete the records before an offset."""

from typing import ClassVar

from trio_kafka.protocol.schema import array, int16, int32, int64, request, response, string, struct


@struct
class DeleteRecordsPartition:
    partition_index: int = int32()
    offset: int = int64()


@struct
class DeleteRecordsTopic:
    name: str = string(cached=True)
    partitions: list[DeleteRecordsPartition] = array(DeleteRecordsPartition)


@request(key=21, versions="0-2", flexible="2+")
class DeleteRecordsRequest:
    """An offset for each partition; -1 is the high watermark."""

    response: ClassVar[type["DeleteRecordsResponse"]]

    topics: list[DeleteRecordsTopic] = array(DeleteRecordsTopic)
    timeout_ms: int = int32()


@struct
class DeleteRecordsPartitionResult:
    partition_index: int = int32()
    low_watermark: int = int64()
    error_code: int = int16()


@struct
class DeleteRecordsTopicResult:
    name: str = string(cached=True)
    partitions: list[DeleteRecordsPartitionResult] = array(DeleteRecordsPartitionResult)


@response(DeleteRecordsRequest)
class DeleteRecordsResponse:
    """The new first offset of each partition."""

    throttle_time_ms: int = int32()
    topics: list[DeleteRecordsTopicResult] = array(DeleteRecordsTopicResult)
