"""DescribeTransactions (key 65): describe transactions."""

from typing import ClassVar

from trio_kafka.protocol.schema import array, int16, int32, int64, request, response, string, struct


@request(key=65, versions="0", flexible="0+")
class DescribeTransactionsRequest:
    """Describe transactions, by transactional id."""

    response: ClassVar[type["DescribeTransactionsResponse"]]

    transactional_ids: list[str] = array(string)


@struct
class TopicData:
    topic: str = string(cached=True)
    partitions: list[int] = array(int32)


@struct
class TransactionState:
    error_code: int = int16()
    transactional_id: str = string()
    transaction_state: str = string()
    transaction_timeout_ms: int = int32()
    transaction_start_time_ms: int = int64()
    producer_id: int = int64()
    producer_epoch: int = int16()
    topics: list[TopicData] = array(TopicData)


@response(DescribeTransactionsRequest)
class DescribeTransactionsResponse:
    """State, timeout, producer and partitions of each."""

    throttle_time_ms: int = int32()
    transaction_states: list[TransactionState] = array(TransactionState)
