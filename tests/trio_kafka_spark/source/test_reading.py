"""One task: a range of one partition, without Spark."""

from contextlib import closing

import pytest

from tests.trio_kafka_spark.source.kit import FIRST_MS, Record, create_topic, numbered, produce
from tests.trio_kafka_spark.source.readers import options
from trio_kafka.model import TopicPartition
from trio_kafka.testing.processes import BrokerProcess
from trio_kafka_spark.client.errors import SourceError
from trio_kafka_spark.source.options import Mode, parse
from trio_kafka_spark.source.plan import TopicRange
from trio_kafka_spark.source.ranges import OffsetRange
from trio_kafka_spark.source.reading import ROWS, read_range

LATE = {"message.timestamp.after.max.ms": str(2**63 - 1)}


def planned(topic: str, start: int, stop: int) -> TopicRange:
    return TopicRange(OffsetRange(partition=TopicPartition(topic, 0), start=start, stop=stop))


def test_many_records_are_read_in_few_batches_of_bounded_size(
    sampled_broker: BrokerProcess, topic: str
) -> None:
    create_topic(sampled_broker.bootstrap, topic, partitions=1)
    produce(sampled_broker.bootstrap, topic, numbered(2 * ROWS + 5000, partitions=1))
    read_options = parse(options(sampled_broker.bootstrap, topic), Mode.BATCH)

    sizes = [
        batch.num_rows
        for batch in read_range(read_options, ("value",), planned(topic, 10, 2 * ROWS))
    ]

    assert sum(sizes) == 2 * ROWS - 10
    assert max(sizes) <= 50_000
    assert len(sizes) <= 6


def test_a_reader_that_stops_early_closes_its_connections(
    sampled_broker: BrokerProcess, topic: str
) -> None:
    create_topic(sampled_broker.bootstrap, topic, partitions=1)
    produce(sampled_broker.bootstrap, topic, numbered(100, partitions=1), batch_size=2000)
    read_options = parse(options(sampled_broker.bootstrap, topic), Mode.BATCH)

    with closing(read_range(read_options, ("value",), planned(topic, 0, 100))) as batches:
        first = next(batches)

    assert first.num_rows > 0  # an open socket would be a ResourceWarning, which fails the test


@pytest.mark.parametrize("columns", [("timestamp", "offset"), ("timestamp",)])
def test_a_timestamp_beyond_the_range_of_spark_fails_with_the_record_s_place(
    sampled_broker: BrokerProcess, topic: str, columns: tuple[str, ...]
) -> None:
    create_topic(sampled_broker.bootstrap, topic, partitions=1, config=LATE)
    nanoseconds = Record(value=b"late", timestamp=FIRST_MS * 1_000_000)
    produce(sampled_broker.bootstrap, topic, [*numbered(3, partitions=1), nanoseconds])
    read_options = parse(options(sampled_broker.bootstrap, topic), Mode.BATCH)

    with pytest.raises(SourceError, match="not micro- or nanoseconds") as caught:
        list(read_range(read_options, columns, planned(topic, 0, 4)))

    assert caught.value.condition == "KAFKA_MALFORMED_RECORD_TIMESTAMP"
    assert (f"{topic}-0 at offset 3" in str(caught.value)) == ("offset" in columns)
    batches = read_range(read_options, ("value",), planned(topic, 0, 4))
    assert sum(batch.num_rows for batch in batches) == 4


def test_records_after_an_open_transaction_fail_the_read_but_are_no_data_loss(
    sampled_broker: BrokerProcess,
) -> None:
    where = options(
        sampled_broker.bootstrap,
        "txn",
        kafka_isolation_level="read_committed",
        kafkaConsumer_pollTimeoutMs="50",
        kafka_fetch_max_wait_ms="10",
    )
    read_options = parse({**where, "failOnDataLoss": "false"}, Mode.BATCH)

    with pytest.raises(SourceError, match="open transaction") as caught:
        list(read_range(read_options, ("offset",), planned("txn", 20, 34)))

    assert not caught.value.condition.startswith("KAFKA_DATA_LOSS")
