"""Groups that wait for a silent member."""

from collections.abc import Iterator
from typing import Final

from trio_kafka.introspect.facts.groups import GroupFacts, MemberFacts
from trio_kafka.introspect.waits import Subject, member_subject
from trio_kafka_admin.findings.change import Change
from trio_kafka_admin.findings.finding import Finding
from trio_kafka_admin.findings.texts import duration, short

_USUAL_S: Final = 3.0  # a rebalance of healthy members ends sooner
_SETTLED: Final = frozenset({"Stable", "Empty", "Dead"})


def silent_member(change: Change) -> Iterator[Finding]:
    """Yield a finding for each group that has waited for some of its members for long."""
    for group in change.now.groups:
        debtors = [member for member in group.members if member.owes]
        age_s = _age_s(change, group)
        if group.state in _SETTLED or not debtors or age_s < _USUAL_S:
            continue
        first = debtors[0]
        others = len(debtors) - 1
        more = f" and {others} more" if others else ""
        patient = len(group.members) - len(debtors)
        waiting = "1 other member waits" if patient == 1 else f"{patient} other members wait"
        yield Finding(
            kind="silent-member",
            title=f"group {short(group.group_id)} waits for member {label(first)}{more}",
            more=f", which {first.owes}{_heartbeat(first)}{_fate(first)}; {waiting}",
            subject=member_subject(group.group_id, first.member_id),
            severity="wrong",
            explains=(
                Subject("group", group.group_id),
                *(member_subject(group.group_id, member.member_id) for member in debtors[1:]),
            ),
            hurt=patient,
            link=Subject("group", group.group_id),
            age_s=age_s,
        )


def label(member: MemberFacts) -> str:
    """Return what to call a member: its client id, with its host."""
    name = short(member.instance_id or member.client_id or member.member_id)
    return f"{name} ({member.host.removeprefix('/')})" if member.host else name


def _age_s(change: Change, group: GroupFacts) -> float:
    """Return how long the group has been in its state, at least as long as both moments show."""
    if group.state_s is not None:
        return group.state_s
    past = change.past_groups.get(group.group_id)
    is_same = past is not None and past.state == group.state and past.epoch == group.epoch
    return (change.seconds or 0.0) if is_same else 0.0


def _heartbeat(member: MemberFacts) -> str:
    if member.heartbeat_s is None:
        return ""
    return f" (its last heartbeat came {duration(member.heartbeat_s)} ago)"


def _fate(member: MemberFacts) -> str:
    if member.left_s is None:
        return ""
    return f" and is removed in {duration(member.left_s)}"
