"""The reader that Spark calls, with and without Spark; and a broker that lives meanwhile."""

import os
import random
import signal
from concurrent.futures import ThreadPoolExecutor

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from tests.trio_kafka_spark.log.kit import flip, log, positions, rows
from trio_kafka_spark.client.errors import OptionError
from trio_kafka_spark.log.reader import LogReader, LogSource

pytest.importorskip("pyspark", reason="pyspark is not installed: make test SPARK=yes")
FIRST = "00000000000000000000.log"


def test_the_log_format_has_its_name_and_the_schema_of_the_view():
    assert LogSource.name() == "trio-kafka-log"
    assert LogSource({"path": "/a", "view": "errors"}).schema().startswith("`topic` string")


def test_a_stream_is_refused_with_the_format_to_use_instead():
    with pytest.raises(OptionError, match="stream topics with format trio-kafka"):
        LogSource({}).streamReader(None)


def test_an_empty_directory_gives_no_partitions_and_no_rows(tmp_path):
    reader = LogReader({"path": str(tmp_path), "view": "segments"})
    from pyspark.sql.datasource import InputPartition

    assert reader.partitions() == []
    assert list(reader.read(InputPartition(None))) == []


# --- beside a broker


def create(broker, topic, *, partitions=2, **settings):
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    futures = admin.create_topics([NewTopic(topic, partitions, config=settings)])
    futures[topic].result(30)


def produce(broker, topic, numbers, **settings):
    producer = Producer({"bootstrap.servers": broker.bootstrap, "linger.ms": 1, **settings})
    for number in numbers:
        producer.produce(
            topic,
            key=None if number % 5 == 0 else b"%d" % (number % 11),
            value=None
            if number % 7 == 0
            else b"%d" % number + random.Random(number).randbytes(4000),
            headers=[("n", b"%d" % number), ("null", None)] if number % 3 == 0 else None,
            timestamp=1_700_000_000_000 + number if number % 2 else 0,
        )
        if number % 100 == 99:
            producer.flush()
    assert producer.flush(30) == 0


def consumed(broker, topic, partitions=2):
    consumer = Consumer(
        {"bootstrap.servers": broker.bootstrap, "group.id": "x", "enable.partition.eof": True}
    )
    consumer.assign([TopicPartition(topic, number, 0) for number in range(partitions)])
    result, ended = [], 0
    while ended < partitions:
        for message in consumer.consume(1000, 10):
            if message.error():
                ended += 1
                continue
            result.append(
                (
                    message.partition(),
                    message.offset(),
                    message.key(),
                    message.value(),
                    message.timestamp()[1],
                    [(name, value) for name, value in message.headers() or []],
                )
            )
    consumer.close()
    return sorted(result)


def comparable(view_rows):
    return sorted(
        (
            row["partition"],
            row["offset"],
            row["key"],
            row["value"],
            round(row["timestamp"].timestamp() * 1000),
            [(header["key"], header["value"]) for header in row["headers"] or []],
        )
        for row in view_rows
    )


@pytest.mark.slow
@pytest.mark.parametrize("codec", ["none", "zstd"])
def test_records_of_a_running_broker_equal_the_records_of_a_consumer(shared_broker, codec):
    topic = f"logs-equal-{codec}"
    create(shared_broker, topic, **{"segment.bytes": str(1 << 20), "index.interval.bytes": "5000"})
    produce(shared_broker, topic, range(1000), **{"compression.type": codec})

    result = rows(shared_broker.data, subscribe=topic, includeHeaders="true", splitBytes="300000")

    assert len(result) == 1000
    assert comparable(result) == consumed(shared_broker, topic)
    segments = rows(shared_broker.data, ["is_active"], view="segments", subscribe=topic)
    assert sum(not segment["is_active"] for segment in segments) > 1


