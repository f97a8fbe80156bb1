"""Facts of the members of a classic group, with what each owes to the others.

A member that must rejoin has until the longest rebalance timeout of the group, a member that must
sync has as long again, and every member until its session ends. A pending request keeps a member.
"""

from typing import Final

from trio_kafka.coordinators.groups.classic.group import CONSUMER, ClassicGroup
from trio_kafka.coordinators.groups.classic.joining import NEW_MEMBER_TIMEOUT_MS
from trio_kafka.coordinators.groups.classic.membership import Member
from trio_kafka.coordinators.groups.classic.states import ClassicState
from trio_kafka.coordinators.groups.consumer.embedded_protocol import read_assignment
from trio_kafka.coordinators.groups.facts.view import (
    A_STEP,
    GroupView,
    earliest,
    lasting,
    since_s,
)
from trio_kafka.introspect.facts.groups import MemberFacts
from trio_kafka.protocol.errors import DecodeError
from trio_kafka.scheduling.chunked_work import Steps

_REJOIN: Final = "has not rejoined"
_UUID_LENGTH: Final = 36  # of the end of an id that the coordinator made, after a hyphen


def classic_members(group: ClassicGroup, view: GroupView) -> Steps[list[MemberFacts]]:
    """Return the members in the order in which they joined, then the ids that clients have been
    given and have not joined with.
    """
    facts = list[MemberFacts]()
    for number, member in enumerate(group.members(), 1):
        facts.append(_member(group, member, view))
        if not number % A_STEP:
            yield
    for number, member_id in enumerate(sorted(group.membership.pending), 1):
        facts.append(_pending(group, member_id, view))
        if not number % A_STEP:
            yield
    return facts


def _member(group: ClassicGroup, member: Member, view: GroupView) -> MemberFacts:
    timeout_ms = NEW_MEMBER_TIMEOUT_MS if member.is_new else member.session_timeout_ms
    session_left_s = view.left_s(group.session_timer(member.member_id))
    owes = _debt(group, member)
    left_s = None if member.is_heard else session_left_s
    if owes == _REJOIN:
        left_s = left_s if member.is_static else earliest(left_s, view.left_s(group.join_timer))
    elif owes:
        left_s = earliest(left_s, view.left_s(group.sync_timer))
    if owes and group.phase is not ClassicState.STABLE and group.since_ms is not None:
        owes = lasting(owes, view.ago_s(group.since_ms))
    return MemberFacts(
        member_id=member.member_id,
        instance_id=member.instance_id,
        client_id=member.client_id,
        host=member.client_host,
        heartbeat_s=since_s(timeout_ms / 1000, session_left_s),
        left_s=left_s,
        owes=owes,
        assigned=_assigned(group, member, view),
    )


def _debt(group: ClassicGroup, member: Member) -> str:
    """Return what the others wait for from a member; empty: nothing."""
    phase, member_id = group.phase, member.member_id
    if phase is ClassicState.PREPARING_REBALANCE:
        return "" if member.join_ticket is not None else _REJOIN
    assigns = phase is ClassicState.COMPLETING_REBALANCE and group.leads(member_id)
    if assigns and member.sync_ticket is None:
        return "has not sent the assignment"
    return "has not asked for its assignment" if member_id in group.syncs_due else ""


def _pending(group: ClassicGroup, member_id: str, view: GroupView) -> MemberFacts:
    joins = group.phase is ClassicState.PREPARING_REBALANCE
    return MemberFacts(
        member_id=member_id,
        instance_id=None,
        client_id=member_id[: -1 - _UUID_LENGTH],
        host="",
        heartbeat_s=None,
        left_s=view.left_s(group.session_timer(member_id)),
        owes="has not joined with its new id" if joins else "",
        assigned={},
    )


def _assigned(group: ClassicGroup, member: Member, view: GroupView) -> dict[str, tuple[int, ...]]:
    """Return the assignment, if the coordinator can read it: its leader wrote it."""
    if group.protocol_type != CONSUMER or not member.assignment:
        return {}
    try:
        assignment = read_assignment(member.assignment)
    except DecodeError:
        return {}
    return {
        topic.topic: tuple(sorted(topic.partitions))
        for topic in assignment.assigned_partitions
        if view.may_describe(topic.topic)
    }
