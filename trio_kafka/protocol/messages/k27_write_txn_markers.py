"""WriteTxnMarkers (key 27): write a transaction coordinator's markers to partitions."""

from typing import ClassVar

from trio_kafka.protocol.fields import array, boolean, int8, int16, int32, int64, string
from trio_kafka.protocol.schema import request, response, struct


@struct
class WritableTxnMarkerTopic:
    name: str = string(cached=True)
    partition_indexes: list[int] = array(int32)


@struct
class WritableTxnMarker:
    producer_id: int = int64()
    producer_epoch: int = int16()
    transaction_result: bool = boolean()
    topics: list[WritableTxnMarkerTopic] = array(WritableTxnMarkerTopic)
    coordinator_epoch: int = int32()
    transaction_version: int = int8("2+", ignorable=True)


@request(key=27, versions="1-2", flexible="1+")
class WriteTxnMarkersRequest:
    """Markers by producer, with their partitions."""

    response: ClassVar[type["WriteTxnMarkersResponse"]]

    markers: list[WritableTxnMarker] = array(WritableTxnMarker)


@struct
class WritableTxnMarkerPartitionResult:
    partition_index: int = int32()
    error_code: int = int16()


@struct
class WritableTxnMarkerTopicResult:
    name: str = string(cached=True)
    partitions: list[WritableTxnMarkerPartitionResult] = array(WritableTxnMarkerPartitionResult)


@struct
class WritableTxnMarkerResult:
    producer_id: int = int64()
    topics: list[WritableTxnMarkerTopicResult] = array(WritableTxnMarkerTopicResult)


@response(WriteTxnMarkersRequest)
class WriteTxnMarkersResponse:
    """An error code for each partition of each producer."""

    markers: list[WritableTxnMarkerResult] = array(WritableTxnMarkerResult)
