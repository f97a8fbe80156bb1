"""Members leave, or are fenced; where only classic members are left the group becomes classic.

Source: consumerGroupLeave, consumerGroupFenceMembers of Apache Kafka 4.4.0.
"""

from collections.abc import Sequence
from typing import Any, Final

from attrs import evolve

from trio_kafka.coordinators.effects import Effects, Ticket
from trio_kafka.coordinators.groups.consumer import checks, records
from trio_kafka.coordinators.groups.consumer.act import Act
from trio_kafka.coordinators.groups.consumer.downgrade import can_go_on_classic, downgrade
from trio_kafka.coordinators.groups.consumer.member import NOTHING, Member
from trio_kafka.coordinators.groups.consumer.values import (
    LEAVE_STATIC_EPOCH,
    Heartbeat,
    HeartbeatAnswer,
)
from trio_kafka.introspect.log import get_logger
from trio_kafka.scheduling.chunked_work import Steps

NOBODY: Final = None  # no ticket: nobody asked
_logger: Final = get_logger(__name__)


def leave(act: Act, asked: Heartbeat, ticket: Ticket) -> Effects | Steps[Effects]:
    """Answer: HeartbeatAnswer with the epoch of the request.

    Raises KafkaError: UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID.
    """
    group, answer = act.group, HeartbeatAnswer(asked.member_id, asked.epoch)
    if asked.instance_id is None:
        member = group.member(asked.member_id)
    else:
        member = checks.check_known_static(
            group.static_member(asked.instance_id), asked.instance_id
        )
        checks.check_not_fenced(member, asked.member_id, asked.instance_id)
        if asked.epoch == LEAVE_STATIC_EPOCH:
            return _leave_for_a_while(act, member).answer(ticket, answer)
    _log(act, member, "it left")
    return remove(act, [member], ticket, answer)


def _leave_for_a_while(act: Act, member: Member) -> Effects:
    """What it has is kept for it until its session ends."""
    _log(act, member, "it left for a while")
    away = evolve(member, epoch=LEAVE_STATIC_EPOCH, revoking=NOTHING)
    act.write(records.assignment(act.group.group_id, away))
    return act.effects


def fence(act: Act, member_id: str, reason: str) -> Effects | Steps[Effects]:
    """A member is one no longer, as nobody has heard of it, or it did not do what it was to."""
    member = act.group.by_id.get(member_id)
    if member is None:
        return act.effects
    _log(act, member, reason)
    return remove(act, [member], NOBODY, None)


def remove(act: Act, members: Sequence[Member], ticket: Ticket, answer: Any) -> Steps[Effects]:
    """Without these members the group is assigned anew, by whoever heartbeats next."""
    group = act.group
    if ticket is not NOBODY:
        act.effects.answer(ticket, answer)
    if not members:
        return act.effects
    if can_go_on_classic(act, members):
        return downgrade(act, leaving=members, cause="member leaving")
    for member in members:
        act.write(*records.no_member(group.group_id, member.member_id))
    unused = _unused_expressions(act, members)
    for regex in unused:
        act.write(records.no_expression(group.group_id, regex))
    left = group.subscriptions.topics_without(members, unused)
    epoch = act.bump((yield from act.metadata_hash(left)))
    if len(members) == len(group.by_id):
        # Nobody has to wait for the interval of an assignment that nobody has.
        act.write(records.target_epoch(group.group_id, epoch, 0))
    for member in members:
        act.unwatch(member.member_id)
    return act.effects


def _unused_expressions(act: Act, members: Sequence[Member]) -> list[str]:
    counts: dict[str, int] = {}
    for member in members:
        if member.regex:
            counts[member.regex] = counts.get(member.regex, 0) + 1
    known = act.group.subscriptions.regexes
    return [regex for regex, count in counts.items() if known.get(regex) == count]


def _log(act: Act, member: Member, reason: str) -> None:
    _logger.info(
        "member leaves",
        group=act.group.group_id,
        member=member.member_id,
        instance=member.instance_id,
        reason=reason,
    )
