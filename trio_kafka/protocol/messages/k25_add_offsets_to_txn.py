"""AddOffsetsToTxn (key 25): add a group's offsets to a transaction."""

from typing import ClassVar

from trio_kafka.protocol.schema import int16, int32, int64, request, response, string


@request(key=25, versions="0-4", flexible="3+")
class AddOffsetsToTxnRequest:
    """A transaction and a group."""

    response: ClassVar[type["AddOffsetsToTxnResponse"]]

    transactional_id: str = string()
    producer_id: int = int64()
    producer_epoch: int = int16()
    group_id: str = string()


@response(AddOffsetsToTxnRequest)
class AddOffsetsToTxnResponse:
    """Result of adding a group to a transaction."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
