"""SyncGroup of a classic group: the leader sends all assignments, the other members wait for
theirs.

The group is stable when the record of its generation is committed. A member that joins or leaves
before that wins: then all pending syncs are answered with REBALANCE_IN_PROGRESS.
"""

from typing import Final

from trio_kafka.coordinators.groups.classic.group import ClassicGroup
from trio_kafka.coordinators.groups.classic.membership import Member
from trio_kafka.coordinators.groups.classic.rebalance import A_STEP, prepare_or_complete
from trio_kafka.coordinators.groups.classic.records import group_record
from trio_kafka.coordinators.groups.classic.requests import required_adapter
from trio_kafka.coordinators.groups.classic.states import (
    REFUSALS,
    ClassicState,
    GroupEvent,
    MemberRequest,
)
from trio_kafka.coordinators.groups.classic.transition import Transition
from trio_kafka.coordinators.groups.classic.values import Sync
from trio_kafka.coordinators.groups.groups import Groups
from trio_kafka.coordinators.shards.effects import Effects, EventResult, Ticket
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.introspect.log import get_logger
from trio_kafka.scheduling.chunked_work import Steps, whole

_logger: Final = get_logger(__name__)


def sync(group_id: str, request: Sync, groups: Groups, ticket: Ticket, now_ms: int) -> EventResult:
    """Sync with a group; answer with SyncAnswer once the leader has synced.

    Raises KafkaError: UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID, ILLEGAL_GENERATION,
    INCONSISTENT_GROUP_PROTOCOL, REBALANCE_IN_PROGRESS.
    """
    group = groups.by_id.get(group_id)
    if not isinstance(group, ClassicGroup):
        if group is None or group.is_empty:
            raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID)
        adapter, group = required_adapter(groups, group_id)
        return adapter.sync(group, request, ticket, now_ms)
    transition = Transition(group, groups.own_settings.get(group_id, groups.settings), now_ms)
    _sync(transition, request, ticket)
    return transition.done


def _sync(transition: Transition, request: Sync, ticket: Ticket) -> None:
    group = transition.group
    member = _validate(group, request)
    refusal = REFUSALS.get((MemberRequest.SYNC, group.phase))
    if refusal is not None:
        raise KafkaError(refusal)
    group.syncs_due.discard(member.member_id)
    if not group.syncs_due:
        transition.effects.cancel_timer(group.sync_timer)
    if group.phase is ClassicState.STABLE:
        transition.effects.answer(ticket, transition.sync_answer(member.assignment))
        return
    if member.sync_ticket is not None:  # the client has abandoned its earlier request
        transition.answer_sync(member, KafkaError(ErrorCode.REBALANCE_IN_PROGRESS))
    member.sync_ticket = ticket
    if group.leads(member.member_id):
        _store(transition, request)


def _validate(group: ClassicGroup, request: Sync) -> Member:
    if group.phase is ClassicState.DEAD:
        raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
    if group.is_empty:
        raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID)
    member = group.validate_member(request.member_id, request.instance_id)
    group.validate_generation(request.generation)
    kind, name = request.protocol_type, request.protocol_name
    if kind is not None and group.protocol_type and kind != group.protocol_type:
        raise KafkaError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    if name is not None and group.protocol_name is not None and name != group.protocol_name:
        raise KafkaError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    return member


def _store(transition: Transition, request: Sync) -> None:
    group, effects, later = transition.group, transition.effects, transition.later
    without = [m.member_id for m in group.membership if m.member_id not in request.assignments]
    if without:
        _logger.info("members without assignment", group=group.group_id, members=without)

    def is_current() -> bool:
        """Return whether the group is still waiting in this generation."""
        waits = group.phase is ClassicState.COMPLETING_REBALANCE
        return waits and group.generation == request.generation

    def committed(now_ms: int) -> Effects:
        transition = later(now_ms)
        if is_current():
            transition.assign_all(request.assignments)
            group.change_state(GroupEvent.ASSIGNMENTS_STORED, now_ms)
        return transition.effects

    def refused(error: KafkaError, now_ms: int) -> Effects:
        transition = later(now_ms)
        if is_current():
            transition.clear_assignments(error.code)
            prepare_or_complete(transition, f"{error.code.name} when the assignments were stored")
        return transition.effects

    effects.replays, effects.committed, effects.refused = False, committed, refused
    steps = _write(transition, request)
    if len(group.membership) > A_STEP:
        transition.rest = steps
    else:
        whole(steps)


def _write(transition: Transition, request: Sync) -> Steps[None]:
    record = yield from group_record(transition.group, request.assignments)
    transition.effects.records.append(record)
