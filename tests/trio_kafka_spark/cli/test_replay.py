"""`trio-kafka spark replay`: at a speed and at a rate, into a broker."""

import pytest

from tests.trio_kafka_spark.cli.kit import run
from tests.trio_kafka_spark.cli.test_writing import create
from tests.trio_kafka_spark.log.kit import log, rows


@pytest.mark.spark
@pytest.mark.parametrize("pace", [("--speed", "100"), ("--rate", "1000")])
def test_replay_writes_records_in_order_with_and_without_pace(
    spark, shared_broker, tmp_path, capsys, pace
):
    log(tmp_path)
    topic = f"replayed{pace[0]}"
    create(shared_broker, topic, 1)
    before = spark.conf.get("spark.sql.execution.arrow.maxRecordsPerBatch")
    address = ("--to-bootstrap", shared_broker.bootstrap, "--to-topic", topic)

    assert run("replay", "--path", tmp_path, "--topic", "t", *pace, *address) == 0

    assert capsys.readouterr().out == f"120 records written to {topic}\n"
    result = rows(shared_broker.data, subscribe=topic)
    assert [int(row["value"].rstrip(b".")) for row in result] == list(range(120))
    assert spark.conf.get("spark.sql.execution.arrow.maxRecordsPerBatch") == before


@pytest.mark.spark
def test_replay_refuses_a_speed_of_zero(spark, tmp_path, capsys):
    log(tmp_path)
    address = ("--to-bootstrap", "127.0.0.1:1", "--to-topic", "x")

    assert run("replay", "--path", tmp_path, "--topic", "t", "--speed", "0", *address) == 1
    assert "want a number above 0" in capsys.readouterr().err
