"""InitProducerId (key 22): an id for an idempotent producer.

Waits for the controller when this broker's block of ids is used up. Transactions are not served:
a transactional id gets COORDINATOR_NOT_AVAILABLE, which clients retry and then report.
"""

from typing import Final

from trio_kafka.plugin import Context, ErrorCode, KafkaError, api
from trio_kafka.protocol.messages.k22_init_producer_id import (
    InitProducerIdRequest,
    InitProducerIdResponse,
)

NONE: Final = -1


def say_error(
    request: InitProducerIdRequest, code: ErrorCode, message: str | None
) -> InitProducerIdResponse:
    """No id and no epoch."""
    del request, message
    return InitProducerIdResponse(error_code=code, producer_id=NONE, producer_epoch=NONE)


@api(InitProducerIdRequest, error=say_error)
async def init_producer_id(
    request: InitProducerIdRequest, context: Context
) -> InitProducerIdResponse:
    if request.transactional_id is not None:
        if not request.transactional_id:
            raise KafkaError(ErrorCode.INVALID_REQUEST, "the transactional id is empty")
        raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE, "transactions are not served")
    if (request.producer_id == NONE) != (request.producer_epoch == NONE):
        raise KafkaError(ErrorCode.INVALID_REQUEST, "want both producer id and epoch, or neither")
    producer_id = await context.parked(context.producer_ids.next_id)
    return InitProducerIdResponse(producer_id=producer_id, producer_epoch=0)
