"""The source on Apache Kafka itself, with transactions, which trio-kafka does not write yet."""

from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka import Producer

from tests.benchmarks.brokers import apache_kafka_command
from tests.installed import APACHE_KAFKA, need_or_skip
from tests.trio_kafka_spark.source.kit import FIRST_MS, WAIT_S, create_topic, peculiar, produce
from tests.trio_kafka_spark.source.readers import batch_reader, options, rows, stream_reader
from trio_kafka.testing.processes import BrokerProcess, broker_process
from trio_kafka_spark.source.schema import full_schema

SINGLE = (
    "transaction.state.log.replication.factor=1",
    "transaction.state.log.min.isr=1",
    "group.initial.rebalance.delay.ms=0",
)


@pytest.fixture(scope="module")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    need_or_skip(*APACHE_KAFKA)
    directory = tmp_path_factory.mktemp("kafka")
    with broker_process(directory, *SINGLE, command=apache_kafka_command) as broker:
        yield broker


def write_transactions(bootstrap: str, topic: str) -> None:
    """Two committed transactions and an aborted one, over two partitions, and an open one."""
    for name, outcome in (("one", "commit"), ("two", "abort"), ("one", "commit"), ("two", "open")):
        producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": f"{topic}-{name}"})
        producer.init_transactions(WAIT_S)
        producer.begin_transaction()
        for number in range(6):
            value = f"{outcome} {number}"
            producer.produce(topic, value, partition=number % 2, timestamp=FIRST_MS + number)
        assert producer.flush(WAIT_S) == 0
        if outcome == "commit":
            producer.commit_transaction(WAIT_S)
        elif outcome == "abort":
            producer.abort_transaction(WAIT_S)
        else:
            # Its transaction must stay open: the process of the test keeps the producer.
            OPEN.append(producer)


OPEN: list[Any] = []


@pytest.mark.slow
def test_transactions_of_apache_kafka_are_read_by_isolation_level(kafka: BrokerProcess) -> None:
    topic = create_topic(kafka.bootstrap, "transactions")
    write_transactions(kafka.bootstrap, topic)
    where = options(kafka.bootstrap, topic)
    committed = {**where, "kafka.isolation.level": "read_committed"}

    result = {}
    for name, reader_options in (("all", where), ("committed", committed)):
        batch = batch_reader(**reader_options)
        result[name] = [row["value"].decode() for row in rows(batch, batch.partitions())]
        stream = stream_reader(**reader_options, startingOffsets="earliest")
        start = stream.initialOffset()
        end = stream.latestOffset(start, stream.getDefaultReadLimit())
        read = rows(stream, stream.partitions(start, end))
        assert [row["value"].decode() for row in read] == result[name]
        stream.stop()

    kinds = [value.split()[0] for value in result["all"]]
    assert {kind: kinds.count(kind) for kind in kinds} == {"commit": 12, "abort": 6, "open": 6}
    assert sorted(result["committed"]) == sorted(f"commit {n}" for n in range(6) for _ in range(2))
    while OPEN:
        OPEN.pop().abort_transaction(WAIT_S)


@pytest.mark.slow
def test_records_with_null_and_empty_fields_are_read_from_apache_kafka(
    kafka: BrokerProcess,
) -> None:
    topic = create_topic(kafka.bootstrap, "all-sorts")
    produce(kafka.bootstrap, topic, peculiar(), compression_type="zstd")
    reader = batch_reader(full_schema(include_headers=True), **options(kafka.bootstrap, topic))

    result = {(row["key"], row["value"]) for row in rows(reader, reader.partitions())}

    assert result == {(record.key, record.value) for record in peculiar()}
