"""ListTransactions (key 66): list the transactions that a broker coordinates."""

from typing import ClassVar

from trio_kafka.protocol.schema import array, int16, int32, int64, request, response, string, struct


@request(key=66, versions="0-2", flexible="0+")
class ListTransactionsRequest:
    """Filters by state, producer id, duration (v1+) and pattern (v2+)."""

    response: ClassVar[type["ListTransactionsResponse"]]

    state_filters: list[str] = array(string)
    producer_id_filters: list[int] = array(int64)
    duration_filter: int = int64("1+", default=-1)
    transactional_id_pattern: str | None = string("2+", nullable="2+", default=None)


@struct
class TransactionState:
    transactional_id: str = string()
    producer_id: int = int64()
    transaction_state: str = string()


@response(ListTransactionsRequest)
class ListTransactionsResponse:
    """Transactional ids with their producers and states."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
    unknown_state_filters: list[str] = array(string)
    transaction_states: list[TransactionState] = array(TransactionState)
