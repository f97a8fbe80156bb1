"""Data of the page of groups: facts of groups joined with the history of their lag."""

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

import attrs

from trio_kafka.attributes import frozen
from trio_kafka.introspect.facts.groups import (
    GroupFacts,
    MemberFacts,
    MembershipFacts,
    PartitionLag,
    RebalanceFacts,
)
from trio_kafka_admin.lag_history import LagHistory, LagTrend

Points: TypeAlias = list[tuple[float, int]]
"""Seconds ago and lag, the oldest first."""


@frozen(kw_only=True)
class GroupRow:
    """Group in the list.

    owing: members that others wait for. growth_per_s: of the lag in the last minute; None: no two
    samples yet. catch_up_s: until the lag is 0 at this rate; None: it does not shrink. joins: in
    the last 15 minutes. rebalance: the last one.
    """

    group_id: str
    type: str
    state: str
    state_s: float | None
    members: int
    owing: int
    lag: int
    growth_per_s: float | None
    catch_up_s: float | None
    history: Points
    joins: int
    rebalance: RebalanceFacts | None


@frozen(kw_only=True)
class PartitionRow:
    """Partition that a group reads: `PartitionLag` with its trend, see `GroupRow`."""

    topic: str
    partition: int
    offset: int
    end: int | None
    lag: int | None
    member_id: str | None
    produced_per_s: float | None
    consumed_per_s: float | None
    growth_per_s: float | None
    catch_up_s: float | None
    history: Points


@frozen(kw_only=True)
class GroupDetail:
    """One group. partitions: those with the greatest lag. partitions_total: all that there are."""

    group_id: str
    type: str
    state: str
    state_s: float | None
    epoch: int
    protocol: str
    lag: int
    growth_per_s: float | None
    catch_up_s: float | None
    history: Points
    members: tuple[MemberFacts, ...]
    partitions: tuple[PartitionRow, ...]
    partitions_total: int
    rebalances: tuple[RebalanceFacts, ...]
    membership: tuple[MembershipFacts, ...]


@frozen(kw_only=True)
class GroupsAnswer:
    """Data of the page. total: groups that there are; the rows begin with the one after
    `first`; of: text that they contain.

    group: the one that is asked for by name; then there are no rows. unsampled: partitions without
    a history, as there are too many.
    """

    total: int
    first: int
    of: str
    groups: tuple[GroupRow, ...]
    group: GroupDetail | None
    unsampled: int


def group_row(group: GroupFacts, history: LagHistory) -> dict[str, Any]:
    """Return the row of a group."""
    places = [(lag.topic, lag.partition) for lag in group.partitions]
    trend = history.trend_of(group.group_id, places)
    row = GroupRow(
        group_id=group.group_id,
        type=group.type,
        state=group.state,
        state_s=group.state_s,
        members=len(group.members),
        owing=sum(bool(member.owes) for member in group.members),
        lag=group.lag,
        history=_rounded(history.points_of(group.group_id)),
        joins=sum(client.joins for client in group.membership),
        rebalance=group.rebalances[0] if group.rebalances else None,
        **_rates_of_group(trend),
    )
    shown = attrs.asdict(row, recurse=False)
    shown["rebalance"] = None if row.rebalance is None else attrs.asdict(row.rebalance)
    return shown


def partition_rows(group: GroupFacts, history: LagHistory, most: int) -> Iterator[dict[str, Any]]:
    """Yield the rows of a group's partitions, those with the greatest lag first."""
    ranked = sorted(group.partitions, key=lambda lag: (-(lag.lag or 0), lag.topic, lag.partition))
    for lag in ranked[:most]:
        yield _partition_row(group.group_id, lag, history)


def _partition_row(group_id: str, lag: PartitionLag, history: LagHistory) -> dict[str, Any]:
    trend = history.trend(group_id, lag.topic, lag.partition)
    points = history.points(group_id, lag.topic, lag.partition)
    return {
        **attrs.asdict(lag, recurse=False),
        "produced_per_s": None if trend is None else trend.produced_per_s,
        "consumed_per_s": None if trend is None else trend.consumed_per_s,
        **_rates_of_group(trend),
        "history": _rounded(points),
    }


def _rates_of_group(trend: LagTrend | None) -> Mapping[str, Any]:
    return {
        "growth_per_s": None if trend is None else trend.growth_per_s,
        "catch_up_s": None if trend is None else trend.catch_up_s,
    }


def group_head(group: GroupFacts, history: LagHistory) -> dict[str, Any]:
    """Return what a page about one group has besides its lists."""
    places = [(lag.topic, lag.partition) for lag in group.partitions]
    head = {
        key: getattr(group, key)
        for key in ("group_id", "type", "state", "state_s", "epoch", "protocol", "lag")
    }
    return {
        **head,
        **_rates_of_group(history.trend_of(group.group_id, places)),
        "history": _rounded(history.points_of(group.group_id)),
    }


def _rounded(points: Points) -> Points:
    return [(round(ago_s, 1), lag) for ago_s, lag in points]
