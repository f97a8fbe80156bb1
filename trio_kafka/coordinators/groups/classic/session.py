"""Sessions of a classic group's members: heartbeats, expiry, and LeaveGroup, by which members leave
or an administrator removes them (KIP-345).
"""

from collections.abc import Sequence
from typing import Final

from trio_kafka.coordinators.groups.classic.group import SESSION, ClassicGroup
from trio_kafka.coordinators.groups.classic.rebalance import (
    complete,
    complete_if_joined,
    prepare,
)
from trio_kafka.coordinators.groups.classic.requests import required_adapter
from trio_kafka.coordinators.groups.classic.states import (
    REFUSALS,
    WITH_GENERATION,
    ClassicState,
    MemberRequest,
)
from trio_kafka.coordinators.groups.classic.transition import Transition
from trio_kafka.coordinators.groups.classic.values import (
    NO_MEMBER_ID,
    NO_REASON,
    ClassicHeartbeat,
    LeavingMember,
)
from trio_kafka.coordinators.groups.groups import Groups
from trio_kafka.coordinators.shards.effects import Effects, EventResult, SetTimer, Ticket
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.introspect.log import get_logger

_logger: Final = get_logger(__name__)


def heartbeat(
    group_id: str, request: ClassicHeartbeat, groups: Groups, ticket: Ticket, now_ms: int
) -> EventResult:
    """Renew a member's session; answer with None. REBALANCE_IN_PROGRESS is answered, not raised:
    the member is alive and must join.

    Raises KafkaError: UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID, ILLEGAL_GENERATION.
    """
    group = groups.by_id.get(group_id)
    if not isinstance(group, ClassicGroup):
        adapter, other = required_adapter(groups, group_id)
        return adapter.heartbeat(other, request, ticket, now_ms)
    phase, member_id = group.phase, request.member_id
    if phase is ClassicState.DEAD:
        raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
    member = group.validate_member(member_id, request.instance_id)
    group.validate_generation(request.generation)
    refusal = REFUSALS.get((MemberRequest.HEARTBEAT, phase))
    answer = None if refusal is None else KafkaError(refusal)
    timer = SetTimer((SESSION, group.group_id, member_id), member.session_timeout_ms)
    return Effects([], [(ticket, answer)], [timer])


def session_timed_out(transition: Transition, member_id: str) -> None:
    """Remove a member, or a pending id, whose session has expired."""
    group = transition.group
    if member_id in group.membership.pending:
        group.remove(member_id)
        complete_without_delay(transition)
        return
    member = group.membership.by_id.get(member_id)
    if member is None or member.is_heard:
        return  # its session starts again with the answer
    _logger.info("member session expired", group=group.group_id, member=member_id)
    remove(transition, member_id)
    transition.note(member.client_id, "timed out")
    if group.phase in WITH_GENERATION:
        prepare(transition, f"session of member {member_id} expired", member.client_id)
    else:
        complete_without_delay(transition)


def remove(transition: Transition, member_id: str) -> None:
    """Remove a member and refuse its pending requests. UNKNOWN_MEMBER_ID makes a live client join
    again.
    """
    member = transition.group.membership[member_id]
    transition.refuse_join(member, ErrorCode.UNKNOWN_MEMBER_ID, NO_MEMBER_ID)
    transition.answer_sync(member, KafkaError(ErrorCode.UNKNOWN_MEMBER_ID))
    transition.group.remove(member_id)
    transition.cancel_timers(member_id)


def complete_without_delay(transition: Transition) -> None:
    """Begin the next generation if no member is missing any more, also during the first delay."""
    group = transition.group
    if group.phase is ClassicState.PREPARING_REBALANCE and group.membership.all_joined:
        complete(transition)


def leave(
    group_id: str,
    members: Sequence[LeavingMember],
    groups: Groups,
    ticket: Ticket,
    now_ms: int,
) -> EventResult:
    """Remove members; answer with an ErrorCode for each, in the order of the request: NONE,
    UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID.
    """
    group = groups.by_id.get(group_id)
    if not isinstance(group, ClassicGroup):
        adapter, other = required_adapter(groups, group_id)
        return adapter.leave(other, members, ticket, now_ms)
    if group.phase is ClassicState.DEAD:
        raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
    transition = Transition(group, groups.own_settings.get(group_id, groups.settings), now_ms)
    codes, left_ids, client_id = list[ErrorCode](), list[str](), ""
    for leaving in members:
        try:
            member_id, client = _leave(transition, leaving)
            left_ids.append(member_id)
            client_id = client_id or client
            codes.append(ErrorCode.NONE)
        except KafkaError as error:
            codes.append(error.code)
    transition.effects.answer(ticket, codes)
    if left_ids and group.phase in WITH_GENERATION:
        prepare(transition, f"members have left: {', '.join(left_ids)}", client_id)
    elif left_ids:
        complete_if_joined(transition)
    return transition.done


def _leave(transition: Transition, leaving: LeavingMember) -> tuple[str, str]:
    """Remove one member, and return its id and its client; no client for a pending id."""
    group, member_id = transition.group, leaving.member_id
    if member_id == NO_MEMBER_ID:
        instance_id = leaving.instance_id
        current = None if instance_id is None else group.membership.of_instance(instance_id)
        if current is None:
            raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID)
        member_id = current
    elif member_id in group.membership.pending:
        group.remove(member_id)
        transition.cancel_timers(member_id)
        return member_id, ""
    else:
        group.validate_member(member_id, leaving.instance_id)
    client_id = group.membership[member_id].client_id
    remove(transition, member_id)
    transition.note(client_id, "left")
    _logger.info(
        "member left",
        group=group.group_id,
        member=member_id,
        reason=leaving.reason or NO_REASON,
    )
    return member_id, client_id
