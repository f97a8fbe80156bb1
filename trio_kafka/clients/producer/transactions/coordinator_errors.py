"""Errors of answers of coordinators: retried, abortable, or fatal to the producer.

An error that a request does not know is fatal. A transaction that the broker has aborted, as it was
open for too long, answers its commit with INVALID_TXN_STATE: fatal, too.
Source: handlers of TransactionManager of Apache Kafka 4.4.0.
"""

from typing import Final

from trio_kafka.clients.errors import (
    AbortableError,
    ClientError,
    FatalError,
    ProducerFencedError,
    RetriableError,
)
from trio_kafka.errors import ErrorCode

_FENCED: Final = frozenset({ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_PRODUCER_EPOCH})
_ABORTABLE: Final = frozenset(
    {
        ErrorCode.TRANSACTION_ABORTABLE,
        ErrorCode.UNKNOWN_PRODUCER_ID,
        ErrorCode.GROUP_AUTHORIZATION_FAILED,
        ErrorCode.FENCED_INSTANCE_ID,
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.ILLEGAL_GENERATION,
        ErrorCode.GROUP_ID_NOT_FOUND,
        ErrorCode.STALE_MEMBER_EPOCH,
    }
)
# Of InitProducerId for a producer that is open: it can try again when it has the permission.
DENIED: Final = frozenset(
    {ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, ErrorCode.CLUSTER_AUTHORIZATION_FAILED}
)
# Of a partition to add; all others can be aborted.
FATAL_TO_ADD: Final = frozenset(
    {
        ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
        ErrorCode.INVALID_PRODUCER_ID_MAPPING,
        ErrorCode.INVALID_TXN_STATE,
    }
)


def coordinator_error(
    code: ErrorCode, transactional_id: str, key: str, *, abortable: bool = False
) -> ClientError:
    """Return the error for a code. key: what the coordinator was asked about.

    abortable: the request treats the error so, beside those that all requests do.
    """
    if code in _FENCED:
        return ProducerFencedError(f"{transactional_id}: another producer", code=code)
    if code.retriable:
        return RetriableError(key, code=code)
    if abortable or code in _ABORTABLE:
        return AbortableError(key, code=code)
    return FatalError(transactional_id, code=code)
