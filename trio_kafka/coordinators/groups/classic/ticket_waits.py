"""Waits of pending JoinGroups and SyncGroups of a classic group as data.

The chain is request, then group, then the member that the group waits for: of several that are
missing, the one that has been silent for the longest time.
"""

from typing import Final

from trio_kafka.attributes import frozen
from trio_kafka.coordinators.groups.classic.group import ClassicGroup
from trio_kafka.coordinators.groups.classic.states import ClassicState
from trio_kafka.coordinators.shards.effects import Ticket, TimerKey
from trio_kafka.coordinators.shards.protocols import WaitTimes
from trio_kafka.introspect.waits import Subject, Wait, member_subject, seconds

_REMOVED: Final = "it is removed from the group"
_SILENT: Final = 2 / 3  # share of a session without a heartbeat: clients send three in one


def ticket_waits(group: ClassicGroup, ticket: Ticket, times: WaitTimes) -> tuple[Wait, ...]:
    """Return what a pending join or sync waits for; empty if the group keeps no such ticket.

    A sync whose leader has assigned waits for a commit: that is the last wait then.
    """
    if group.phase is ClassicState.PREPARING_REBALANCE:
        if any(member.join_ticket is ticket for member in group.membership):
            return _join_waits(group, times)
    elif group.phase is ClassicState.COMPLETING_REBALANCE and any(
        member.sync_ticket is ticket for member in group.membership
    ):
        return _sync_waits(group, times)
    return ()


@frozen(kw_only=True)
class Debtor:
    """Member that others wait for. owes: what has not come, as in "has not rejoined".

    heartbeat_s: since its last heartbeat; None: it has sent none. left_s: until it is removed.
    """

    member_id: str
    owes: str
    heartbeat_s: float | None
    left_s: float | None


def debtors(group: ClassicGroup, times: WaitTimes) -> list[Debtor]:
    """Return the members that the group waits for, those first that are silent for longest."""
    if group.phase is ClassicState.PREPARING_REBALANCE:
        timer = group.join_timer
        owing = [member for member in group.membership if member.join_ticket is None]
        rows = [_debtor(group, m.member_id, "has not rejoined", timer, times) for m in owing]
        rows += [_pending_debtor(group, member_id, times) for member_id in group.membership.pending]
    elif group.phase is ClassicState.COMPLETING_REBALANCE and _leader_owes(group):
        leader, owes = group.leader or "", "leads the group and has not sent the assignment"
        rows = [_debtor(group, leader, owes, group.sync_timer, times)]
    else:
        rows = []
    return sorted(rows, key=lambda debtor: -(debtor.heartbeat_s or 0.0))


def _leader_owes(group: ClassicGroup) -> bool:
    leader = group.membership.by_id.get(group.leader or "")
    return leader is not None and leader.sync_ticket is None


def _debtor(
    group: ClassicGroup, member_id: str, owes: str, timer: TimerKey, times: WaitTimes
) -> Debtor:
    """Return a member that owes something until a timer of the group is due.

    A member that is silent is removed at the end of its session, if that is earlier.
    """
    session_s = group.membership[member_id].session_timeout_ms / 1000
    expires_s = times.left_s(group.session_timer(member_id))
    left_s = times.left_s(timer)
    heartbeat_s = None if expires_s is None else max(session_s - expires_s, 0.0)
    if expires_s is not None and heartbeat_s is not None and heartbeat_s > session_s * _SILENT:
        left_s = expires_s if left_s is None else min(expires_s, left_s)
    return Debtor(member_id=member_id, owes=owes, heartbeat_s=heartbeat_s, left_s=left_s)


def _pending_debtor(group: ClassicGroup, member_id: str, times: WaitTimes) -> Debtor:
    return Debtor(
        member_id=member_id,
        owes="has not joined with the member id that it was given",
        heartbeat_s=None,
        left_s=times.left_s(group.session_timer(member_id)),
    )


def _join_waits(group: ClassicGroup, times: WaitTimes) -> tuple[Wait, ...]:
    membership, on = group.membership, Subject("group", group.group_id)
    age_s = _age_s(group, times)
    left_s = times.left_s(group.join_timer)
    if group.initial is not None:
        words = f"more members of group {group.group_id} (group.initial.rebalance.delay.ms)"
        then = "its first generation begins"
        return (Wait(cause="time", words=words, on=on, age_s=age_s, left_s=left_s, then=then),)
    needs, has = len(membership) + len(membership.pending), membership.joined
    own = Wait(
        cause="member",
        words=f"{has:,} of {needs:,} members of group {group.group_id} have joined",
        on=on,
        needs=needs,
        has=has,
        unit="members",
        age_s=age_s,
        left_s=left_s,
        then="the group goes on without the members that have not joined",
    )
    return (own, *_debtor_wait(group, times))


def _sync_waits(group: ClassicGroup, times: WaitTimes) -> tuple[Wait, ...]:
    on = Subject("group", group.group_id)
    age_s = _age_s(group, times)
    if not _leader_owes(group):
        words = f"the assignments of group {group.group_id} to be stored"
        return (Wait(cause="change", words=words, on=on, age_s=age_s),)
    own = Wait(
        cause="member",
        words=f"the assignment of group {group.group_id}, which its leader sends",
        on=on,
        needs=1,
        has=0,
        unit="assignments",
        age_s=age_s,
        left_s=times.left_s(group.sync_timer),
        then="the members that have not synced are removed",
    )
    return (own, *_debtor_wait(group, times))


def _debtor_wait(group: ClassicGroup, times: WaitTimes) -> tuple[Wait, ...]:
    """Return the wait of the group for the member that has been silent for longest."""
    owing = debtors(group, times)
    if not owing:
        return ()
    debtor, age_s = owing[0], _age_s(group, times)
    since = "" if age_s is None else f" for {seconds(age_s)}"
    heartbeat_s = debtor.heartbeat_s
    beat = "" if heartbeat_s is None else f", last heartbeat {seconds(heartbeat_s)} ago"
    more = f", like {len(owing) - 1:,} more" if len(owing) > 1 else ""
    return (
        Wait(
            cause="member",
            words=f"member {debtor.member_id} {debtor.owes}{since}{beat}{more}",
            on=member_subject(group.group_id, debtor.member_id),
            age_s=age_s,
            left_s=debtor.left_s,
            then=_REMOVED,
        ),
    )


def _age_s(group: ClassicGroup, times: WaitTimes) -> float | None:
    """Return the time since the group is in its state."""
    return None if group.since_ms is None else max(times.now_ms - group.since_ms, 0) / 1000
