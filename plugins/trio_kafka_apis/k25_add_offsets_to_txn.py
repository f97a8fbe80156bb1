"""AddOffsetsToTxn (key 25): add the offsets of a group to a transaction.

Waits, parked, until the change is committed, and for the markers of the transaction before, at most
`add.partitions.to.txn.retry.backoff.max.ms`. What is added is the partition of `__consumer_offsets`
that holds the group. Source: KIP-98.

Needs WRITE on the transactional id and READ on the group.
"""

from functools import partial
from typing import Final

from trio_kafka.coordinators.groups.coordinator import GroupCoordinator
from trio_kafka.coordinators.transactions.adding import TransactionPartitions
from trio_kafka.coordinators.transactions.coordinator import TransactionCoordinator
from trio_kafka.coordinators.transactions.transaction import ProducerIdentity
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.metadata.names import CONSUMER_OFFSETS
from trio_kafka.model import TopicPartition
from trio_kafka.pending import Eventual, then
from trio_kafka.protocol.messages.k25_add_offsets_to_txn import (
    AddOffsetsToTxnRequest,
    AddOffsetsToTxnResponse,
)
from trio_kafka.requests.api import api
from trio_kafka.requests.context import Context
from trio_kafka.security.operations import Operation

FENCED_SINCE: Final = 2  # clients know PRODUCER_FENCED


@api(AddOffsetsToTxnRequest)
def add_offsets_to_txn(
    request: AddOffsetsToTxnRequest, context: Context
) -> Eventual[AddOffsetsToTxnResponse]:
    context.authorize(Operation.WRITE, transactional_id=request.transactional_id)
    context.authorize(Operation.READ, group=request.group_id)
    if not request.transactional_id:
        raise KafkaError(ErrorCode.INVALID_REQUEST, "an empty transactional id: expected a name")
    number = context[GroupCoordinator].topic.partition_of(request.group_id)
    partitions = TransactionPartitions(
        transactional_id=request.transactional_id,
        identity=ProducerIdentity(request.producer_id, request.producer_epoch),
        partitions=(TopicPartition(CONSUMER_OFFSETS, number),),
    )
    answer = context[TransactionCoordinator].add(partitions)
    return then(answer, partial(_response, context.version))


def _response(version: int, error: KafkaError | None) -> AddOffsetsToTxnResponse:
    if error is None:
        return AddOffsetsToTxnResponse()
    code = error.code
    if code is ErrorCode.PRODUCER_FENCED and version < FENCED_SINCE:
        code = ErrorCode.INVALID_PRODUCER_EPOCH
    return AddOffsetsToTxnResponse(error_code=code)
