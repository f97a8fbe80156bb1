"""TxnOffsetCommit (key 28): store the offsets that a group has reached, as part of a transaction.

The offsets count once the transaction is committed; until its end a consumer that wants stable
offsets gets UNSTABLE_OFFSET_COMMIT. The transaction coordinator is asked first whether the group is
part of the transaction; from version 5 on it becomes part of it. Waits, parked, until the records
are committed. A member must be of the current generation or epoch. From version 6 on topics are
named by id. Up to version 1 a coordinator that loads is COORDINATOR_NOT_AVAILABLE. Source: KIP-98,
KIP-447, KIP-890, KIP-516.

Needs WRITE on the transactional id and READ on the group, without which the whole request fails,
and READ on each topic.
"""

from functools import partial
from operator import attrgetter
from typing import Final

from trio_kafka.attributes import define
from trio_kafka.coordinators.groups.coordinator import GroupCoordinator
from trio_kafka.coordinators.groups.offset_values import Commit
from trio_kafka.coordinators.groups.transactions import TransactionalCommit
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.metadata.names import CONSUMER_OFFSETS
from trio_kafka.model import TopicPartition
from trio_kafka.pending import Eventual, then
from trio_kafka.protocol.messages.k28_txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)
from trio_kafka.records.batch import ProducerFields
from trio_kafka.replication.leader.transaction_gate import Admission, Admissions
from trio_kafka.replication.table import Replicas
from trio_kafka.requests.api import MANY_PARTITIONS, api
from trio_kafka.requests.context import Context
from trio_kafka.requests.offsets_to_commit import OffsetsToCommit, final_codes
from trio_kafka.requests.rows import rows
from trio_kafka.security.operations import Operation

LOADING_SINCE: Final = 2  # KAFKA-7296: older clients crash at COORDINATOR_LOAD_IN_PROGRESS
ABORTABLE_SINCE: Final = 4  # KIP-890: clients know TRANSACTION_ABORTABLE
ADDS_SINCE: Final = 5  # KIP-890: the request adds the group to the transaction
IDS_SINCE: Final = 6
_partitions: Final = attrgetter("partitions")


@api(TxnOffsetCommitRequest, largest=MANY_PARTITIONS)
def txn_offset_commit(
    request: TxnOffsetCommitRequest, context: Context
) -> Eventual[TxnOffsetCommitResponse]:
    context.authorize(Operation.WRITE, transactional_id=request.transactional_id)
    context.authorize(Operation.READ, group=request.group_id)
    if not request.group_id:
        raise KafkaError(ErrorCode.INVALID_GROUP_ID)
    commit = _Commit(context, context.version >= IDS_SINCE, request)
    return rows(
        request.topics,
        _partitions,
        commit.add,
        commit.submit,
        group=lambda _, codes: codes,
        refused=lambda _topic, _row, error: error.code,
        permission=commit.begin_topic,
    )


@define(eq=False)
class _Commit(OffsetsToCommit):
    """One request, with the offsets that its group is asked to store."""

    request: TxnOffsetCommitRequest

    def submit(self, codes: list[list[int]]) -> Eventual[TxnOffsetCommitResponse]:
        """Ask the transaction coordinator, then the group, unless there are no offsets. codes: for
        each topic.
        """
        if not self.has_offsets:
            return self._respond(codes, [])
        request, context = self.request, self.context
        admission = context[Admissions].begin(
            request.transactional_id,
            adds=context.version >= ADDS_SINCE,
            knows_generic_errors=context.version >= ABORTABLE_SINCE,
        )
        if admission is None:
            raise KafkaError(ErrorCode.INVALID_TXN_STATE, "transactions are not served")
        number = context[GroupCoordinator].topic.partition_of(request.group_id)
        partition = context[Replicas].find((CONSUMER_OFFSETS, number))
        if partition is None:
            raise KafkaError(ErrorCode.NOT_COORDINATOR)
        producer = ProducerFields(request.producer_id, request.producer_epoch)
        admission.begin_batch(partition, producer)
        return then(admission.ask(), lambda _: self._store(admission, partition.at, codes))

    def _store(
        self, admission: Admission, at: TopicPartition, codes: list[list[int]]
    ) -> Eventual[TxnOffsetCommitResponse]:
        request = self.request
        try:
            guard = admission.offsets_guard(at)
        except KafkaError as error:
            return self._respond(codes, error)
        commit = Commit(
            request.group_id,
            self.topics,
            request.member_id,
            request.group_instance_id,
            request.generation_id_or_member_epoch,
        )
        pending = TransactionalCommit(
            commit=commit,
            producer_id=request.producer_id,
            producer_epoch=request.producer_epoch,
            guard=guard,
        )
        stored = self.context[GroupCoordinator].offsets.commit_in_transaction(pending)
        return then(stored, partial(self._respond, codes))

    def _respond(
        self, codes: list[list[int]], of_group: list[int] | KafkaError
    ) -> Eventual[TxnOffsetCommitResponse]:
        """Return the response. codes, of_group: as in `final_codes`."""
        topics = self.request.topics
        in_order = final_codes(codes, of_group)
        version = self.context.version
        return rows(
            topics,
            _partitions,
            lambda _, row: TxnOffsetCommitResponsePartition(
                row.partition_index, _in_version(next(in_order), version)
            ),
            lambda answered: TxnOffsetCommitResponse(topics=answered),
            group=lambda topic, answers: TxnOffsetCommitResponseTopic(
                topic.name, topic.topic_id, answers
            ),
        )


def _in_version(code: int, version: int) -> int:
    """Return the error that a client of this version knows."""
    if code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS and version < LOADING_SINCE:
        return ErrorCode.COORDINATOR_NOT_AVAILABLE
    return code
