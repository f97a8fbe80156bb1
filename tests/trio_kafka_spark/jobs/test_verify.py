"""Findings as rows."""

import pytest

from tests.trio_kafka_spark.jobs.kit import tuples, view
from tests.trio_kafka_spark.log.kit import flip, log, positions, sample
from trio_kafka_spark.jobs.verify import verify

pytestmark = pytest.mark.spark
FIRST = "00000000000000000000.log"


def test_verifying_healthy_segments_gives_no_rows(spark, tmp_path):
    sample(tmp_path, "txn")
    sample(tmp_path, "plain")

    assert verify(view(spark, tmp_path, "segments")).count() == 0


def test_verify_gives_a_row_with_file_and_position_for_each_finding(spark, tmp_path):
    directory = log(tmp_path, segments=3, interval=1)
    for path in directory.glob("*.log"):
        path.with_suffix(".timeindex").write_bytes(b"")
    damaged = positions(directory / FIRST)[1]
    flip(directory / FIRST, damaged + 70)

    result = verify(view(spark, tmp_path, "segments")).orderBy("file", "position")

    assert tuples(result, "topic", "partition", "file", "position", "kind") == [
        ("t", 0, str(directory / FIRST.replace(".log", ".index")), 0, "offset index"),
        ("t", 0, str(directory / FIRST), damaged, "batch"),
        ("t", 0, str(directory / FIRST.replace(".log", ".timeindex")), 0, "time index"),
        ("t", 0, str(directory / "00000000000000000040.timeindex"), 0, "time index"),
    ]


def test_verify_gives_no_rows_for_a_segment_deleted_after_listing(spark, tmp_path):
    directory = log(tmp_path, segments=2, interval=1)
    segments = view(spark, tmp_path, "segments").collect()
    (directory / FIRST).unlink()

    frame = spark.createDataFrame(segments, view(spark, tmp_path, "segments").schema)

    assert verify(frame).count() == 0
