"""Sessions of a classic group's members: heartbeats, expiry, and LeaveGroup, by which members leave
or an administrator removes them (KIP-345).
"""

from collections.abc import Sequence
from typing import Final

from trio_kafka.coordinators.effects import Effects, SetTimer, Ticket
from trio_kafka.coordinators.groups.classic.group import SESSION, ClassicGroup, ClassicState
from trio_kafka.coordinators.groups.classic.rebalance import (
    complete,
    complete_if_joined,
    prepare_or_complete,
)
from trio_kafka.coordinators.groups.classic.transition import Transition
from trio_kafka.coordinators.groups.classic.values import NO_MEMBER_ID, Beating, Leaving
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.introspect.log import get_logger

_logger: Final = get_logger(__name__)


def heartbeat(group: ClassicGroup, beating: Beating, ticket: Ticket) -> Effects:
    """Renew a member's session; answer with None. REBALANCE_IN_PROGRESS is answered, not raised:
    the member is alive and must join.

    Raises KafkaError: UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID, ILLEGAL_GENERATION.
    """
    phase, member_id = group.phase, beating.member_id
    if phase is ClassicState.DEAD:
        raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
    member = group.validate_member(member_id, beating.instance_id)
    group.validate_generation(beating.generation)
    joins = phase is ClassicState.PREPARING_REBALANCE
    answer = KafkaError(ErrorCode.REBALANCE_IN_PROGRESS) if joins else None
    timer = SetTimer((SESSION, group.group_id, member_id), member.session_timeout_ms)
    return Effects([], [(ticket, answer)], [timer])


def session_timed_out(transition: Transition, member_id: str) -> None:
    """Remove a member, or a pending id, whose session has expired."""
    group = transition.group
    if member_id in group.membership.pending:
        group.remove(member_id)
        go_on(transition)
        return
    member = group.membership.get(member_id)
    if member is None or member.is_heard:
        return  # its session starts again with the answer
    _logger.info("member session expired", group=group.group_id, member=member_id)
    remove(transition, member_id)
    if group.phase in (ClassicState.STABLE, ClassicState.COMPLETING_REBALANCE):
        prepare_or_complete(transition, f"session of member {member_id} expired")
    else:
        go_on(transition)


def remove(transition: Transition, member_id: str) -> None:
    """Remove a member and refuse its pending requests. UNKNOWN_MEMBER_ID makes a live client join
    again.
    """
    member = transition.group.membership[member_id]
    transition.refuse_join(member, ErrorCode.UNKNOWN_MEMBER_ID, NO_MEMBER_ID)
    transition.answer_sync(member, KafkaError(ErrorCode.UNKNOWN_MEMBER_ID))
    transition.group.remove(member_id)
    transition.cancel_timers(member_id)


def go_on(transition: Transition) -> None:
    """Complete the rebalance if no member is missing any more."""
    group = transition.group
    if group.phase is ClassicState.PREPARING_REBALANCE and group.membership.all_joined:
        complete(transition)


def leave(transition: Transition, members: Sequence[Leaving], ticket: Ticket) -> Effects:
    """Remove members; answer with an ErrorCode for each: NONE, UNKNOWN_MEMBER_ID,
    FENCED_INSTANCE_ID.
    """
    group = transition.group
    if group.phase is ClassicState.DEAD:
        raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
    found, left = [], list[str]()
    for leaving in members:
        try:
            left.append(_leave(transition, leaving))
            found.append(ErrorCode.NONE)
        except KafkaError as error:
            found.append(error.code)
    transition.effects.answer(ticket, found)
    if left and group.phase in (ClassicState.STABLE, ClassicState.COMPLETING_REBALANCE):
        prepare_or_complete(transition, f"members have left: {', '.join(left)}")
    elif left:
        complete_if_joined(transition)
    return transition.effects


def _leave(transition: Transition, leaving: Leaving) -> str:
    """Remove one member, and return its id."""
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
        return member_id
    else:
        group.validate_member(member_id, leaving.instance_id)
    remove(transition, member_id)
    _logger.info(
        "member left",
        group=group.group_id,
        member=member_id,
        reason=leaving.reason or "not provided",
    )
    return member_id
