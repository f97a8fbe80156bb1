"""InitProducerId (key 22): get an id and an epoch for an idempotent or transactional producer."""

from typing import ClassVar

from trio_kafka.protocol.schema import boolean, int16, int32, int64, request, response, string


@request(key=22, versions="0-6", flexible="2+", unstable="6")
class InitProducerIdRequest:
    """Request for a producer id, or (v3, KIP-360) for a new epoch of the current one."""

    response: ClassVar[type["InitProducerIdResponse"]]

    transactional_id: str | None = string(nullable="0+")
    transaction_timeout_ms: int = int32()
    producer_id: int = int64("3+", default=-1)
    producer_epoch: int = int16("3+", default=-1)
    enable2_pc: bool = boolean("6+")
    keep_prepared_txn: bool = boolean("6+")


@response(InitProducerIdRequest)
class InitProducerIdResponse:
    """The producer's id and epoch."""

    throttle_time_ms: int = int32(ignorable=True)
    error_code: int = int16()
    producer_id: int = int64(default=-1)
    producer_epoch: int = int16()
    ongoing_txn_producer_id: int = int64("6+", default=-1)
    ongoing_txn_producer_epoch: int = int16("6+", default=-1)
