"""ReadShareGroupStateSummary (key 87): read the start offsets of a share group's partitions
(KIP-932).
"""

from typing import ClassVar

from trio_kafka.protocol.fields import array, int16, int32, int64, string, uuid
from trio_kafka.protocol.schema import request, response, struct


@struct
class PartitionData:
    partition: int = int32()
    leader_epoch: int = int32()


@struct
class ReadStateSummaryData:
    topic_id: bytes = uuid()
    partitions: list[PartitionData] = array(PartitionData)


@request(key=87, versions="0-1", flexible="0+")
class ReadShareGroupStateSummaryRequest:
    """Partitions with the epochs of their leaders."""

    response: ClassVar[type["ReadShareGroupStateSummaryResponse"]]

    group_id: str = string()
    topics: list[ReadStateSummaryData] = array(ReadStateSummaryData)


@struct
class PartitionResult:
    partition: int = int32()
    error_code: int = int16()
    error_message: str | None = string(nullable="0+", default=None)
    state_epoch: int = int32()
    leader_epoch: int = int32()
    start_offset: int = int64()
    delivery_complete_count: int = int32("1+", default=-1, ignorable=True)


@struct
class ReadStateSummaryResult:
    topic_id: bytes = uuid()
    partitions: list[PartitionResult] = array(PartitionResult)


@response(ReadShareGroupStateSummaryRequest)
class ReadShareGroupStateSummaryResponse:
    """State epochs and start offsets."""

    results: list[ReadStateSummaryResult] = array(ReadStateSummaryResult)
