"""Traffic by topic: counted at each event, summed on demand.

The partitions of a topic share one `TopicMetrics`, so that counting is an addition to an attribute.
The counts of a deleted topic stay in the sum over all topics.
Source: BrokerTopicStats and BrokerTopicMetrics of Apache Kafka 4.4.0.
"""

from collections.abc import Iterator
from typing import Final

from attrs import field, fields

from trio_kafka.attributes import define
from trio_kafka.errors import ErrorCode
from trio_kafka.scheduling.chunked_work import Steps

_A_STEP: Final = 256  # topics: about 0.2 ms
# Errors that clients cause and handle: no failure of the broker (as Kafka's ReplicaManager).
EXPECTED_OF_PRODUCE: Final = frozenset(
    {
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.MESSAGE_TOO_LARGE,
        ErrorCode.RECORD_LIST_TOO_LARGE,
        ErrorCode.CORRUPT_MESSAGE,
        ErrorCode.KAFKA_STORAGE_ERROR,
    }
)
_EXPECTED_OF_FETCH: Final = frozenset(
    {
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.INCONSISTENT_TOPIC_ID,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.UNKNOWN_LEADER_EPOCH,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.REPLICA_NOT_AVAILABLE,
        ErrorCode.KAFKA_STORAGE_ERROR,
        ErrorCode.OFFSET_OUT_OF_RANGE,
    }
)


@define(eq=False)
class TopicMetrics:
    """Counters of one topic on this broker. Requests are counted once for each partition.

    A parked fetch is counted again when it reads again, as in Kafka.
    """

    produces: int = 0
    failed_produces: int = 0
    bytes_in: int = 0
    records_in: int = 0
    fetches: int = 0
    failed_fetches: int = 0
    bytes_out: int = 0

    def count_failed_produce(self, code: ErrorCode) -> None:
        """Count an error, except those that clients cause."""
        if code not in EXPECTED_OF_PRODUCE:
            self.failed_produces += 1

    def count_failed_fetch(self, code: ErrorCode) -> None:
        """Count an error, except those that clients cause."""
        if code not in _EXPECTED_OF_FETCH:
            self.failed_fetches += 1

    def add(self, other: "TopicMetrics") -> None:
        """Add the counts of another object."""
        for name in _COUNTS:
            setattr(self, name, getattr(self, name) + getattr(other, name))


_COUNTS: Final = tuple(metric.name for metric in fields(TopicMetrics))


@define(eq=False)
class MetricsByTopic:
    """Counters of all topics. gone: of topics without partitions on this broker."""

    gone: TopicMetrics = field(factory=TopicMetrics, init=False)
    _topics: dict[str, TopicMetrics] = field(factory=dict, init=False)
    _partitions: dict[str, int] = field(factory=dict, init=False)

    def join(self, topic: str) -> TopicMetrics:
        """Return the counters of a topic for a new partition."""
        self._partitions[topic] = self._partitions.get(topic, 0) + 1
        topic_metrics = self._topics.get(topic)
        if topic_metrics is None:
            topic_metrics = self._topics[topic] = TopicMetrics()
        return topic_metrics

    def leave(self, topic: str) -> None:
        """Remove a partition of a topic."""
        self._partitions[topic] -= 1
        if not self._partitions[topic]:
            del self._partitions[topic]
            self.gone.add(self._topics.pop(topic))

    def total(self) -> Steps[TopicMetrics]:
        """Sum the counters of all topics since the start.

        A topic that is deleted meanwhile is counted once, so that the sum never falls.
        """
        total, topics = TopicMetrics(), tuple(self._topics.values())
        total.add(self.gone)
        for number, topic_metrics in enumerate(topics, 1):
            total.add(topic_metrics)
            if not number % _A_STEP:
                yield
        return total

    def __len__(self) -> int:
        return len(self._topics)

    def __iter__(self) -> Iterator[tuple[str, TopicMetrics]]:
        return iter(tuple(self._topics.items()))
