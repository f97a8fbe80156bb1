"""Meaning of the answer for one batch. Does no I/O.

Source: Sender and TransactionManager of Apache Kafka 4.4.0. Beyond them, an attempt counts as
stored or unknown unless the broker rejects a batch before it appends it. NOT_LEADER_OR_FOLLOWER
also comes after the append, when the leadership ends while followers are waited for.
"""

from enum import Enum
from typing import Final

from trio_kafka.clients.producer.batch import ProducerBatch
from trio_kafka.errors import ErrorCode


class Verdict(Enum):
    """Decision about a batch."""

    STORED = "stored"
    RETRY = "retry"
    SPLIT = "split"
    OUT_OF_ORDER = "out of order"
    UNKNOWN_PRODUCER = "unknown producer"
    FAIL = "fail"


# The broker checks these before it appends anything.
_REJECTED: Final = frozenset(
    {
        ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
        ErrorCode.CONCURRENT_TRANSACTIONS,
        ErrorCode.CORRUPT_MESSAGE,
        ErrorCode.INVALID_PRODUCER_EPOCH,
        ErrorCode.INVALID_PRODUCER_ID_MAPPING,
        ErrorCode.INVALID_RECORD,
        ErrorCode.INVALID_REQUIRED_ACKS,
        ErrorCode.INVALID_TIMESTAMP,
        ErrorCode.INVALID_TOPIC_EXCEPTION,
        ErrorCode.INVALID_TXN_STATE,
        ErrorCode.MESSAGE_TOO_LARGE,
        ErrorCode.NOT_ENOUGH_REPLICAS,
        ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
        ErrorCode.POLICY_VIOLATION,
        ErrorCode.PRODUCER_FENCED,
        ErrorCode.RECORD_LIST_TOO_LARGE,
        ErrorCode.THROTTLING_QUOTA_EXCEEDED,
        ErrorCode.TOPIC_AUTHORIZATION_FAILED,
        ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
        ErrorCode.TRANSACTION_ABORTABLE,
        ErrorCode.UNKNOWN_PRODUCER_ID,
        ErrorCode.UNSUPPORTED_COMPRESSION_TYPE,
        ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT,
        ErrorCode.UNSUPPORTED_VERSION,
    }
)
_TOO_LARGE: Final = frozenset({ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.RECORD_LIST_TOO_LARGE})


def is_rejected(code: ErrorCode) -> bool:
    """Return whether an answer says that nothing of the batch was appended in this attempt."""
    return code in _REJECTED


def verdict(code: ErrorCode, batch: ProducerBatch) -> Verdict:
    """Return what to do about the answer for a batch."""
    if code in {ErrorCode.NONE, ErrorCode.DUPLICATE_SEQUENCE_NUMBER}:
        return Verdict.STORED
    if code in _TOO_LARGE and batch.count > 1:
        return Verdict.SPLIT
    if batch.producer is not None:
        if code is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER:
            return Verdict.OUT_OF_ORDER
        if code is ErrorCode.UNKNOWN_PRODUCER_ID:
            return Verdict.UNKNOWN_PRODUCER
    return Verdict.RETRY if code.retriable else Verdict.FAIL
