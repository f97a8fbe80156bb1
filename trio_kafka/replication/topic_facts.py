"""Facts of topics: partitions and producers as this broker has them, computed when asked for."""

from collections.abc import Callable
from typing import Final, NamedTuple

from trio_kafka.introspect.facts.topics import (
    ProducerFacts,
    TopicFacts,
    TopicPartitionFacts,
)
from trio_kafka.metadata.image import PartitionState, TopicImage
from trio_kafka.metadata.names import is_internal
from trio_kafka.model import NO_NODE, NodeId
from trio_kafka.replication.partition import Partition
from trio_kafka.replication.roles import Following, Leading, Offline
from trio_kafka.replication.table import Replicas
from trio_kafka.replication.topic_metrics import TopicMetrics
from trio_kafka.scheduling.chunked_work import Steps, sorted_in_steps

_A_STEP: Final = 64  # partitions or topics between two steps
_PRODUCERS_STEP: Final = 256


class RankedTopic(NamedTuple):
    """Topic with its place among the others: troubled ones first, then by traffic, then by name;
    those of the broker itself are last among equals.
    """

    untroubled: bool
    negative_rate: float
    internal: bool
    name: str


def ranked_topics(
    replicas: Replicas, is_visible: Callable[[str], bool], rate_of: Callable[[str], float]
) -> Steps[list[RankedTopic]]:
    """Return the topics of the cluster that the reader may see, in their order.

    rate_of: traffic of a topic, in whatever unit.
    """
    topics, count = list[RankedTopic](), 0
    for number, (name, topic) in enumerate(replicas.image.topics.items(), 1):
        if is_visible(name):
            troubled = False
            for partition, state in topic.partitions.items():
                count += 1
                if not count % _A_STEP:
                    yield
                troubled = troubled or _is_troubled(replicas, name, partition, state)
            topics.append(RankedTopic(not troubled, -rate_of(name), is_internal(name), name))
        if not number % _A_STEP:
            yield
    yield
    return (yield from sorted_in_steps(topics))


def topic_facts(
    topic: TopicImage,
    replicas: Replicas,
    node: NodeId,
    metrics: TopicMetrics,
    groups: tuple[str, ...],
) -> Steps[TopicFacts]:
    """Return the facts of one topic. metrics: its counters. groups: those that read it."""
    led_here = troubled = size = records = 0
    for number, (partition, state) in enumerate(topic.partitions.items(), 1):
        led_here += state.leader == node
        troubled += _is_troubled(replicas, topic.name, partition, state)
        replica = replicas.find((topic.name, partition))
        log = None if replica is None else replica.leading
        if log is not None:
            size += log.size
            records += log.end_offset - log.start_offset
        if not number % _A_STEP:
            yield
    return TopicFacts(
        name=topic.name,
        topic_id=topic.id.hex(),
        internal=is_internal(topic.name),
        partitions=len(topic.partitions),
        led_here=led_here,
        troubled=troubled,
        bytes=size,
        records=records,
        bytes_in=metrics.bytes_in,
        records_in=metrics.records_in,
        bytes_out=metrics.bytes_out,
        groups=groups,
    )


def partition_facts(
    topic: TopicImage, replicas: Replicas, most: int
) -> Steps[list[TopicPartitionFacts]]:
    """Return the facts of the first partitions of a topic, by number."""
    facts = list[TopicPartitionFacts]()
    for partition in sorted(topic.partitions)[:most]:
        state = topic.partitions[partition]
        facts.append(_partition(partition, state, replicas.find((topic.name, partition))))
        if not len(facts) % _A_STEP:
            yield
    return facts


def producer_facts(
    topic: TopicImage, replicas: Replicas, most: int
) -> Steps[tuple[list[ProducerFacts], int]]:
    """Return the producers in this broker's replicas that wrote last, and the number of all."""
    facts, seen = list[ProducerFacts](), 0
    for partition in sorted(topic.partitions):
        replica = replicas.find((topic.name, partition))
        log = None if replica is None else replica.log
        if log is None:
            continue
        now_ms = log.now_ms()
        for producer in tuple(log.producers):
            seen += 1
            facts.append(
                ProducerFacts(
                    partition=partition,
                    producer_id=producer.producer_id,
                    epoch=producer.epoch,
                    last_sequence=producer.last_sequence,
                    last_ms=producer.timestamp,
                    ago_s=max(0.0, (now_ms - producer.timestamp) / 1000),
                    transaction_start=producer.transaction_first_offset,
                )
            )
            if not seen % _PRODUCERS_STEP:
                facts = _latest(facts, most)
                yield
        yield
    return _latest(facts, most), seen


def _latest(producers: list[ProducerFacts], most: int) -> list[ProducerFacts]:
    return sorted(producers, key=_newest_first)[:most]


def _newest_first(producer: ProducerFacts) -> tuple[int, int, int]:
    return -producer.last_ms, producer.partition, producer.producer_id


def _is_troubled(replicas: Replicas, name: str, number: int, state: PartitionState) -> bool:
    if state.leader == NO_NODE or len(state.isr) < len(state.replicas):
        return True
    replica = replicas.find((name, number))
    return replica is not None and isinstance(replica.role, Offline)


def _partition(
    number: int, state: PartitionState, replica: Partition | None
) -> TopicPartitionFacts:
    role, error = "elsewhere", ""
    if replica is not None:
        match replica.role:
            case Leading():
                role = "leading"
            case Following():
                role = "following"
            case Offline(reason=reason):
                role, error = "offline", str(reason)
    log = None if replica is None else replica.log
    return TopicPartitionFacts(
        partition=number,
        leader=int(state.leader),
        leader_epoch=state.leader_epoch,
        partition_epoch=state.partition_epoch,
        replicas=tuple(map(int, state.replicas)),
        isr=tuple(map(int, state.isr)),
        role=role,
        error=error,
        start=None if log is None else log.start_offset,
        high_watermark=None if log is None else log.high_watermark,
        end=None if log is None else log.end_offset,
        bytes=None if log is None else log.size,
        segments=None if log is None else len(log.segments),
        log_epoch=None if log is None else log.leader_epoch,
    )
