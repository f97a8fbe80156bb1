"""AllocateProducerIds (key 67): a broker asks the controller for a block of producer ids."""

from typing import ClassVar

from trio_kafka.protocol.schema import int16, int32, int64, request, response


@request(key=67, versions="0", flexible="0+")
class AllocateProducerIdsRequest:
    """The broker and its epoch."""

    response: ClassVar[type["AllocateProducerIdsResponse"]]

    broker_id: int = int32()
    broker_epoch: int = int64(default=-1)


@response(AllocateProducerIdsRequest)
class AllocateProducerIdsResponse:
    """The first id and the length of the block."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
    producer_id_start: int = int64()
    producer_id_len: int = int32()
