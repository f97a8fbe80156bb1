"""`trio-kafka spark restore`: from log directories and from a table, into a broker."""

import pytest

from tests.trio_kafka_spark.cli.kit import run
from tests.trio_kafka_spark.cli.test_writing import create
from tests.trio_kafka_spark.jobs.kit import record, records
from tests.trio_kafka_spark.log.kit import batch, partition, rows, segment

pytestmark = pytest.mark.spark


def content(stored_rows):
    columns = ("partition", "offset", "key", "value", "timestamp", "headers")
    return sorted(tuple(str(row[column]) for column in columns) for row in stored_rows)


def test_restored_records_equal_the_records_of_the_log_directory(
    spark, shared_broker, tmp_path, capsys
):
    for number in (0, 1):
        segment(partition(tmp_path, number, "old"), [batch(0), batch(10)])
    create(shared_broker, "restored", 2)
    address = ("--to-bootstrap", shared_broker.bootstrap, "--to-topic", "restored")

    assert run("restore", "--path", tmp_path, "--topic", "old", *address) == 0
    assert capsys.readouterr().out == "40 records written to restored\n"

    want = rows(tmp_path, subscribe="old", includeHeaders="true")
    result = rows(shared_broker.data, subscribe="restored", includeHeaders="true")
    assert content(result) == content(want)


def test_a_parquet_table_is_restored_and_path_with_parquet_is_refused(
    spark, shared_broker, tmp_path, capsys
):
    create(shared_broker, "restored-table", 1)
    entries = [record(n, value=b"%d" % n, topic="restored-table") for n in range(5)]
    records(spark, *entries).write.parquet(str(tmp_path / "table"))
    address = ("--to-bootstrap", shared_broker.bootstrap)

    assert run("restore", "--parquet", tmp_path / "table", *address) == 0
    result = rows(shared_broker.data, subscribe="restored-table")
    assert [row["value"] for row in result] == [b"%d" % n for n in range(5)]
    both = ("--parquet", tmp_path, "--path", tmp_path, *address)
    assert run("restore", *both) == 1
    assert "give one of --path" in capsys.readouterr().err
