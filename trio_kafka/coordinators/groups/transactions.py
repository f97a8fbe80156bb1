"""Events of transactions in a group's partition: offsets that a transaction commits, and its end.

The offsets are a batch in the name of the transaction's producer, and pending until its marker.
Source: KIP-98, KIP-447, KIP-890; Kafka's OffsetMetadataManager.commitTransactionalOffset.
"""

from functools import partial

from trio_kafka.attributes import frozen
from trio_kafka.coordinators.groups.commits import add_records, are_many
from trio_kafka.coordinators.groups.groups import Groups
from trio_kafka.coordinators.groups.offset_values import Commit
from trio_kafka.coordinators.groups.offsets import schedule_expiry
from trio_kafka.coordinators.groups.protocols import Group
from trio_kafka.coordinators.shards.effects import Effects, EventResult, Origin, Ticket
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.log.transaction_checks import check_marker, check_verified_offsets
from trio_kafka.log.verification import Guard
from trio_kafka.records.control import Marker
from trio_kafka.replication.leader.markers import TransactionMarker
from trio_kafka.scheduling.chunked_work import Steps, whole


@frozen(kw_only=True)
class TransactionalCommit:
    """Offsets to commit at the end of a transaction. guard: of their partition, see `Admission`."""

    commit: Commit
    producer_id: int
    producer_epoch: int
    guard: Guard


def commit_in_transaction(
    request: TransactionalCommit, groups: Groups, ticket: Ticket, now_ms: int
) -> EventResult:
    """Commit offsets; answer with an error code for each partition, in the order of the request.

    Raises KafkaError: an error of `Group.validate_transactional_commit`, ILLEGAL_GENERATION for a
    member of an unknown group. The answer may be an error of `check_verified_offsets`.
    """
    commit = request.commit
    group = groups.by_id.get(commit.group_id)
    is_new = group is None
    if group is None:
        if commit.epoch >= 0:
            raise KafkaError(ErrorCode.ILLEGAL_GENERATION)
        group = groups.group_or_simple(commit.group_id)
    _validate(group, commit)
    effects = Effects()
    if is_new:
        schedule_expiry(effects, groups.settings)
    steps = _commit(groups, request, effects, ticket, now_ms)
    return steps if are_many(commit.topics) else whole(steps)


def _validate(group: Group, commit: Commit) -> None:
    try:
        group.validate_transactional_commit(
            commit.member_id, commit.instance_id, commit.epoch, commit.topics
        )
    except KafkaError as error:
        if error.code is ErrorCode.STALE_MEMBER_EPOCH:  # clients of this API do not know it
            raise KafkaError(ErrorCode.ILLEGAL_GENERATION, error.message) from error
        raise


def _commit(
    groups: Groups, request: TransactionalCommit, effects: Effects, ticket: Ticket, now_ms: int
) -> Steps[Effects]:
    codes: list[int] = []
    yield from add_records(groups, request.commit, effects, now_ms=now_ms, codes=codes)
    effects.answer(ticket, codes)
    if effects.records:
        effects.origin = Origin(
            producer_id=request.producer_id,
            producer_epoch=request.producer_epoch,
            check=partial(check_verified_offsets, request.guard),
        )
    return effects


def end_transaction(
    marker: TransactionMarker, groups: Groups, ticket: Ticket, now_ms: int
) -> Effects:
    """Write the marker that ends a producer's transaction; its pending offsets are committed or
    dropped. The answer is NONE, or an error of `check_marker`.
    """
    del groups, now_ms
    origin = Origin(
        producer_id=marker.producer_id,
        producer_epoch=marker.producer_epoch,
        check=partial(check_marker, marker.coordinator_epoch, marker.transaction_version),
        marker=Marker(committed=marker.is_commit, coordinator_epoch=marker.coordinator_epoch),
    )
    return Effects(origin=origin).answer(ticket, ErrorCode.NONE)
