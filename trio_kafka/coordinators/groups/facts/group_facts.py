"""Facts of one group: what it is doing, for how long, and why; computed in steps when asked for."""

from collections.abc import Iterator
from typing import Final

from trio_kafka.coordinators.groups.classic.group import ClassicGroup
from trio_kafka.coordinators.groups.consumer.group import ConsumerGroup
from trio_kafka.coordinators.groups.consumer.shard_state import ConsumerShardState
from trio_kafka.coordinators.groups.consumer.target_assignment import preferred_assignor
from trio_kafka.coordinators.groups.consumer.transition import Transition
from trio_kafka.coordinators.groups.facts.classic_members import classic_members
from trio_kafka.coordinators.groups.facts.consumer_members import consumer_members
from trio_kafka.coordinators.groups.facts.view import A_STEP, GroupView
from trio_kafka.coordinators.groups.groups import Groups
from trio_kafka.coordinators.groups.history import GroupHistory, MemberChange
from trio_kafka.coordinators.groups.lag import EndOf, lags
from trio_kafka.coordinators.groups.protocols import Group
from trio_kafka.introspect.facts.groups import (
    GroupFacts,
    MemberFacts,
    MembershipFacts,
    PartitionLag,
    RebalanceFacts,
)
from trio_kafka.scheduling.chunked_work import Steps

WINDOW_S: Final = 15 * 60.0  # joins and leaves that are reported
_RECENT: Final = 16  # of one client


def group_facts(
    groups: Groups, group_id: str, view: GroupView, end_of: EndOf
) -> Steps[GroupFacts | None]:
    """Return the facts of a group; None if it is gone.

    The group may change between two steps: its parts may be of different moments, each true.
    """
    group = groups.by_id.get(group_id)
    history, protocol = history_of(groups, group_id), ""
    state_s: float | None = None
    members = list[MemberFacts]()
    if isinstance(group, ClassicGroup):
        protocol = group.protocol_name or ""
        state_s = None if group.since_ms is None else view.ago_s(group.since_ms)
        members = yield from classic_members(group, view)
    elif isinstance(group, ConsumerGroup):
        shared = ConsumerShardState.of(groups)
        protocol = preferred_assignor(Transition.begin(shared, group, view.now_ms))
        state_s = _state_s(group, history, view)
        members = yield from consumer_members(group, view)
    if group is None or groups.by_id.get(group_id) is not group:
        return None
    partitions = yield from _partitions(groups, group_id, members, view, end_of)
    return GroupFacts(
        group_id=group_id,
        type=group.type,
        state=group.state,
        state_s=state_s,
        epoch=_epoch(group),
        protocol=protocol,
        members=tuple(members),
        partitions=tuple(partitions),
        lag=sum(partition.lag or 0 for partition in partitions),
        rebalances=tuple(_rebalances(history, view)),
        membership=_membership(history, view),
    )


def history_of(groups: Groups, group_id: str) -> GroupHistory:
    """Return the history of a group; an empty one if it has none."""
    group = groups.by_id.get(group_id)
    if isinstance(group, ClassicGroup):
        return group.history
    if isinstance(group, ConsumerGroup):
        return ConsumerShardState.of(groups).histories.get(group_id) or GroupHistory()
    return GroupHistory()


def _epoch(group: Group) -> int:
    if isinstance(group, ConsumerGroup):
        return group.epoch
    return group.generation if isinstance(group, ClassicGroup) else 0


def _state_s(group: ConsumerGroup, history: GroupHistory, view: GroupView) -> float | None:
    """Return the seconds that the group has been in its state, as far as something tells it."""
    match group.state:
        case "Assigning" if history.rebalances:
            return view.ago_s(history.rebalances[-1].at_ms)
        case "Reconciling" if group.assigned_ms > 0:
            return view.ago_s(group.assigned_ms)
    return None


def _partitions(
    groups: Groups, group_id: str, members: list[MemberFacts], view: GroupView, end_of: EndOf
) -> Steps[list[PartitionLag]]:
    owners = dict[tuple[str, int], str]()
    for member in members:
        for topic, numbers in member.assigned.items():
            owners.update(dict.fromkeys([(topic, number) for number in numbers], member.member_id))
        yield
    facts = list[PartitionLag]()
    for number, lag in enumerate(lags(groups, group_id, end_of), 1):
        if view.may_describe(lag.topic):
            facts.append(
                PartitionLag(
                    topic=lag.topic,
                    partition=lag.partition,
                    offset=lag.offset,
                    end=lag.end,
                    lag=lag.lag,
                    member_id=owners.get((lag.topic, lag.partition)),
                )
            )
        if not number % A_STEP:
            yield
    return facts


def _rebalances(history: GroupHistory, view: GroupView) -> Iterator[RebalanceFacts]:
    for rebalance in reversed(history.rebalances):
        yield RebalanceFacts(
            at_ms=rebalance.at_ms,
            ago_s=view.ago_s(rebalance.at_ms),
            epoch=rebalance.generation + 1,
            cause=rebalance.cause,
            client_id=rebalance.client_id,
        )


def _membership(history: GroupHistory, view: GroupView) -> tuple[MembershipFacts, ...]:
    """Return the changes of the last 15 minutes by client, the newest client first."""
    by_client = dict[str, list[MemberChange]]()
    for change in reversed(history.changes):
        if view.ago_s(change.at_ms) <= WINDOW_S:
            by_client.setdefault(change.client_id, []).append(change)
    return tuple(
        MembershipFacts(
            client_id=client_id,
            joins=sum(change.kind == "joined" for change in changes),
            leaves=sum(change.kind != "joined" for change in changes),
            recent=tuple((view.ago_s(change.at_ms), change.kind) for change in changes[:_RECENT]),
        )
        for client_id, changes in by_client.items()
    )
