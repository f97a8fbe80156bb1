"""Leaders of partitions that are led elsewhere, which a response names. Source: KIP-951."""

from collections.abc import Iterable
from typing import Protocol

from trio_kafka.model import NodeId, TopicId
from trio_kafka.protocol.structs.leaders import LeaderIdAndEpoch, NodeEndpoint
from trio_kafka.replication.partition import LED_ELSEWHERE
from trio_kafka.requests.context import Context


class PartitionRow(Protocol):
    """Row of a response."""

    error_code: int
    current_leader: LeaderIdAndEpoch


def name_leader(
    row: PartitionRow, context: Context, at: tuple[TopicId | str, int], leaders: set[NodeId]
) -> None:
    """Name the leader in the row of a partition whose error says that another broker leads it.

    at: topic and number. leaders: gets the leader, whose address the response must give.
    """
    if row.error_code not in LED_ELSEWHERE:
        return
    topic = context.image.topic(at[0])
    state = None if topic is None else topic.partitions.get(at[1])
    if state is not None:
        row.current_leader = LeaderIdAndEpoch(state.leader, state.leader_epoch)
        leaders.add(state.leader)


def leader_endpoints(context: Context, leaders: Iterable[NodeId]) -> list[NodeEndpoint]:
    """Return the addresses of named leaders on the client's listener."""
    return context.endpoints(leaders, NodeEndpoint)
