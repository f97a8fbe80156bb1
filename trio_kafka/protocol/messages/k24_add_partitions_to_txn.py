"""AddPartitionsToTxn (key 24): add partitions to transactions."""

from typing import ClassVar

from trio_kafka.protocol.fields import array, boolean, int16, int32, int64, string
from trio_kafka.protocol.schema import request, response, struct


@struct
class AddPartitionsToTxnTopic:
    name: str = string(cached=True)
    partitions: list[int] = array(int32)


@struct
class AddPartitionsToTxnTransaction:
    transactional_id: str = string()
    producer_id: int = int64()
    producer_epoch: int = int16()
    verify_only: bool = boolean()
    topics: list[AddPartitionsToTxnTopic] = array(AddPartitionsToTxnTopic)


@request(key=24, versions="0-5", flexible="3+")
class AddPartitionsToTxnRequest:
    """One transaction up to v3; several from v4 on, by brokers alone."""

    response: ClassVar[type["AddPartitionsToTxnResponse"]]

    transactions: list[AddPartitionsToTxnTransaction] = array(AddPartitionsToTxnTransaction, "4+")
    v3_and_below_transactional_id: str = string("0-3")
    v3_and_below_producer_id: int = int64("0-3")
    v3_and_below_producer_epoch: int = int16("0-3")
    v3_and_below_topics: list[AddPartitionsToTxnTopic] = array(AddPartitionsToTxnTopic, "0-3")


@struct
class AddPartitionsToTxnPartitionResult:
    partition_index: int = int32()
    partition_error_code: int = int16()


@struct
class AddPartitionsToTxnTopicResult:
    name: str = string(cached=True)
    results_by_partition: list[AddPartitionsToTxnPartitionResult] = array(
        AddPartitionsToTxnPartitionResult
    )


@struct
class AddPartitionsToTxnResult:
    transactional_id: str = string()
    topic_results: list[AddPartitionsToTxnTopicResult] = array(AddPartitionsToTxnTopicResult)


@response(AddPartitionsToTxnRequest)
class AddPartitionsToTxnResponse:
    """An error code for each partition."""

    throttle_time_ms: int = int32()
    error_code: int = int16("4+", ignorable=True)
    results_by_transaction: list[AddPartitionsToTxnResult] = array(AddPartitionsToTxnResult, "4+")
    results_by_topic_v3_and_below: list[AddPartitionsToTxnTopicResult] = array(
        AddPartitionsToTxnTopicResult, "0-3"
    )
