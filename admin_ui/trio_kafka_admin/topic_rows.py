"""Data of the page of topics: facts of topics with their rates."""

from typing import Any

import attrs

from trio_kafka.attributes import frozen
from trio_kafka.introspect.facts.topics import (
    ProducerFacts,
    SettingFacts,
    TopicFacts,
    TopicPartitionFacts,
    TopicReader,
)
from trio_kafka_admin.rate_history import RateHistory


@frozen(kw_only=True)
class TopicRow:
    """Topic in the list: see `TopicFacts`. Rates are those of the last ten seconds; None before the
    second look.
    """

    name: str
    topic_id: str
    internal: bool
    partitions: int
    led_here: int
    troubled: int
    bytes: int
    records: int
    bytes_in: int
    records_in: int
    bytes_out: int
    groups: tuple[str, ...]
    bytes_in_per_s: float | None
    records_in_per_s: float | None
    bytes_out_per_s: float | None


@frozen(kw_only=True)
class TopicPartitionRow:
    """Partition: see `TopicPartitionFacts`. records_in_per_s: growth of its log's end."""

    partition: int
    leader: int
    leader_epoch: int
    partition_epoch: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    role: str
    error: str
    start: int | None
    high_watermark: int | None
    end: int | None
    bytes: int | None
    segments: int | None
    log_epoch: int | None
    records_in_per_s: float | None


@frozen(kw_only=True)
class TopicDetail:
    """One topic: see `TopicDetails`. producers, settings: None: the viewer may not see them."""

    topic: TopicRow
    partitions: tuple[TopicPartitionRow, ...]
    producers: tuple[ProducerFacts, ...] | None
    producers_total: int
    settings: tuple[SettingFacts, ...] | None
    readers: tuple[TopicReader, ...]


@frozen(kw_only=True)
class TopicsAnswer:
    """Data of the page. total: topics that there are; the rows begin with the one after
    `first`; of: text that they contain.

    topic: the one that is asked for by name; then there are no rows.
    """

    total: int
    first: int
    of: str
    topics: tuple[TopicRow, ...]
    topic: TopicDetail | None


def topic_row(topic: TopicFacts, rates: RateHistory) -> dict[str, Any]:
    """Return the row of a topic."""
    counters = (topic.bytes_in, topic.records_in, topic.bytes_out)
    per_s = rates.note(("topic", topic.name), counters)
    if per_s is None and not any(counters):
        per_s = (0.0, 0.0, 0.0)
    bytes_in, records_in, bytes_out = (None, None, None) if per_s is None else per_s
    return {
        **attrs.asdict(topic, recurse=False),
        "bytes_in_per_s": bytes_in,
        "records_in_per_s": records_in,
        "bytes_out_per_s": bytes_out,
    }


def topic_partition_row(
    topic: str, partition: TopicPartitionFacts, rates: RateHistory
) -> dict[str, Any]:
    """Return the row of a partition."""
    per_s: tuple[float, ...] | None = None
    if partition.end is not None:
        per_s = rates.note(("partition", topic, partition.partition), (partition.end,))
    return {
        **attrs.asdict(partition, recurse=False),
        "records_in_per_s": None if per_s is None else per_s[0],
    }
