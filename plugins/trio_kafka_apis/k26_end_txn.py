"""EndTxn (key 26): commit or abort a transaction.

Waits, parked, until the decision is committed; markers are written after the answer. From version 5
on (transaction version 2, KIP-890) the answer has the id and epoch of the next transaction, and a
repeated request is told from one for the next transaction. Source: KIP-98, KIP-890.

Needs WRITE on the transactional id.
"""

from functools import partial
from typing import Final

from trio_kafka.coordinators.transactions.coordinator import TransactionCoordinator
from trio_kafka.coordinators.transactions.ending import End
from trio_kafka.coordinators.transactions.transaction import RENEWING_VERSION, ProducerIdentity
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.pending import Eventual, then
from trio_kafka.protocol.messages.k26_end_txn import EndTxnRequest, EndTxnResponse
from trio_kafka.requests.api import api
from trio_kafka.requests.context import Context
from trio_kafka.security.operations import Operation

FENCED_SINCE: Final = 2  # clients know PRODUCER_FENCED
RENEWING_SINCE: Final = 5
_DONE: Final = EndTxnResponse()  # shared: a response is never changed


def say_error(request: EndTxnRequest, code: ErrorCode, message: str | None) -> EndTxnResponse:
    """Return the error, without an id."""
    del request, message
    return EndTxnResponse(error_code=code)


@api(EndTxnRequest, error=say_error)
def end_txn(request: EndTxnRequest, context: Context) -> Eventual[EndTxnResponse]:
    context.authorize(Operation.WRITE, transactional_id=request.transactional_id)
    if not request.transactional_id:
        raise KafkaError(ErrorCode.INVALID_REQUEST, "an empty transactional id: expected a name")
    end = End(
        transactional_id=request.transactional_id,
        identity=ProducerIdentity(request.producer_id, request.producer_epoch),
        commits=request.committed,
        version=RENEWING_VERSION if context.version >= RENEWING_SINCE else 0,
    )
    return then(context[TransactionCoordinator].end(end), partial(_response, context.version))


def _response(version: int, answer: ProducerIdentity | KafkaError) -> EndTxnResponse:
    if isinstance(answer, KafkaError):
        return EndTxnResponse(error_code=error_in_version(answer.code, version))
    if version < RENEWING_SINCE:
        return _DONE
    return EndTxnResponse(producer_id=answer.producer_id, producer_epoch=answer.epoch)


def error_in_version(code: ErrorCode, version: int) -> ErrorCode:
    """Return the error that a client of this version knows."""
    if code is ErrorCode.PRODUCER_FENCED and version < FENCED_SINCE:
        return ErrorCode.INVALID_PRODUCER_EPOCH
    return code
