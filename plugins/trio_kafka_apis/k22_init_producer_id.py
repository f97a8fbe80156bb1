"""InitProducerId (key 22): give an idempotent producer its id.

Waits for the controller, at most 10 s, if this broker's block of ids is used up. A controller that
cannot give a block is COORDINATOR_LOAD_IN_PROGRESS, as in Kafka, which clients retry. A producer
without transactions that already has an id gets a new one, and its sequences begin again.
A transactional id waits, parked, until its new epoch is committed; an open transaction of it is
aborted first, and the answer is CONCURRENT_TRANSACTIONS, which clients retry (KIP-360).

Needs WRITE on the transactional id, and TWO_PHASE_COMMIT on it for a two-phase commit. Without a
transactional id: IDEMPOTENT_WRITE on the cluster, or WRITE on any topic (KIP-679).
"""

from functools import partial
from typing import Final

import trio

from trio_kafka.coordinators.transactions.coordinator import TransactionCoordinator
from trio_kafka.coordinators.transactions.initializing import Initialization
from trio_kafka.coordinators.transactions.transaction import ProducerIdentity
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.pending import Eventual, then
from trio_kafka.protocol.messages.k22_init_producer_id import (
    InitProducerIdRequest,
    InitProducerIdResponse,
)
from trio_kafka.requests.api import api
from trio_kafka.requests.context import Context
from trio_kafka.requests.parts import ProducerIds
from trio_kafka.security.operations import Operation
from trio_kafka.security.resources import ResourceType

NONE: Final = -1
FENCED_SINCE: Final = 4  # clients know PRODUCER_FENCED
LONGEST_WAIT_S: Final = 10.0  # for a block of ids: shorter than the timeout of clients


def say_error(
    request: InitProducerIdRequest, code: ErrorCode, message: str | None
) -> InitProducerIdResponse:
    """Return the error without id and epoch."""
    del request, message
    return InitProducerIdResponse(error_code=code, producer_id=NONE, producer_epoch=NONE)


@api(InitProducerIdRequest, error=say_error)
async def init_producer_id(
    request: InitProducerIdRequest, context: Context
) -> Eventual[InitProducerIdResponse]:
    _authorize(request, context)
    if request.transactional_id == "":
        raise KafkaError(
            ErrorCode.INVALID_REQUEST, "an empty transactional id: expected a name, or null"
        )
    if (request.producer_id == NONE) != (request.producer_epoch == NONE):
        raise KafkaError(
            ErrorCode.INVALID_REQUEST,
            "producer id without epoch, or the reverse: expected both or neither",
        )
    if request.transactional_id is not None:
        return await _initialize(request.transactional_id, request, context)
    return InitProducerIdResponse(producer_id=await _next_id(context), producer_epoch=0)


async def _initialize(
    transactional_id: str, request: InitProducerIdRequest, context: Context
) -> Eventual[InitProducerIdResponse]:
    if request.enable2_pc:
        raise KafkaError(
            ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, "two-phase commits are not enabled"
        )
    if request.keep_prepared_txn:
        raise KafkaError(ErrorCode.UNSUPPORTED_VERSION, "prepared transactions are not kept")
    expected = None
    if request.producer_id != NONE:
        expected = ProducerIdentity(request.producer_id, request.producer_epoch)
    transactions = context[TransactionCoordinator]
    initialization = Initialization(
        transactional_id=transactional_id,
        timeout_ms=request.transaction_timeout_ms,
        expected=expected,
    )
    if transactions.needs_producer_id(initialization):
        initialization = initialization.with_id(await _next_id(context))
    return then(transactions.initialize(initialization), partial(_response, context.version))


def _response(version: int, answer: ProducerIdentity | KafkaError) -> InitProducerIdResponse:
    if not isinstance(answer, KafkaError):
        return InitProducerIdResponse(producer_id=answer.producer_id, producer_epoch=answer.epoch)
    code = answer.code
    if code is ErrorCode.PRODUCER_FENCED and version < FENCED_SINCE:
        code = ErrorCode.INVALID_PRODUCER_EPOCH
    return InitProducerIdResponse(error_code=code, producer_id=NONE, producer_epoch=NONE)


def _authorize(request: InitProducerIdRequest, context: Context) -> None:
    transactional_id = request.transactional_id
    if transactional_id is not None:
        context.authorize(Operation.WRITE, transactional_id=transactional_id)
        if request.enable2_pc:
            context.authorize(Operation.TWO_PHASE_COMMIT, transactional_id=transactional_id)
    elif not context.is_authorized_on_any(Operation.WRITE, ResourceType.TOPIC):
        context.authorize(Operation.IDEMPOTENT_WRITE, cluster=True)


async def _next_id(context: Context) -> int:
    deadline = trio.current_time() + LONGEST_WAIT_S
    try:
        return await context.parked(context[ProducerIds].next_id, deadline=deadline)
    except (KafkaError, trio.TooSlowError) as error:
        raise KafkaError(
            ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, "the controller has given no producer ids yet"
        ) from error
