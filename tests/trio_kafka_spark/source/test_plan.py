"""Tasks of batches and micro-batches."""

import pickle
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.trio_kafka_spark.source.kit import FIRST_MS, create_topic, numbered, produce
from tests.trio_kafka_spark.source.readers import options
from trio_kafka.model import TopicPartition
from trio_kafka.testing.processes import BrokerProcess
from trio_kafka_spark.client.cluster import Cluster
from trio_kafka_spark.source.filters import Bounds
from trio_kafka_spark.source.loss import LossPolicy
from trio_kafka_spark.source.options import Mode, parse
from trio_kafka_spark.source.plan import TopicRange, plan_batch, plan_stream
from trio_kafka_spark.source.ranges import OffsetRange
from trio_kafka_spark.source.resolve import Resolver

Spans = list[tuple[int, int, int, bool]]


@contextmanager
def resolver(broker: BrokerProcess, topic: str, mode: Mode, **more: str) -> Iterator[Resolver]:
    read = parse(options(broker.bootstrap, topic, **more), mode)
    with Cluster(read.client) as cluster:
        yield Resolver(options=read, cluster=cluster)


@pytest.fixture
def filled(sampled_broker: BrokerProcess, topic: str) -> str:
    """A topic with 20 records in two partitions, a millisecond apart."""
    create_topic(sampled_broker.bootstrap, topic)
    produce(sampled_broker.bootstrap, topic, numbered(20))
    return topic


def spans(ranges: list[OffsetRange]) -> Spans:
    return [
        (
            offset_range.partition.partition,
            offset_range.start,
            offset_range.stop,
            offset_range.from_earliest,
        )
        for offset_range in ranges
    ]


def test_a_pickled_task_holds_topic_partition_and_offsets_only() -> None:
    planned = TopicRange(OffsetRange(partition=TopicPartition("t", 3), start=5, stop=9))

    assert vars(pickle.loads(pickle.dumps(planned))) == {
        "topic": "t",
        "partition": 3,
        "start": 5,
        "stop": 9,
        "from_earliest": False,
    }


@pytest.mark.parametrize(
    ("bounds", "planned"),
    [
        (Bounds(), [(0, 0, 10, True), (1, 0, 10, True)]),
        (Bounds(start=4, stop=6), [(0, 4, 6, False), (1, 4, 6, False)]),
        (Bounds(since_ms=FIRST_MS + 9), [(0, 5, 10, False), (1, 4, 10, False)]),
        (Bounds(since_ms=FIRST_MS + 19), [(1, 9, 10, False)]),
        (Bounds(start=50), []),
    ],
)
def test_filter_bounds_narrow_the_tasks_of_a_batch(
    sampled_broker: BrokerProcess, filled: str, bounds: Bounds, planned: Spans
) -> None:
    with resolver(sampled_broker, filled, Mode.BATCH) as offset_resolver:
        assert spans(plan_batch(offset_resolver, bounds)) == planned


def test_a_given_ending_offset_stays_although_no_record_is_as_late_as_the_filter(
    sampled_broker: BrokerProcess, filled: str
) -> None:
    ends = f'{{"{filled}":{{"0":15,"1":-1}}}}'
    with resolver(sampled_broker, filled, Mode.BATCH, endingOffsets=ends) as offset_resolver:
        planned = plan_batch(offset_resolver, Bounds(since_ms=FIRST_MS + 1000))

    assert spans(planned) == [(0, 0, 15, True)]


def test_a_micro_batch_has_tasks_only_for_partitions_with_records(
    sampled_broker: BrokerProcess, filled: str
) -> None:
    p0, p1 = TopicPartition(filled, 0), TopicPartition(filled, 1)
    with resolver(
        sampled_broker, filled, Mode.STREAM, maxRecordsPerPartition="3"
    ) as offset_resolver:
        planned = plan_stream(
            offset_resolver, LossPolicy(fails=True), start={p0: 4, p1: 10}, end={p0: 9, p1: 10}
        )

    assert spans(planned) == [(0, 4, 6, False), (0, 6, 9, False)]
