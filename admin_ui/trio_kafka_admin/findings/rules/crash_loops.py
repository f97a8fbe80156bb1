"""Clients that join a group and leave it again and again."""

from collections.abc import Iterator
from typing import Final

from trio_kafka.introspect.facts.groups import GroupFacts, MembershipFacts
from trio_kafka.introspect.waits import Subject
from trio_kafka_admin.findings.change import Change
from trio_kafka_admin.findings.finding import Finding
from trio_kafka_admin.findings.texts import counted, duration, short

_WINDOW_S: Final = 120.0  # joins within this time count
_OFTEN: Final = 3  # joins and leaves for each member that the client has


def crash_loop(change: Change) -> Iterator[Finding]:
    """Yield clients that have joined a group often and left it as often.

    Members that restart one after the other, as for a new version, join and leave once each.
    """
    for group in change.now.groups:
        for membership in group.membership:
            finding = _finding(group, membership)
            if finding is not None:
                yield finding


def _finding(group: GroupFacts, membership: MembershipFacts) -> Finding | None:
    client_id = membership.client_id
    present = sum(member.client_id == client_id for member in group.members)
    recent = [event for event in membership.recent if event[0] <= _WINDOW_S]
    joins = [ago_s for ago_s, event in recent if event == "joined"]
    leaves = [(ago_s, event) for ago_s, event in recent if event != "joined"]
    least = _OFTEN * max(present, 1)
    if len(joins) < least or len(leaves) < least - 1:
        return None
    ways = sorted({event for _, event in leaves})
    return Finding(
        kind="crash-loop",
        title=f"client {short(client_id)} starts again and again in group {short(group.group_id)}",
        more=f": it joined {counted(len(joins), 'time')} in {duration(max(joins))}"
        f" and {' or '.join(ways)} {counted(len(leaves), 'time')}",
        subject=Subject("client", client_id),
        severity="wrong",
        explains=(Subject("group", group.group_id),),
        hurt=max(len(group.members), 1),
        link=Subject("group", group.group_id),
        age_s=max(joins),
    )
