"""Whether members live: heartbeats of a classic group, and what becomes of one that is silent."""

from typing import Final

from trio_kafka.coordinators.effects import Effects, SetTimer, Ticket
from trio_kafka.coordinators.groups.classic.group import SESSION, ClassicGroup
from trio_kafka.coordinators.groups.classic.rebalance import complete, prepare_or_complete
from trio_kafka.coordinators.groups.classic.states import ClassicState
from trio_kafka.coordinators.groups.classic.transition import Transition
from trio_kafka.coordinators.groups.classic.values import NO_MEMBER_ID, Beating
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.introspect.log import get_logger

_logger: Final = get_logger(__name__)


def heartbeat(group: ClassicGroup, beating: Beating, ticket: Ticket) -> Effects:
    """Answered with None. Raises KafkaError: UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID,
    ILLEGAL_GENERATION; REBALANCE_IN_PROGRESS is answered: the member lives, and is to join.
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
    """Nothing was heard of the member, or of the client that was given this id."""
    group = transition.group
    if member_id in group.membership.pending:
        group.remove(member_id)
        go_on(transition)
        return
    member = group.membership.get(member_id)
    if member is None or member.is_heard:
        return  # its session begins anew when it is answered
    _logger.info("member is silent", group=group.group_id, member=member_id)
    remove(transition, member_id)
    if group.phase in (ClassicState.STABLE, ClassicState.COMPLETING_REBALANCE):
        prepare_or_complete(transition, f"member {member_id} is silent")
    else:
        go_on(transition)


def remove(transition: Transition, member_id: str) -> None:
    """A member is none any more. Should it live, UNKNOWN_MEMBER_ID has it join anew."""
    member = transition.group.membership[member_id]
    transition.refuse_join(member, ErrorCode.UNKNOWN_MEMBER_ID, NO_MEMBER_ID)
    transition.answer_sync(member, KafkaError(ErrorCode.UNKNOWN_MEMBER_ID))
    transition.group.remove(member_id)
    transition.unwatch(member_id)


def go_on(transition: Transition) -> None:
    """Nobody may be missing any more, where members join."""
    group = transition.group
    if group.phase is ClassicState.PREPARING_REBALANCE and group.membership.all_joined:
        complete(transition)
