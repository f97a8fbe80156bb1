"""Requests about offsets, their rows grouped by topic."""

from collections.abc import Iterable, Sequence

from trio_kafka.clients.consumer.partition_state import PartitionState
from trio_kafka.clients.metadata.values import PartitionLeader
from trio_kafka.model import TopicPartition
from trio_kafka.protocol.messages.k02_list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from trio_kafka.protocol.messages.k23_offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)


def list_offsets_request(
    rows: Iterable[tuple[TopicPartition, int, int]], isolation: int
) -> ListOffsetsRequest:
    """Return a request. rows: partition, timestamp, epoch of its leader (-1: not known)."""
    topics: dict[str, ListOffsetsTopic] = {}
    for at, timestamp, epoch in rows:
        topic = topics.setdefault(at.topic, ListOffsetsTopic(name=at.topic))
        topic.partitions.append(
            ListOffsetsPartition(
                partition_index=at.partition, current_leader_epoch=epoch, timestamp=timestamp
            )
        )
    return ListOffsetsRequest(
        replica_id=-1, isolation_level=isolation, topics=list(topics.values())
    )


def leader_epochs_request(
    rows: Sequence[tuple[PartitionState, PartitionLeader]],
) -> OffsetForLeaderEpochRequest:
    """Return a request for the ends of the epochs of positions, at the leaders that were found."""
    topics: dict[str, OffsetForLeaderTopic] = {}
    for state, leader in rows:
        epoch = -1 if state.position is None else state.position.epoch
        topic = topics.setdefault(state.at.topic, OffsetForLeaderTopic(topic=state.at.topic))
        topic.partitions.append(
            OffsetForLeaderPartition(
                partition=state.at.partition,
                current_leader_epoch=leader.epoch,
                leader_epoch=epoch,
            )
        )
    return OffsetForLeaderEpochRequest(replica_id=-1, topics=list(topics.values()))
