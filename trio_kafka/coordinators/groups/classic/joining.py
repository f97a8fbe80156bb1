"""JoinGroup of a classic group: new members, members that are back, members that have changed.

A join waits until the next generation begins. Errors that come with a member id are answered as
Joined, others raised.
Source: KIP-394 (a member id first), KIP-345, KIP-814 (static members), KIP-800 (reasons).
"""

from typing import Final

from trio_kafka.coordinators.effects import Effects, Ticket
from trio_kafka.coordinators.groups.classic.act import Act
from trio_kafka.coordinators.groups.classic.member import Member
from trio_kafka.coordinators.groups.classic.rebalance import (
    complete_if_joined,
    prepare_or_complete,
)
from trio_kafka.coordinators.groups.classic.replacing import replace_static_member
from trio_kafka.coordinators.groups.classic.states import ClassicState
from trio_kafka.coordinators.groups.classic.values import NO_MEMBER_ID, Joined, Joining
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.introspect.log import get_logger

NEW_MEMBER_TIMEOUT_MS: Final = 300_000  # the longest that one waits who cannot send heartbeats
_logger: Final = get_logger(__name__)


def join(act: Act, joining: Joining, ticket: Ticket) -> Effects:
    """Answered with Joined. Errors in it: COORDINATOR_NOT_AVAILABLE, GROUP_MAX_SIZE_REACHED,
    INCONSISTENT_GROUP_PROTOCOL, MEMBER_ID_REQUIRED, UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID.
    """
    group = act.group
    if not group.accepts(joining.member_id, act.settings.max_size):
        _turn_away(act, joining.member_id)
        return _refuse(act, ticket, NO_MEMBER_ID, ErrorCode.GROUP_MAX_SIZE_REACHED)
    if group.phase is ClassicState.DEAD:
        return _refuse(act, ticket, joining.member_id, ErrorCode.COORDINATOR_NOT_AVAILABLE)
    if not group.speaks(joining.protocol_type, joining.protocols):
        return _refuse(act, ticket, joining.member_id, ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    if joining.member_id == NO_MEMBER_ID:
        _join_new(act, joining, ticket)
    else:
        _join_known(act, joining, ticket)
    return act.effects


def _refuse(act: Act, ticket: Ticket, member_id: str, error: ErrorCode) -> Effects:
    return act.effects.answer(ticket, Joined(member_id=member_id, error=error))


def _turn_away(act: Act, member_id: str) -> None:
    """A member of a group that is too large: the others go on without it."""
    if member_id != NO_MEMBER_ID:
        act.group.remove(member_id)
        act.unwatch(member_id)
        complete_if_joined(act)


def _join_new(act: Act, joining: Joining, ticket: Ticket) -> None:
    group = act.group
    if joining.instance_id is not None:
        current = group.roster.of_instance(joining.instance_id)
        if current is None:
            _add(act, joining, joining.new_member_id, ticket)
        else:
            replace_static_member(act, joining, current, ticket)
    elif joining.asks_for_id:
        group.roster.pending.add(joining.new_member_id)
        timer = group.session_timer(joining.new_member_id)
        act.effects.set_timer(timer, joining.session_timeout_ms)
        _refuse(act, ticket, joining.new_member_id, ErrorCode.MEMBER_ID_REQUIRED)
    else:
        _add(act, joining, joining.new_member_id, ticket)


def _join_known(act: Act, joining: Joining, ticket: Ticket) -> None:
    group, member_id = act.group, joining.member_id
    if member_id in group.roster.pending:
        if joining.instance_id is not None:
            raise KafkaError(
                ErrorCode.UNKNOWN_SERVER_ERROR,
                f"{member_id} is no static member, but says that it is {joining.instance_id}",
            )
        _add(act, joining, member_id, ticket)
        return
    try:
        member = group.validate_member(member_id, joining.instance_id)
    except KafkaError as error:
        _refuse(act, ticket, member_id, error.code)
        return
    if group.phase is ClassicState.PREPARING_REBALANCE:
        act.park_join(member, joining, ticket)
        complete_if_joined(act)
        return
    cause = _cause_to_rebalance(act, member, joining)
    if cause is None:
        # It may not have got the answer before; a follower that changes nothing is no cause.
        act.effects.answer(ticket, act.current(member_id))
    else:
        act.park_join(member, joining, ticket)
        prepare_or_complete(act, cause)


def _cause_to_rebalance(act: Act, member: Member, joining: Joining) -> str | None:
    """Why a member that joins again has everybody join; None: it is told what is."""
    group, reason = act.group, _reason(joining)
    if member.protocols != joining.protocols:
        return f"member {member.member_id} has changed what it says ({reason})"
    if group.phase is ClassicState.STABLE and group.leads(member.member_id):
        # What changed may be no member's: topics that the leader knows of.
        return f"leader {member.member_id} joins again ({reason})"
    return None


def _reason(joining: Joining) -> str:
    return joining.reason or "not provided"


def _add(act: Act, joining: Joining, member_id: str, ticket: Ticket) -> None:
    group = act.group
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
    group.roster.park(member, ticket)
    # It has no generation to send heartbeats for, and a connection that is muted does not tell that
    # it has gone: so its session is as long as a join may take.
    act.watch(member, NEW_MEMBER_TIMEOUT_MS)
    named = "" if joining.instance_id is None else f" as {joining.instance_id}"
    prepare_or_complete(act, f"new member {member_id}{named} ({_reason(joining)})")
