"""Tables, JSON lines, files and errors."""

import json

import pytest
from pyspark.errors import PySparkException

from tests.trio_kafka_spark.jobs.kit import record, records
from trio_kafka_spark.cli.outputs import give_up, reason_of, run_job, show
from trio_kafka_spark.client.errors import OptionError

WRAPPED = """[PYTHON_DATA_SOURCE_ERROR] Failed when reading: Traceback (most recent call last):
  File "worker.py", line 1, in main
trio_kafka_spark.log.plan.CorruptLogError: [KAFKA_CORRUPT_RECORDS] /a/t-0/0.log position 7: zeros
"""


def test_the_reason_of_a_spark_error_is_the_exception_of_the_worker():
    reason = reason_of(PySparkException(message=WRAPPED))

    assert reason == "[KAFKA_CORRUPT_RECORDS] /a/t-0/0.log position 7: zeros"
    assert reason_of(PySparkException(message="no such column\nat x")) == "no such column"


def test_a_failure_is_printed_on_stderr_as_one_line(capsys):
    assert give_up("bad\nthing") == 1
    assert capsys.readouterr().err == "trio-kafka: bad\\nthing\n"


@pytest.mark.spark
def test_rows_are_shown_as_a_table_or_as_json(spark, capsys):
    frame = records(spark, record(0, b"a", b"\xff"), record(1, None), record(2)).coalesce(1)
    frame = frame.select("topic", "offset", "timestamp", "key", "value").orderBy("offset")

    assert show(frame, json=False, rows=2, save=None) == 3
    table = capsys.readouterr()
    assert show(frame, json=True, rows=0, save=None) == 3
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]

    assert table.out.splitlines() == [
        "topic  offset  timestamp                 key  value",
        "t           0  2026-05-28 20:26:40.000Z  a    0xff",
        "t           1  2026-05-28 20:26:41.000Z  -    v",
    ]
    assert "more rows" in table.err
    assert (lines[0]["key"], lines[0]["value"], lines[1]["key"]) == ("a", "0xff", None)
    assert lines[0]["timestamp"] == "2026-05-28T20:26:40+00:00"


@pytest.mark.spark
def test_rows_are_saved_as_parquet_and_an_existing_path_is_refused(spark, tmp_path, capsys):
    frame = records(spark, record(0))

    assert show(frame, json=False, rows=1, save=str(tmp_path / "x")) == 0
    assert spark.read.parquet(str(tmp_path / "x")).count() == 1
    assert capsys.readouterr().out == ""

    def again(_):
        return show(frame, json=False, rows=1, save=str(tmp_path / "x"))

    assert run_job("test", None, again) == 1
    assert "already exists" in capsys.readouterr().err


@pytest.mark.spark
def test_an_option_error_is_printed_and_an_existing_session_is_not_stopped(spark, capsys):
    def wrong(_):
        raise OptionError("path", "is missing")

    assert run_job("test", None, wrong) == 1
    assert capsys.readouterr().err == "trio-kafka: option path: is missing\n"
    assert spark.range(3).count() == 3
