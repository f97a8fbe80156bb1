"""InitProducerId (key 22): an id for an idempotent producer.

Waits for the controller when this broker's block of ids is used up, 10 s at most. What keeps the
controller from giving one is COORDINATOR_LOAD_IN_PROGRESS, as in Kafka: clients try again. A
producer without transactions that has an id gets another one, and its sequences begin anew.
Transactions are not served: a transactional id gets COORDINATOR_NOT_AVAILABLE, which clients retry
and then report.
"""

from typing import Final

import trio

from trio_kafka.plugin import Context, ErrorCode, KafkaError, api
from trio_kafka.protocol.messages.k22_init_producer_id import (
    InitProducerIdRequest,
    InitProducerIdResponse,
)

NONE: Final = -1
LONGEST_WAIT_S: Final = 10.0  # for a block of ids: less than clients wait for an answer


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
    return InitProducerIdResponse(producer_id=await _next_id(context), producer_epoch=0)


async def _next_id(context: Context) -> int:
    deadline = trio.current_time() + LONGEST_WAIT_S
    try:
        return await context.parked(context.producer_ids.next_id, deadline=deadline)
    except (KafkaError, trio.TooSlowError) as error:
        raise KafkaError(
            ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, "the controller has given no producer ids yet"
        ) from error