@pytest.mark.slow
def test_planned_offsets_are_read_while_the_log_grows_rolls_and_is_deleted(own_broker):
    create(own_broker, "t", partitions=1, **{"segment.bytes": str(1 << 20)})
    produce(own_broker, "t", range(400))
    reader = LogReader({"path": str(own_broker.data), "subscribe": "t", "splitBytes": "300000"})
    planned = reader.partitions()

    with ThreadPoolExecutor(1) as pool:
        writing = pool.submit(produce, own_broker, "t", range(400, 1000))
        offsets = [
            offset
            for task in planned
            for batch in reader.read(task)
            for offset in batch.column(4).to_pylist()
        ]
        writing.result()
    admin = AdminClient({"bootstrap.servers": own_broker.bootstrap})
    admin.delete_topics(["t"])["t"].result(30)
    after = [batch for task in planned for batch in reader.read(task)]

    assert offsets == list(range(400))
    assert sum(batch.num_rows for batch in after) in (0, 400)


@pytest.mark.slow
def test_a_read_in_progress_finishes_after_the_broker_is_killed(own_broker):
    create(own_broker, "t", partitions=1, **{"segment.bytes": str(1 << 20)})
    produce(own_broker, "t", range(300))
    reader = LogReader({"path": str(own_broker.data), "subscribe": "t", "splitBytes": "300000"})
    planned = reader.partitions()
    batches = (batch for task in planned for batch in reader.read(task))

    first = next(batches)
    os.kill(own_broker.process.pid, signal.SIGKILL)
    own_broker.process.wait(30)
    rest = list(batches)

    offsets = [offset for batch in (first, *rest) for offset in batch.column(4).to_pylist()]
    assert offsets == list(range(300))
    assert [row["offset"] for row in rows(own_broker.data)] == offsets


# --- through Spark


@pytest.mark.spark
def test_spark_finds_the_log_format_without_registration_and_reads_each_view(spark, tmp_path):
    log(tmp_path, segments=3, interval=1)
    load = spark.read.format("trio-kafka-log").options(path=tmp_path, subscribe="t")

    records = load.option("splitBytes", "1000").load()
    sums = records.selectExpr("count(*)", "sum(offset)", "min(timestamp)").first()

    assert sums[0] == 120
    assert sums[1] == sum(range(120))
    assert load.option("view", "batches").load().selectExpr("sum(count)").first()[0] == 120
    assert load.option("view", "segments").load().filter("is_active").count() == 1
    assert load.option("view", "errors").load().count() == 0


@pytest.mark.spark
def test_spark_reads_only_the_columns_of_a_given_schema(spark, tmp_path):
    log(tmp_path)
    load = spark.read.format("trio-kafka-log").options(path=tmp_path, subscribe="t")

    result = load.schema("offset bigint, headers array<struct<key:string,value:binary>>")
    with_headers = result.option("includeHeaders", "true").load()

    assert with_headers.columns == ["offset", "headers"]
    assert with_headers.filter("offset = 7").first()["headers"][0]["value"] == b"7"


@pytest.mark.spark
def test_the_spark_error_of_a_corrupt_batch_has_file_and_position(spark, tmp_path):
    path = log(tmp_path) / FIRST
    damaged = positions(path)[1]
    flip(path, damaged + 70)
    load = spark.read.format("trio-kafka-log").options(path=tmp_path, subscribe="t")

    with pytest.raises(Exception, match=f"{path} position {damaged}: the CRC does not match"):
        load.load().count()
    assert load.option("mode", "permissive").load().count() == 110
    assert load.option("view", "errors").load().first()["position"] == damaged


@pytest.mark.spark
def test_the_spark_error_of_an_unknown_option_suggests_the_nearest_option(spark, tmp_path):
    load = spark.read.format("trio-kafka-log").options(path=tmp_path, subscribe="t")

    with pytest.raises(Exception, match="did you mean splitBytes"):
        load.option("splitByte", "1").load().count()


@pytest.mark.spark
def test_spark_reads_a_directory_without_partitions_as_no_rows(spark, tmp_path):
    load = spark.read.format("trio-kafka-log").options(path=tmp_path, view="segments")

    assert load.load().count() == 0
