"""Rows of topics: facts with rates."""

import trio
from attrs import evolve
from trio.testing import MockClock

from trio_kafka.introspect.facts.topics import TopicFacts, TopicPartitionFacts
from trio_kafka_admin.rate_history import RateHistory
from trio_kafka_admin.topic_rows import (
    TopicPartitionRow,
    TopicRow,
    topic_partition_row,
    topic_row,
)

TOPIC = TopicFacts(
    name="t",
    topic_id="00",
    internal=False,
    partitions=1,
    led_here=1,
    troubled=0,
    bytes=10,
    records=2,
    bytes_in=10,
    records_in=2,
    bytes_out=0,
    groups=("g",),
)
PARTITION = TopicPartitionFacts(
    partition=0,
    leader=1,
    leader_epoch=0,
    partition_epoch=0,
    replicas=(1,),
    isr=(1,),
    role="leading",
    error="",
    start=0,
    high_watermark=2,
    end=2,
    bytes=10,
    segments=1,
    log_epoch=0,
)


async def test_topic_has_rates_from_the_second_look_on(autojump_clock: MockClock) -> None:
    rates = RateHistory()
    first = topic_row(TOPIC, rates)
    await trio.sleep(2)
    second = topic_row(evolve(TOPIC, bytes_in=50, records_in=12, bytes_out=8), rates)

    assert first["bytes_in_per_s"] is None
    assert second["bytes_in_per_s"] == 20.0
    assert second["records_in_per_s"] == 5.0
    assert second["bytes_out_per_s"] == 4.0
    assert set(second) == {field.name for field in TopicRow.__attrs_attrs__}


async def test_topic_that_never_had_traffic_has_none(autojump_clock: MockClock) -> None:
    row = topic_row(evolve(TOPIC, bytes_in=0, records_in=0, bytes_out=0), RateHistory())

    assert (row["bytes_in_per_s"], row["bytes_out_per_s"]) == (0.0, 0.0)


async def test_partition_has_the_rate_of_its_end(autojump_clock: MockClock) -> None:
    rates = RateHistory()
    first = topic_partition_row("t", PARTITION, rates)
    await trio.sleep(2)
    second = topic_partition_row("t", evolve(PARTITION, end=12), rates)
    elsewhere = topic_partition_row("t", evolve(PARTITION, end=None), rates)

    assert first["records_in_per_s"] is None
    assert second["records_in_per_s"] == 5.0
    assert elsewhere["records_in_per_s"] is None
    assert set(second) == {field.name for field in TopicPartitionRow.__attrs_attrs__}
