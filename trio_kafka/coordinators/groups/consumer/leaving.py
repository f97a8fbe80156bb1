"""Removal of members that leave or are fenced. If only classic members are left, the group becomes
a classic one.

Source: consumerGroupLeave, consumerGroupFenceMembers of Apache Kafka 4.4.0.
"""

from collections.abc import Sequence
from typing import Final

from attrs import evolve

from trio_kafka.coordinators.groups.consumer import records
from trio_kafka.coordinators.groups.consumer.downgrade import can_go_on_classic, downgrade
from trio_kafka.coordinators.groups.consumer.member import NOTHING, Member
from trio_kafka.coordinators.groups.consumer.transition import Transition
from trio_kafka.coordinators.groups.consumer.values import (
    LEAVE_STATIC_EPOCH,
    Heartbeat,
    HeartbeatAnswer,
)
from trio_kafka.coordinators.shards.effects import Effects, EventResult, Ticket
from trio_kafka.introspect.log import get_logger
from trio_kafka.scheduling.chunked_work import Steps

NOBODY: Final = None  # no ticket: no request
_logger: Final = get_logger(__name__)


def leave(transition: Transition, request: Heartbeat, ticket: Ticket) -> EventResult:
    """Remove a member; answer with a HeartbeatAnswer with the epoch of the request.

    Raises KafkaError: UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID.
    """
    group, answer = transition.group, HeartbeatAnswer(request.member_id, request.epoch)
    member = group.validated_member(request.member_id, request.instance_id)
    if request.instance_id is not None and request.epoch == LEAVE_STATIC_EPOCH:
        return _leave_for_a_while(transition, member).answer(ticket, answer)
    _log(transition, member, "it left")
    return remove(transition, [member], ticket, answer)


def _leave_for_a_while(transition: Transition, member: Member) -> Effects:
    """Keep the assignment of a static member until its session ends."""
    _log(transition, member, "it left temporarily")
    transition.note(member.client_id, "left")
    away = evolve(member, epoch=LEAVE_STATIC_EPOCH, revoking=NOTHING)
    transition.write(records.assignment(transition.group.group_id, away))
    return transition.effects


def fence(transition: Transition, member_id: str, reason: str) -> EventResult:
    """Remove a member whose timer has expired."""
    member = transition.group.by_id.get(member_id)
    if member is None:
        return transition.effects
    _log(transition, member, reason)
    return remove(transition, [member], NOBODY, None, reason=reason)


def remove(
    transition: Transition,
    members: Sequence[Member],
    ticket: Ticket,
    answer: object,
    *,
    reason: str = "",
) -> Steps[Effects]:
    """Remove members. The next heartbeat computes a new target assignment.

    reason: why a member is fenced; empty: the members leave by themselves.
    """
    group = transition.group
    for member in members:
        transition.note(member.client_id, "timed out" if reason else "left")
    if ticket is not NOBODY:
        transition.effects.answer(ticket, answer)
    if not members:
        return transition.effects
    if can_go_on_classic(transition, members):
        return downgrade(transition, leaving=members, cause="member leaving")
    for member in members:
        transition.write(*records.no_member(group.group_id, member.member_id))
    unused = _unused_expressions(transition, members)
    for regex in unused:
        transition.write(records.no_expression(group.group_id, regex))
    remaining = yield from group.subscriptions.topics_without(members, unused)
    ids = ", ".join(member.member_id for member in members)
    cause = f"member {ids} was removed: {reason}" if reason else f"members have left: {ids}"
    metadata_hash = yield from transition.metadata_hash(remaining)
    epoch = transition.bump(metadata_hash, cause, members[0].client_id)
    if len(members) == len(group.by_id):
        # The next group need not wait for the interval of an assignment without members.
        transition.write(records.target_epoch(group.group_id, epoch, 0))
    for member in members:
        transition.cancel_timers(member.member_id)
    return transition.effects


def _unused_expressions(transition: Transition, members: Sequence[Member]) -> list[str]:
    counts: dict[str, int] = {}
    for member in members:
        if member.regex:
            counts[member.regex] = counts.get(member.regex, 0) + 1
    counted = transition.group.subscriptions.regexes
    return [regex for regex, count in counts.items() if counted.get(regex) == count]


def _log(transition: Transition, member: Member, reason: str) -> None:
    _logger.info(
        "member left",
        group=transition.group.group_id,
        member=member.member_id,
        instance=member.instance_id,
        reason=reason,
    )
