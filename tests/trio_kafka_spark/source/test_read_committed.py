"""`kafka.isolation.level=read_committed`: aborted and open records, and offsets over markers."""

from collections.abc import Iterator

import pytest

pytest.importorskip("pyspark", reason="pyspark is not installed: make test SPARK=yes")

from tests.trio_kafka_spark.sink.transactional import TOPIC, Driver, client
from tests.trio_kafka_spark.source.readers import (
    batch_reader,
    options,
    rows,
    spans,
    stream_reader,
    without_beginning,
)
from trio_kafka.testing.kafka.threaded import Kafka
from trio_kafka_spark.client.cluster import Cluster
from trio_kafka_spark.client.coordinator import Coordinator, Transaction
from trio_kafka_spark.sink.epochs import Run
from trio_kafka_spark.source.stream import StreamReader

COMMITTED = {"kafka.isolation.level": "read_committed"}
AT_ONCE = {"kafkaConsumer.pollTimeoutMs": "2000"}  # a read that waits for more fails


@pytest.fixture
def driver(kafka: Kafka) -> Driver:
    """Writes transactions of records that all go to the one partition."""
    kafka.create_topic(TOPIC, partitions=1)
    return Driver(client(kafka.bootstrap), Run("q", "r"), partitions=1)


@pytest.fixture
def stream(kafka: Kafka, driver: Driver) -> Iterator[StreamReader]:
    where = options(kafka.bootstrap, TOPIC, startingOffsets="earliest")
    reader = stream_reader(**where, **COMMITTED, **AT_ONCE)
    yield reader
    reader.stop()


def end(driver: Driver, transaction: Transaction, *, commit: bool) -> None:
    with Cluster(driver.settings) as cluster:
        coordinator = Coordinator(cluster)
        assert coordinator.end(transaction, commit=commit)
        # A new epoch of the id begins when all markers are written.
        coordinator.init(transaction.transactional_id, driver.options.timeout_ms)


def test_a_batch_ends_before_an_open_transaction_and_leaves_out_aborted_ones(
    kafka: Kafka, driver: Driver
) -> None:
    end(driver, driver.task(0, ["aborted"]), commit=False)
    end(driver, driver.task(0, ["committed"]), commit=True)
    driver.task(0, ["open"])
    kafka.produce(TOPIC, "behind")
    where = options(kafka.bootstrap, TOPIC)

    committed = batch_reader(**where, **COMMITTED, **AT_ONCE)
    every = batch_reader(**where)

    assert [row["value"] for row in rows(committed, committed.partitions())] == [b"committed"]
    assert spans(committed.partitions()) == [(0, 0, 4)]
    assert len(rows(every, every.partitions())) == 4


def test_a_stream_goes_over_markers_and_aborted_records_without_data_loss(
    driver: Driver, stream: StreamReader
) -> None:
    begin = stream.initialOffset()
    read = []
    for commit, value in ((False, "0"), (False, "1"), (True, "2"), (False, "3"), (True, "4")):
        end(driver, driver.task(0, [value]), commit=commit)
        until = stream.latestOffset(begin, stream.getDefaultReadLimit())
        read += [row["value"] for row in rows(stream, stream.partitions(begin, until))]
        begin = until

    assert read == [b"2", b"4"]
    assert without_beginning(begin) == {TOPIC: {"0": 10}}


def test_each_slice_of_a_stream_may_end_at_a_marker_or_an_aborted_record(
    kafka: Kafka, driver: Driver
) -> None:
    for commit, value in ((False, "0"), (True, "1"), (False, "2")):
        end(driver, driver.task(0, [value, value]), commit=commit)
    where = options(kafka.bootstrap, TOPIC, startingOffsets="earliest", maxOffsetsPerTrigger="1")
    stream = stream_reader(**where, **COMMITTED, **AT_ONCE)
    begin, read, slices = stream.initialOffset(), [], 0
    while True:
        until = stream.latestOffset(begin, stream.getDefaultReadLimit())
        if until == begin:
            break
        read += [row["value"] for row in rows(stream, stream.partitions(begin, until))]
        begin, slices = until, slices + 1
    stream.stop()

    assert read == [b"1", b"1"]
    assert slices == 9


def test_a_stream_waits_for_an_open_transaction_and_reads_it_when_it_is_committed(
    kafka: Kafka, driver: Driver, stream: StreamReader
) -> None:
    begin = stream.initialOffset()
    kafka.produce(TOPIC, "before")
    transaction = driver.task(0, ["open"])
    kafka.produce(TOPIC, "behind")

    until = stream.latestOffset(begin, stream.getDefaultReadLimit())
    assert [row["value"] for row in rows(stream, stream.partitions(begin, until))] == [b"before"]
    assert stream.latestOffset(until, stream.getDefaultReadLimit()) == until
    end(driver, transaction, commit=True)
    last = stream.latestOffset(until, stream.getDefaultReadLimit())

    read = [row["value"] for row in rows(stream, stream.partitions(until, last))]
    assert read == [b"open", b"behind"]
