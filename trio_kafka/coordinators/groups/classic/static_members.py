"""Static member that comes back without its member id: it gets a new id (KIP-345).

Clients with the old id are fenced. A stable group that would elect the same protocol is not
disturbed: the new id is stored, and the member keeps its assignment. A leader gets all members and
need not assign (KIP-814).
"""

from collections.abc import Callable
from typing import Final

from attrs import evolve

from trio_kafka.coordinators.groups.classic.membership import Member
from trio_kafka.coordinators.groups.classic.rebalance import complete_if_joined, prepare
from trio_kafka.coordinators.groups.classic.records import group_record
from trio_kafka.coordinators.groups.classic.states import ClassicState
from trio_kafka.coordinators.groups.classic.transition import Transition
from trio_kafka.coordinators.groups.classic.values import (
    NO_MEMBER_ID,
    GroupProtocol,
    Join,
    JoinAnswer,
)
from trio_kafka.coordinators.shards.effects import Effects, Ticket
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.introspect.log import get_logger
from trio_kafka.scheduling.chunked_work import whole

_logger: Final = get_logger(__name__)


def replace_static_member(
    transition: Transition, request: Join, old_id: str, ticket: Ticket
) -> None:
    """Give the member `old_id` the new id of `request`."""
    group = transition.group
    _logger.info(
        "static member replaced",
        group=group.group_id,
        instance=request.instance_id,
        before=old_id,
        now=request.new_member_id,
    )
    leader_before = group.leader
    old = group.membership[old_id]
    member = _rename(transition, old, request.new_member_id)
    transition.note(request.client_id, "joined")
    if group.phase is not ClassicState.STABLE:
        transition.park_join(member, request, ticket)
        if group.phase is ClassicState.COMPLETING_REBALANCE:
            # The leader may have assigned to the old id.
            cause = f"static member {request.instance_id} is back during the rebalance"
            prepare(transition, cause, request.client_id)
        else:
            complete_if_joined(transition)
        return
    before = old.protocols, old.rebalance_timeout_ms, old.session_timeout_ms
    transition.restate(member, request)
    if group.membership.elected_protocol() == group.protocol_name:
        answer = _answer(transition, request, leader_before)
        _store(transition, ticket, answer, _undo(member, old_id, before))
    else:
        group.membership.set_join(member, ticket)
        cause = f"with static member {request.instance_id} another protocol is chosen"
        prepare(transition, cause, request.client_id)


def _rename(transition: Transition, member: Member, new_id: str) -> Member:
    group, old_id = transition.group, member.member_id
    transition.refuse_join(member, ErrorCode.FENCED_INSTANCE_ID, old_id)
    transition.answer_sync(member, KafkaError(ErrorCode.FENCED_INSTANCE_ID))
    transition.cancel_timers(old_id)
    renamed = group.membership.rename(member, new_id)
    if group.leads(old_id):
        group.leader = new_id
    if old_id in group.syncs_due:
        group.syncs_due.remove(old_id)
        group.syncs_due.add(new_id)
    transition.renew_session(renamed)
    return renamed


def _answer(transition: Transition, request: Join, leader_before: str | None) -> JoinAnswer:
    """Return the current generation. In old versions a leader is given its old id as the leader's,
    so that it acts as a follower and does not assign again.
    """
    current = transition.current(request.new_member_id)
    if request.skips_assignment:
        leads = transition.group.leads(request.new_member_id)
        return evolve(current, skip_assignment=leads)
    return evolve(current, leader=leader_before or "", members=())


def _store(
    transition: Transition, ticket: Ticket, answer: JoinAnswer, undo: Callable[[Transition], None]
) -> None:
    """Store the new id and the new metadata; the group stays as it is."""
    group, effects, later = transition.group, transition.effects, transition.later

    def refused(error: KafkaError, now_ms: int) -> Effects:
        transition = later(now_ms)
        undo(transition)
        refusal = evolve(
            answer,
            member_id=NO_MEMBER_ID,
            leader=group.leader or "",
            members=(),
            skip_assignment=False,
            error=error.code,
        )
        return transition.effects.answer(ticket, refusal)

    assignments = {each.member_id: each.assignment for each in group.membership}
    effects.records.append(whole(group_record(group, assignments)))
    effects.replays, effects.refused = False, refused
    effects.answer(ticket, answer)


def _undo(
    member: Member, old_id: str, before: tuple[tuple[GroupProtocol, ...], int, int]
) -> Callable[[Transition], None]:
    """Return a function that restores the member. Clients with the old id stay fenced."""
    protocols, rebalance_timeout_ms, session_timeout_ms = before

    def undo(transition: Transition) -> None:
        transition.group.membership.set_protocols(member, protocols)
        member.rebalance_timeout_ms = rebalance_timeout_ms
        member.session_timeout_ms = session_timeout_ms
        _rename(transition, member, old_id)

    return undo
