"""ListOffsets: one request to each leader for its partitions, repeated for those that moved."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Protocol

from trio_kafka.model import TopicPartition
from trio_kafka.protocol.messages.k02_list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from trio_kafka_spark.client.connection import BrokerConnectionError, Connection
from trio_kafka_spark.client.metadata import PartitionLeader
from trio_kafka_spark.client.retry import Attempts, is_retriable, rejected
from trio_kafka_spark.client.settings import ClientSettings


class Leaders(Protocol):
    """Connections to the leaders of partitions: what this module needs of a cluster."""

    @property
    def settings(self) -> ClientSettings: ...

    def leader_of(self, tp: TopicPartition) -> PartitionLeader:
        """Return leader, epoch and topic id of a partition, by metadata that may be old."""

    def leader(self, tp: TopicPartition, *, idle: bool = False) -> Connection:
        """Return a connection to the leader. Raises BrokerConnectionError."""

    def forget(self, topic: str) -> None:
        """Ask for the metadata of a topic again before the next use."""

    def drop(self, connection: Connection) -> None:
        """Close a connection that failed."""


def find_offsets(
    cluster: Leaders, times: Mapping[TopicPartition, int]
) -> dict[TopicPartition, int]:
    """The offset of each partition by timestamp, or by a special negative number.

    Raises UnknownTopicError, SourceError.
    """
    offsets: dict[TopicPartition, int] = {}
    attempts = Attempts(
        settings=cluster.settings,
        request=f"ListOffsets of {_shown(times)}",
        timeout_ms=cluster.settings.api_timeout_ms,
    )
    while True:
        remaining = {tp: time for tp, time in times.items() if tp not in offsets}
        reason: object = None
        for connection, part, failure in _by_leader(cluster, remaining):
            if connection is None:
                reason = failure
                continue
            try:
                answer = connection.ask(_request(cluster, part))
            except BrokerConnectionError as error:
                cluster.drop(connection)
                reason = error
            else:
                offsets |= _taken(answer, part, connection)
            for tp in part.keys() - offsets.keys():
                cluster.forget(tp.topic)
                reason = reason or f"{tp}: the leader has changed, or is not ready"
        if not times.keys() - offsets.keys():
            return {tp: offsets[tp] for tp in times}
        attempts.failed(reason)


def _by_leader(
    cluster: Leaders, times: Mapping[TopicPartition, int]
) -> Iterator[tuple[Connection | None, dict[TopicPartition, int], object]]:
    parts: dict[Connection, dict[TopicPartition, int]] = defaultdict(dict)
    for tp, time in times.items():
        try:
            parts[cluster.leader(tp, idle=True)][tp] = time
        except BrokerConnectionError as error:
            yield None, {}, error
    for connection, part in parts.items():
        yield connection, part, None


def _request(cluster: Leaders, part: Mapping[TopicPartition, int]) -> ListOffsetsRequest:
    topics: dict[str, list[ListOffsetsPartition]] = defaultdict(list)
    for tp, time in part.items():
        epoch = cluster.leader_of(tp).epoch
        topics[tp.topic].append(ListOffsetsPartition(tp.partition, epoch, time))
    return ListOffsetsRequest(
        -1,
        int(cluster.settings.read_committed),
        [ListOffsetsTopic(name, partitions) for name, partitions in topics.items()],
        timeout_ms=cluster.settings.request_timeout_ms,
    )


def _taken(
    answer: ListOffsetsResponse, part: Mapping[TopicPartition, int], connection: Connection
) -> dict[TopicPartition, int]:
    """Offsets of the partitions that have one; what a retry may find is left out."""
    offsets = {}
    for topic in answer.topics:
        for partition in topic.partitions:
            tp = TopicPartition(topic.name, partition.partition_index)
            if tp not in part:
                continue
            if not partition.error_code:
                offsets[tp] = partition.offset
            elif not is_retriable(partition.error_code):
                raise rejected(
                    f"ListOffsets of {tp} at broker {connection.endpoint}", partition.error_code
                )
    return offsets


def _shown(partitions: Mapping[TopicPartition, int]) -> str:
    names = [str(tp) for tp in list(partitions)[:3]]
    more = f" and {len(partitions) - len(names)} more" if len(partitions) > len(names) else ""
    return ", ".join(names) + more
