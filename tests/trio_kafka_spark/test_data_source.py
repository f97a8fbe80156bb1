"""The format by its name, without Spark and in a session."""

from typing import TYPE_CHECKING

import pytest

from tests.trio_kafka_spark.source.kit import FIRST_MS, create_topic, numbered, produce
from trio_kafka.testing.processes import BrokerProcess
from trio_kafka_spark.client.errors import OptionError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytest.importorskip("pyspark", reason="pyspark is not installed: make test SPARK=yes")

PUSHDOWN = "spark.sql.python.filterPushdown.enabled"


def test_the_data_source_that_spark_discovers_is_named_trio_kafka() -> None:
    from pyspark_trio_kafka import DefaultSource

    assert DefaultSource.name() == "trio-kafka"


def test_options_are_checked_before_a_query_runs() -> None:
    from trio_kafka_spark.data_source import TrioKafkaDataSource

    where = {"kafka.bootstrap.servers": "localhost:1"}
    with pytest.raises(OptionError, match=r"did you mean subscribe\?"):
        TrioKafkaDataSource({**where, "subscibe": "t"}).schema()
    both = {**where, "subscribe": "t", "endingOffsets": "latest", "includeHeaders": "true"}
    assert TrioKafkaDataSource(both).schema().names[-1] == "headers"


@pytest.fixture
def load(spark: "SparkSession", shared_broker: BrokerProcess) -> "DataFrame":
    """Twenty records in two partitions, a millisecond apart, with filters pushed."""
    topic = "data-source"
    if "filled" not in _once:
        create_topic(shared_broker.bootstrap, topic)
        produce(shared_broker.bootstrap, topic, numbered(20))
        _once.add("filled")
    reader = spark.read.format("trio-kafka").option("pushdown", "true")
    reader = reader.option("kafka.bootstrap.servers", shared_broker.bootstrap)
    return reader.option("subscribe", topic).load()


_once: set[str] = set()


@pytest.mark.spark
@pytest.mark.parametrize(
    ("condition", "count", "tasks"),
    [
        ("partition = 1 AND offset >= 7", 3, 1),
        ("offset IN (2, 4)", 4, 2),
        ("topic LIKE 'data%' AND partition <> 0", 10, 1),
        (f"timestamp >= timestamp_millis({FIRST_MS + 15})", 5, 2),
        (f"timestamp < timestamp_millis({FIRST_MS + 15}) AND offset > 5", 3, 2),
        ("topic = 'another'", 0, 1),
        ("key = 'k3' OR offset = 0", 3, 2),
    ],
)
def test_pushed_filters_give_the_right_rows_in_fewer_tasks(
    load: "DataFrame", condition: str, count: int, tasks: int
) -> None:
    result = load.where(condition)

    assert result.count() == count
    assert result.rdd.getNumPartitions() == tasks


@pytest.mark.spark
def test_an_error_names_the_spark_setting_that_disables_pushdown(
    spark: "SparkSession", load: "DataFrame"
) -> None:
    before = spark.conf.get(PUSHDOWN)
    spark.conf.set(PUSHDOWN, "false")
    try:
        with pytest.raises(Exception, match=PUSHDOWN) as caught:
            load.count()
    finally:
        spark.conf.set(PUSHDOWN, before)

    assert "DATA_SOURCE_PUSHDOWN_DISABLED" in str(caught.value)


@pytest.mark.spark
def test_a_given_schema_selects_columns_and_an_error_names_a_wrong_column(
    spark: "SparkSession", shared_broker: BrokerProcess, load: "DataFrame"
) -> None:
    reader = spark.read.format("trio-kafka").option("subscribe", "data-source")
    reader = reader.option("kafka.bootstrap.servers", shared_broker.bootstrap)

    few = reader.schema("offset long, value binary").load()

    assert few.columns == ["offset", "value"]
    assert {row.value for row in few.collect()} == {record.value for record in numbered(20)}
    with pytest.raises(Exception, match="found column value string; expected binary"):
        reader.schema("value string").load().collect()


@pytest.mark.spark
def test_passwords_are_neither_in_the_plan_nor_in_an_error(spark: "SparkSession") -> None:
    secret = "s3cr3t-password"
    jaas = (
        "org.apache.kafka.common.security.scram.ScramLoginModule required "
        f'username="u" password="{secret}";'
    )
    options = {
        "kafka.bootstrap.servers": "127.0.0.1:1",
        "kafka.security.protocol": "SASL_PLAINTEXT",
        "kafka.sasl.mechanism": "SCRAM-SHA-256",
        "kafka.sasl.jaas.config": jaas,
        "kafka.default.api.timeout.ms": "1",
        "fetchOffset.numRetries": "1",
        "subscribe": "t",
    }
    result = spark.read.format("trio-kafka").options(**options).load()

    plan = result._jdf.queryExecution().logical().toString()
    with pytest.raises(Exception) as caught:
        result.collect()

    assert secret not in plan
    assert secret not in str(caught.value)
    assert "127.0.0.1:1" in str(caught.value)
