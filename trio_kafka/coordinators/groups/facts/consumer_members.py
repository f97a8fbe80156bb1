"""Facts of the members of a consumer group (KIP-848), with what each owes to the others.

A member that must give up partitions has until its rebalance timeout. Members of the classic
protocol have as long to rejoin, and then to ask for their assignment.
"""

from trio_kafka.coordinators.groups.consumer.group import ConsumerGroup
from trio_kafka.coordinators.groups.consumer.member import Member, MemberState
from trio_kafka.coordinators.groups.consumer.transition import JOIN, REBALANCE, SESSION, SYNC
from trio_kafka.coordinators.groups.consumer.values import LEAVE_STATIC_EPOCH
from trio_kafka.coordinators.groups.facts.view import (
    A_STEP,
    GroupView,
    earliest,
    lasting,
    since_s,
)
from trio_kafka.introspect.facts.groups import MemberFacts
from trio_kafka.scheduling.chunked_work import Steps


def consumer_members(group: ConsumerGroup, view: GroupView) -> Steps[list[MemberFacts]]:
    """Return the members in the order in which they joined."""
    facts = list[MemberFacts]()
    for number, member in enumerate(group.members(), 1):
        facts.append(_member(group, member, view))
        if not number % A_STEP:
            yield
    return facts


def _member(group: ConsumerGroup, member: Member, view: GroupView) -> MemberFacts:
    timeout_ms = view.settings.consumer_session_timeout_ms
    if member.classic is not None:
        timeout_ms = member.classic.session_timeout_ms
    session_left_s = view.left_s((SESSION, group.group_id, member.member_id))
    owes, left_s = _debt(group, member, view)
    return MemberFacts(
        member_id=member.member_id,
        instance_id=member.instance_id,
        client_id=member.client_id,
        host=member.client_host,
        heartbeat_s=since_s(timeout_ms / 1000, session_left_s),
        left_s=earliest(session_left_s, left_s),
        owes=owes,
        assigned=_assigned(member, view),
    )


def _debt(group: ConsumerGroup, member: Member, view: GroupView) -> tuple[str, float | None]:
    """Return what the others wait for from a member, and the seconds that it has left for it."""
    timeout_s = member.rebalance_timeout_ms / 1000
    for name, words in (
        (REBALANCE, _revocation(member)),
        (JOIN, "has not rejoined"),
        (SYNC, "has not asked for its assignment"),
    ):
        left_s = view.left_s((name, group.group_id, member.member_id))
        if left_s is not None:
            return lasting(words, since_s(timeout_s, left_s)), left_s
    if member.epoch == LEAVE_STATIC_EPOCH:
        return "has left for a while; its partitions wait for it", None
    if member.state is MemberState.UNREVOKED_PARTITIONS:
        return _revocation(member), None
    if member.state is MemberState.STABLE and member.epoch < group.assignment_epoch:
        return f"has not taken over assignment {group.assignment_epoch}", None
    return "", None


def _revocation(member: Member) -> str:
    count = sum(map(len, member.revoking.values()))
    return f"has not given up {count} partition{'' if count == 1 else 's'}"


def _assigned(member: Member, view: GroupView) -> dict[str, tuple[int, ...]]:
    """Return the partitions that the member owns, also those that it must give up."""
    names, partitions = view.image.topic_names, dict[str, set[int]]()
    for owned in (member.assigned, member.revoking):
        for topic_id, numbers in owned.items():
            name = names.get(topic_id)
            if name is not None and view.may_describe(name):
                partitions.setdefault(name, set()).update(numbers)
    return {name: tuple(sorted(partitions[name])) for name in sorted(partitions)}
