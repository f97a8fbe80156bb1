"""EndTxn (key 26): commit or abort a transaction."""

from typing import ClassVar

from trio_kafka.protocol.schema import boolean, int16, int32, int64, request, response, string


@request(key=26, versions="0-5", flexible="3+")
class EndTxnRequest:
    """The transaction, and whether to commit it."""

    response: ClassVar[type["EndTxnResponse"]]

    transactional_id: str = string()
    producer_id: int = int64()
    producer_epoch: int = int16()
    committed: bool = boolean()


@response(EndTxnRequest)
class EndTxnResponse:
    """Producer id and epoch for later requests (v5+), or an error."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
    producer_id: int = int64("5+", default=-1, ignorable=True)
    producer_epoch: int = int16("5+", default=-1, ignorable=True)
