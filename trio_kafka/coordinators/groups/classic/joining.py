"""JoinGroup of a classic group: new members, known members, changed members.

A join is pending until the next generation begins. Errors that come with a member id are answered
as Joined, others are raised. Source: KIP-394 (a member id first), KIP-345, KIP-814 (static
members), KIP-800 (reasons).
"""

from typing import Final

from trio_kafka.coordinators.effects import Effects, Ticket
from trio_kafka.coordinators.groups.classic.group import ClassicState
from trio_kafka.coordinators.groups.classic.member import Member
from trio_kafka.coordinators.groups.classic.rebalance import (
    complete_if_joined,
    prepare_or_complete,
)
from trio_kafka.coordinators.groups.classic.static_members import replace_static_member
from trio_kafka.coordinators.groups.classic.transition import Transition
from trio_kafka.coordinators.groups.classic.values import NO_MEMBER_ID, Joined, Joining
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.introspect.log import get_logger

NEW_MEMBER_TIMEOUT_MS: Final = 300_000  # longest wait of a client that cannot send heartbeats
_logger: Final = get_logger(__name__)


def join(transition: Transition, joining: Joining, ticket: Ticket) -> Effects:
    """Join a group; answer with Joined. Errors in it: COORDINATOR_NOT_AVAILABLE,
    GROUP_MAX_SIZE_REACHED, INCONSISTENT_GROUP_PROTOCOL, MEMBER_ID_REQUIRED, UNKNOWN_MEMBER_ID,
    FENCED_INSTANCE_ID.
    """
    group = transition.group
    if not group.accepts(joining.member_id, transition.settings.max_size):
        _turn_away(transition, joining.member_id)
        return _refuse(transition, ticket, NO_MEMBER_ID, ErrorCode.GROUP_MAX_SIZE_REACHED)
    if group.phase is ClassicState.DEAD:
        return _refuse(transition, ticket, joining.member_id, ErrorCode.COORDINATOR_NOT_AVAILABLE)
    if not group.speaks(joining.protocol_type, joining.protocols):
        return _refuse(transition, ticket, joining.member_id, ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    if joining.member_id == NO_MEMBER_ID:
        _join_new(transition, joining, ticket)
    else:
        _join_known(transition, joining, ticket)
    return transition.effects


def _refuse(transition: Transition, ticket: Ticket, member_id: str, error: ErrorCode) -> Effects:
    return transition.effects.answer(ticket, Joined(member_id=member_id, error=error))


def _turn_away(transition: Transition, member_id: str) -> None:
    """Remove a member of a group that is too large."""
    if member_id != NO_MEMBER_ID:
        transition.group.remove(member_id)
        transition.cancel_timers(member_id)
        complete_if_joined(transition)


def _join_new(transition: Transition, joining: Joining, ticket: Ticket) -> None:
    group = transition.group
    if joining.instance_id is not None:
        current = group.membership.of_instance(joining.instance_id)
        if current is None:
            _add(transition, joining, joining.new_member_id, ticket)
        else:
            replace_static_member(transition, joining, current, ticket)
    elif joining.asks_for_id:
        group.membership.pending.add(joining.new_member_id)
        timer = group.session_timer(joining.new_member_id)
        transition.effects.set_timer(timer, joining.session_timeout_ms)
        _refuse(transition, ticket, joining.new_member_id, ErrorCode.MEMBER_ID_REQUIRED)
    else:
        _add(transition, joining, joining.new_member_id, ticket)


def _join_known(transition: Transition, joining: Joining, ticket: Ticket) -> None:
    group, member_id = transition.group, joining.member_id
    if member_id in group.membership.pending:
        if joining.instance_id is not None:
            raise KafkaError(
                ErrorCode.UNKNOWN_SERVER_ERROR,
                f"member {member_id} is a dynamic member, but sent instance id "
                f"{joining.instance_id}; join without a member id",
            )
        _add(transition, joining, member_id, ticket)
        return
    try:
        member = group.validate_member(member_id, joining.instance_id)
    except KafkaError as error:
        _refuse(transition, ticket, member_id, error.code)
        return
    if group.phase is ClassicState.PREPARING_REBALANCE:
        transition.park_join(member, joining, ticket)
        complete_if_joined(transition)
        return
    cause = _cause_to_rebalance(transition, member, joining)
    if cause is None:
        # The answer before may have been lost. A follower without changes causes no rebalance.
        transition.effects.answer(ticket, transition.current(member_id))
    else:
        transition.park_join(member, joining, ticket)
        prepare_or_complete(transition, cause)


def _cause_to_rebalance(transition: Transition, member: Member, joining: Joining) -> str | None:
    """Return why a known member's join starts a rebalance; None: it does not."""
    group, reason = transition.group, _reason(joining)
    if member.protocols != joining.protocols:
        return f"member {member.member_id} has changed what it says ({reason})"
    if group.phase is ClassicState.STABLE and group.leads(member.member_id):
        # The leader may have seen new topics.
        return f"leader {member.member_id} joins again ({reason})"
    return None


def _reason(joining: Joining) -> str:
    return joining.reason or "not provided"


def _add(transition: Transition, joining: Joining, member_id: str, ticket: Ticket) -> None:
    group = transition.group
    member = Member(
        member_id=member_id,
        instance_id=joining.instance_id,
        client_id=joining.client_id,
        client_host=joining.client_host,
        rebalance_timeout_ms=joining.rebalance_timeout_ms,
        session_timeout_ms=joining.session_timeout_ms,
        protocol_type=joining.protocol_type,
        protocols=joining.protocols,
        is_new=True,
    )
    if group.initial is not None:
        group.newcomers = True
    group.add(member)
    group.membership.set_join(member, ticket)
    # It has no generation to send heartbeats for, and a muted connection does not show that it is
    # closed. So its session is as long as a join may take.
    transition.renew_session(member, NEW_MEMBER_TIMEOUT_MS)
    named = "" if joining.instance_id is None else f" as {joining.instance_id}"
    prepare_or_complete(transition, f"new member {member_id}{named} ({_reason(joining)})")
