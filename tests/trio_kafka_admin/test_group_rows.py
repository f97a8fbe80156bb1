"""Rows of groups: facts joined with the history of the lag."""

from collections.abc import Container

import trio
from trio.testing import MockClock

from tests.trio_kafka_admin.test_lag_history import Partitions
from trio_kafka.coordinators.groups.facts.lag_samples import LagKey
from trio_kafka.introspect.facts.groups import (
    GroupFacts,
    MemberFacts,
    MembershipFacts,
    PartitionLag,
    RebalanceFacts,
)
from trio_kafka_admin.group_rows import (
    GroupDetail,
    GroupRow,
    PartitionRow,
    group_head,
    group_row,
    partition_rows,
)
from trio_kafka_admin.lag_history import LagHistory


def lag(partition: int, records: int | None) -> PartitionLag:
    return PartitionLag(
        topic="t",
        partition=partition,
        offset=0,
        end=records,
        lag=records,
        member_id=None,
    )


def member(owes: str) -> MemberFacts:
    return MemberFacts(
        member_id="m",
        instance_id=None,
        client_id="c",
        host="h",
        heartbeat_s=None,
        left_s=None,
        owes=owes,
        assigned={},
    )


GROUP = GroupFacts(
    group_id="g",
    type="classic",
    state="Stable",
    state_s=1.0,
    epoch=3,
    protocol="range",
    members=(member("has not rejoined"), member("")),
    partitions=(lag(0, 5), lag(1, None), lag(2, 20)),
    lag=25,
    rebalances=(
        RebalanceFacts(at_ms=2, ago_s=1.0, epoch=3, cause="newest", client_id="c"),
        RebalanceFacts(at_ms=1, ago_s=2.0, epoch=2, cause="older", client_id="c"),
    ),
    membership=(
        MembershipFacts(client_id="c", joins=2, leaves=1, recent=()),
        MembershipFacts(client_id="d", joins=1, leaves=0, recent=()),
    ),
)


async def history_of(growth: int) -> LagHistory:
    """Two samples of partition 2, ten seconds apart."""
    partitions = Partitions({("g", "t", 2): (0, 20 - growth)})
    history = LagHistory(partitions.read)
    await history.sample()
    await trio.sleep(10)
    partitions.at["g", "t", 2] = (0, 20)
    await history.sample()
    return history


async def test_row_of_a_group_counts_members_joins_and_the_last_rebalance(
    autojump_clock: MockClock,
) -> None:
    row = group_row(GROUP, await history_of(10))

    assert (row["members"], row["owing"], row["lag"], row["joins"]) == (2, 1, 25, 3)
    assert row["rebalance"]["cause"] == "newest"
    assert row["growth_per_s"] == 1.0
    assert row["catch_up_s"] is None
    assert row["history"] == [(10.0, 10), (0.0, 20)]
    assert set(row) == {field.name for field in GroupRow.__attrs_attrs__}


async def test_partitions_are_ordered_by_lag_with_their_trend(autojump_clock: MockClock) -> None:
    first, second = partition_rows(GROUP, await history_of(10), 2)

    assert (first["partition"], second["partition"]) == (2, 0)
    assert (first["produced_per_s"], first["consumed_per_s"]) == (1.0, 0.0)
    assert second["growth_per_s"] is None
    assert second["history"] == []
    assert set(first) == {field.name for field in PartitionRow.__attrs_attrs__}


async def test_head_of_a_group_has_the_trend_of_all_its_partitions(
    autojump_clock: MockClock,
) -> None:
    head = group_head(GROUP, await history_of(10))

    assert (head["state"], head["epoch"], head["growth_per_s"]) == ("Stable", 3, 1.0)
    lists = {"members", "partitions", "partitions_total", "rebalances", "membership"}
    assert set(head) | lists == {field.name for field in GroupDetail.__attrs_attrs__}


async def test_group_without_samples_has_no_trend(autojump_clock: MockClock) -> None:
    async def nothing(tracked: Container[LagKey], most: int) -> object:
        raise AssertionError

    row = group_row(GROUP, LagHistory(nothing))  # type: ignore[arg-type]

    assert (row["growth_per_s"], row["catch_up_s"], row["history"]) == (None, None, [])
