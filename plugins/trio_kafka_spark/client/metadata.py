"""Metadata of the topics in use: the leader of each partition, and the age of that knowledge."""

import math
import time
from collections.abc import Mapping

from attrs import Factory

from trio_kafka.attributes import define, frozen
from trio_kafka.errors import ErrorCode
from trio_kafka.model import Endpoint, TopicPartition
from trio_kafka.protocol.messages.k03_metadata import MetadataResponse, MetadataResponseTopic


@frozen(kw_only=True)
class PartitionLeader:
    """A partition: the broker that leads it, in which epoch (-1: unknown), or an error code."""

    node: int
    endpoint: Endpoint
    epoch: int
    topic_id: bytes
    error: int = 0


@frozen(kw_only=True)
class Topic:
    """A topic as a broker described it."""

    name: str
    partitions: Mapping[int, PartitionLeader]
    error: int = 0
    is_internal: bool = False
    at: float = 0.0


_NOWHERE = Endpoint("", 0)


@define
class Metadata:
    """The last description of each topic, and the brokers of the last answer."""

    endpoints: tuple[Endpoint, ...] = ()
    _topics: dict[str, Topic] = Factory(dict)

    def learn(self, answer: MetadataResponse, now: float) -> list[Topic]:
        """Take the topics of an answer; returns them."""
        nodes = {broker.node_id: Endpoint(broker.host, broker.port) for broker in answer.brokers}
        if nodes:
            self.endpoints = tuple(nodes.values())
        topics = [self._topic(topic, nodes, now) for topic in answer.topics]
        for topic in topics:
            self._topics[topic.name] = topic
        return topics

    def leader_of(self, tp: TopicPartition, max_age_ms: float = math.inf) -> PartitionLeader | None:
        """A partition, unless the topic is not known, or is known for too long.

        The error of its topic is its own; a topic without that partition has none of this number.
        """
        topic = self._topics.get(tp.topic)
        if topic is None or (time.monotonic() - topic.at) * 1000 > max_age_ms:
            return None
        if topic.error:
            return PartitionLeader(
                node=-1, endpoint=_NOWHERE, epoch=-1, topic_id=b"", error=topic.error
            )
        leader = topic.partitions.get(tp.partition)
        if leader is None:
            code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            return PartitionLeader(node=-1, endpoint=_NOWHERE, epoch=-1, topic_id=b"", error=code)
        return leader

    def forget(self, topic: str) -> None:
        """Know no more of a topic."""
        self._topics.pop(topic, None)

    def _topic(
        self, topic: MetadataResponseTopic, nodes: Mapping[int, Endpoint], now: float
    ) -> Topic:
        name = topic.name or ""
        partitions = {}
        for partition in topic.partitions:
            endpoint = nodes.get(partition.leader_id)
            error = partition.error_code
            if endpoint is None:
                error = ErrorCode.LEADER_NOT_AVAILABLE
            elif error in (ErrorCode.REPLICA_NOT_AVAILABLE, ErrorCode.LISTENER_NOT_FOUND):
                error = 0  # of a follower; the leader is there
            leader = PartitionLeader(
                node=partition.leader_id,
                endpoint=endpoint or _NOWHERE,
                epoch=partition.leader_epoch,
                topic_id=topic.topic_id,
                error=error,
            )
            partitions[partition.partition_index] = leader
        return Topic(
            name=name,
            partitions=partitions,
            error=topic.error_code,
            is_internal=topic.is_internal,
            at=now,
        )
