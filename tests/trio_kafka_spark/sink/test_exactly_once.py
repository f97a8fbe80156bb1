"""`exactlyOnce=true` through Spark: streams that are stopped and restarted, and batch writes."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("pyspark", reason="pyspark is not installed: make test SPARK=yes")

from tests.trio_kafka_spark.sink.transactional import client, settled_values
from trio_kafka.testing.kafka.threaded import Kafka

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming import StreamingQuery

pytestmark = [pytest.mark.spark, pytest.mark.slow]
TIMEOUT_S = 60


def values(first: int, stop: int) -> list[str]:
    return [f"{number:03}" for number in range(first, stop)]


class Stream:
    """A query from JSON files to the topic `orders`, with two tasks in each epoch."""

    def __init__(self, spark: "SparkSession", kafka: Kafka, directory: Path) -> None:
        self.spark, self.kafka, self.directory = spark, kafka, directory
        self.files = 0
        kafka.create_topic("orders", partitions=2)

    def add(self, first: int, stop: int) -> None:
        """Add values for the next epoch."""
        part = self.directory / f"part-{self.files}"
        rows = self.spark.createDataFrame(
            [(value,) for value in values(first, stop)], "value STRING"
        )
        rows.repartition(1).write.json(str(part))
        self.files += 1

    def start(
        self, options: dict[str, str] | None = None, where: "Callable[[Any], Any] | None" = None
    ) -> "StreamingQuery":
        rows = (
            self.spark.readStream.schema("value STRING")
            .option("maxFilesPerTrigger", "1")
            .json(f"{self.directory}/part-*")
            .repartition(2)
        )
        if where is not None:
            rows = where(rows)
        return (
            rows.writeStream.format("trio-kafka")
            .option("kafka.bootstrap.servers", self.kafka.bootstrap)
            .option("topic", "orders")
            .option("checkpointLocation", str(self.directory / "checkpoint"))
            .options(**{"exactlyOnce": "true", **(options or {})})
            .trigger(availableNow=True)
            .start()
        )

    def run(self, **options: str) -> None:
        """Run until all is written."""
        query = self.start(options)
        assert query.awaitTermination(TIMEOUT_S)

    def forget_commit(self, number: int) -> None:
        """Make Spark replay an epoch, as after a crash before its own note of the commit."""
        for name in (str(number), f".{number}.crc"):
            (self.directory / "checkpoint" / "commits" / name).unlink(missing_ok=True)

    def committed(self) -> list[str]:
        return settled_values(client(self.kafka.bootstrap))


@pytest.fixture
def stream(spark: "SparkSession", kafka: Kafka, tmp_path: Path) -> Stream:
    return Stream(spark, kafka, tmp_path)


def test_a_replayed_epoch_is_written_once(stream: Stream, spark: "SparkSession") -> None:
    stream.add(0, 50)
    stream.add(50, 100)
    stream.run()
    stream.forget_commit(1)
    stream.add(100, 120)
    stream.run()

    rows = (
        spark.read.format("trio-kafka")
        .option("kafka.bootstrap.servers", stream.kafka.bootstrap)
        .option("kafka.isolation.level", "read_committed")
        .option("subscribe", "orders")
        .load()
        .collect()
    )
    assert sorted(bytes(row["value"]).decode() for row in rows) == values(0, 120)
    assert stream.committed() == values(0, 120)


def test_a_task_that_fails_leaves_nothing_to_readers(stream: Stream, tmp_path: Path) -> None:
    stream.add(0, 40)
    repaired = tmp_path / "repaired"

    def failing(rows: "DataFrame") -> "DataFrame":
        def check(batches: Any) -> Any:
            yield from batches
            if not repaired.exists():
                raise ValueError("not today")

        return rows.mapInArrow(check, "value STRING")

    with pytest.raises(Exception, match="not today"):
        stream.start(where=failing).awaitTermination(TIMEOUT_S)
    assert stream.committed() == []
    repaired.touch()
    assert stream.start(where=failing).awaitTermination(TIMEOUT_S)

    assert stream.committed() == values(0, 40)


def test_an_epoch_whose_commit_fails_between_two_tasks_is_finished_by_the_next_run(
    stream: Stream, kafka: Kafka
) -> None:
    stream.add(0, 60)
    with kafka.fault(api="EndTxn", disconnect="before", after=2):  # the list, and the first task
        query = stream.start({"kafka.default.api.timeout.ms": "300"})
        with pytest.raises(Exception, match=r"EndTxn of trio-kafka-spark-.* gave up"):
            query.awaitTermination(TIMEOUT_S)
    stream.add(60, 80)
    stream.run()

    assert stream.committed() == values(0, 80)


def test_an_epoch_is_committed_although_the_broker_is_killed_between_two_commits(
    stream: Stream, kafka: Kafka
) -> None:
    stream.add(0, 60)
    with kafka.fault(api="EndTxn", hold=True, after=2, times=1) as held:
        query = stream.start()
        held.wait(timeout_s=TIMEOUT_S)
        kafka.kill()
        kafka.start()
    assert query.awaitTermination(TIMEOUT_S)

    assert stream.committed() == values(0, 60)


def test_a_batch_write_in_transactions_is_visible_when_it_has_succeeded(
    spark: "SparkSession", kafka: Kafka
) -> None:
    kafka.create_topic("orders", partitions=2)

    def write(rows: "DataFrame") -> None:
        rows.write.format("trio-kafka").option("kafka.bootstrap.servers", kafka.bootstrap).option(
            "topic", "orders"
        ).option("exactlyOnce", "true").mode("append").save()

    rows = spark.range(0, 50, numPartitions=2).selectExpr("lpad(id, 3, '0') AS value")
    with pytest.raises(Exception, match="KAFKA_INVALID_PARTITION"):
        write(rows.selectExpr("value", "IF(value = '049', 7, 0) AS partition"))
    assert settled_values(client(kafka.bootstrap)) == []
    write(rows)

    assert settled_values(client(kafka.bootstrap)) == values(0, 50)
