"""Order of groups by trouble, from what is cheap to know, before facts of any are computed."""

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from trio_kafka.coordinators.groups.groups import Groups
from trio_kafka.coordinators.groups.lag import EndOf
from trio_kafka.coordinators.groups.protocols import Group
from trio_kafka.coordinators.shards.shard import Shard
from trio_kafka.scheduling.chunked_work import Steps, sorted_in_steps

_A_STEP: Final = 256  # groups or partitions in one step: 0.3 ms
_MOST_PARTITIONS: Final = 50_000  # whose lag counts; the groups that follow count as without lag
_AT_REST: Final = {"Stable": 1, "Empty": 2, "Dead": 3}


class RankedGroup(NamedTuple):
    """Group with its place among the others: rebalancing ones first, then by lag, then by id."""

    rank: int
    negative_lag: int
    group_id: str
    shard: Shard[Groups]


def ranked(
    shards: Sequence[Shard[Groups]],
    end_of: EndOf,
    is_visible: Callable[[str], bool],
    may_describe: Callable[[str], bool],
) -> Steps[list[RankedGroup]]:
    """Return the groups that the reader may see, the most troubled first.

    is_visible: of a group's id. may_describe: of a topic; others add no lag.
    """
    groups = list[RankedGroup]()
    counted = number = 0
    for shard in shards:
        for group in tuple(shard.machine.by_id.values()):
            number += 1
            if not number % _A_STEP:
                yield
            if not is_visible(group.group_id):
                continue
            lag = 0
            if counted < _MOST_PARTITIONS:
                count, lag = yield from _lag(shard.machine, group, end_of, may_describe)
                counted += count
            rank = _AT_REST.get(group.state, 0)
            groups.append(RankedGroup(rank, -lag, group.group_id, shard))
    yield
    return (yield from sorted_in_steps(groups))  # no two have the same id


def _lag(
    machine: Groups, group: Group, end_of: EndOf, may_describe: Callable[[str], bool]
) -> Steps[tuple[int, int]]:
    """Return the number of partitions with an offset, and the lag in all of them."""
    count = lag = 0
    for topic, partitions in tuple(machine.offsets.of_group(group.group_id).items()):
        if not may_describe(topic):
            continue
        for partition, value in tuple(partitions.items()):
            count += 1
            end = end_of(topic, partition) if value.offset >= 0 else None
            lag += max(0, end - value.offset) if end is not None else 0
            if not count % _A_STEP:
                yield
    return count, lag
