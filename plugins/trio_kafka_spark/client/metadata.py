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
class Known:
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
    partitions: Mapping[int, Known]
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
        nodes = {one.node_id: Endpoint(one.host, one.port) for one in answer.brokers}
        if nodes:
            self.endpoints = tuple(nodes.values())
        found = [self._topic(one, nodes, now) for one in answer.topics]
        for topic in found:
            self._topics[topic.name] = topic
        return found

    def known(self, tp: TopicPartition, max_age_ms: float = math.inf) -> Known | None:
        """A partition, unless the topic is not known, or is known for too long.

        The error of its topic is its own; a topic without that partition has none of this number.
        """
        topic = self._topics.get(tp.topic)
        if topic is None or (time.monotonic() - topic.at) * 1000 > max_age_ms:
            return None
        if topic.error:
            return Known(node=-1, endpoint=_NOWHERE, epoch=-1, topic_id=b"", error=topic.error)
        found = topic.partitions.get(tp.partition)
        if found is None:
            code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            return Known(node=-1, endpoint=_NOWHERE, epoch=-1, topic_id=b"", error=code)
        return found

    def forget(self, topic: str) -> None:
        """Know no more of a topic."""
        self._topics.pop(topic, None)

    def _topic(
        self, one: MetadataResponseTopic, nodes: Mapping[int, Endpoint], now: float
    ) -> Topic:
        name = one.name or ""
        partitions = {}
        for found in one.partitions:
            endpoint = nodes.get(found.leader_id)
            error = found.error_code
            if endpoint is None:
                error = ErrorCode.LEADER_NOT_AVAILABLE
            elif error in (ErrorCode.REPLICA_NOT_AVAILABLE, ErrorCode.LISTENER_NOT_FOUND):
                error = 0  # of a follower; the leader is there
            known = Known(
                node=found.leader_id,
                endpoint=endpoint or _NOWHERE,
                epoch=found.leader_epoch,
                topic_id=one.topic_id,
                error=error,
            )
            partitions[found.partition_index] = known
        return Topic(
            name=name,
            partitions=partitions,
            error=one.error_code,
            is_internal=one.is_internal,
            at=now,
        )
