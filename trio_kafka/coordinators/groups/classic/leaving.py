"""LeaveGroup of a classic group: members leave, or an administrator removes them (KIP-345)."""

from collections.abc import Sequence
from typing import Final

from trio_kafka.coordinators.effects import Effects, Ticket
from trio_kafka.coordinators.groups.classic.rebalance import (
    complete_if_joined,
    prepare_or_complete,
)
from trio_kafka.coordinators.groups.classic.session import remove
from trio_kafka.coordinators.groups.classic.states import ClassicState
from trio_kafka.coordinators.groups.classic.transition import Transition
from trio_kafka.coordinators.groups.classic.values import NO_MEMBER_ID, Leaving
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.introspect.log import get_logger

_logger: Final = get_logger(__name__)


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
