"""A static member comes back without its member id: it is the same member, under a new id.

Whoever used the old id is fenced. If the group is stable and would choose the same protocol, it is
not disturbed: the new id is stored, and the member keeps what it had (KIP-345). A leader is told
all members and that it need not assign (KIP-814).
"""

from collections.abc import Callable
from typing import Final

from attrs import evolve

from trio_kafka.coordinators.effects import Effects, Ticket
from trio_kafka.coordinators.groups.classic.member import Member
from trio_kafka.coordinators.groups.classic.rebalance import complete_if_joined, prepare
from trio_kafka.coordinators.groups.classic.records import group_record
from trio_kafka.coordinators.groups.classic.states import ClassicState
from trio_kafka.coordinators.groups.classic.transition import Transition
from trio_kafka.coordinators.groups.classic.values import (
    NO_MEMBER_ID,
    GroupProtocol,
    Joined,
    Joining,
)
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.introspect.log import get_logger

_logger: Final = get_logger(__name__)


def replace_static_member(
    transition: Transition, joining: Joining, old_id: str, ticket: Ticket
) -> None:
    """`old_id` becomes the id that is new in `joining`."""
    group = transition.group
    _logger.info(
        "static member is back",
        group=group.group_id,
        instance=joining.instance_id,
        before=old_id,
        now=joining.new_member_id,
    )
    leader_before = group.leader
    old = group.membership[old_id]
    member = _rename(transition, old, joining.new_member_id)
    if group.phase is not ClassicState.STABLE:
        transition.park_join(member, joining, ticket)
        if group.phase is ClassicState.COMPLETING_REBALANCE:
            # The leader may know the old id already, and assign to it.
            prepare(transition, f"static member {joining.instance_id} is back during the rebalance")
        else:
            complete_if_joined(transition)
        return
    said = old.protocols, old.rebalance_timeout_ms, old.session_timeout_ms
    transition.restate(member, joining)
    if group.membership.elected_protocol() == group.protocol_name:
        answer = _answer(transition, joining, leader_before)
        _store(transition, ticket, answer, _undo(member, old_id, said))
    else:
        group.membership.park(member, ticket)
        prepare(transition, f"with static member {joining.instance_id} another protocol is chosen")


def _rename(transition: Transition, member: Member, new_id: str) -> Member:
    group, old_id = transition.group, member.member_id
    transition.refuse_join(member, ErrorCode.FENCED_INSTANCE_ID, old_id)
    transition.answer_sync(member, KafkaError(ErrorCode.FENCED_INSTANCE_ID))
    transition.unwatch(old_id)
    renamed = group.membership.rename(member, new_id)
    if group.leads(old_id):
        group.leader = new_id
    if old_id in group.syncs_due:
        group.syncs_due.remove(old_id)
        group.syncs_due.add(new_id)
    transition.watch(renamed)
    return renamed


def _answer(transition: Transition, joining: Joining, leader_before: str | None) -> Joined:
    """The generation as it is. Of old versions a leader must take itself for a follower, or it
    would assign anew: it is told the id that it had.
    """
    current = transition.current(joining.new_member_id)
    if joining.skips_assignment:
        leads = transition.group.leads(joining.new_member_id)
        return evolve(current, skip_assignment=leads)
    return evolve(current, leader=leader_before or "", members=())


def _store(
    transition: Transition, ticket: Ticket, answer: Joined, undo: Callable[[Transition], None]
) -> None:
    """The group goes on as it is; only the member's id, and what it said, are new."""
    group, effects, later = transition.group, transition.effects, transition.later

    def refused(error: KafkaError, now_ms: int) -> Effects:
        transition = later(now_ms)
        undo(transition)
        told = evolve(
            answer,
            member_id=NO_MEMBER_ID,
            leader=group.leader or "",
            members=(),
            skip_assignment=False,
            error=error.code,
        )
        return transition.effects.answer(ticket, told)

    assignments = {one.member_id: one.assignment for one in group.membership}
    effects.records.append(group_record(group, assignments))
    effects.replays, effects.refused = False, refused
    effects.answer(ticket, answer)


def _undo(
    member: Member, old_id: str, said: tuple[tuple[GroupProtocol, ...], int, int]
) -> Callable[[Transition], None]:
    """Make it the member again that it was; whoever used the old id stays fenced."""
    protocols, rebalance_timeout_ms, session_timeout_ms = said

    def undo(transition: Transition) -> None:
        transition.group.membership.speak(member, protocols)
        member.rebalance_timeout_ms = rebalance_timeout_ms
        member.session_timeout_ms = session_timeout_ms
        _rename(transition, member, old_id)

    return undo
