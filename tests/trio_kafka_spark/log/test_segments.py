"""The view of segments: files, and what their headers add up to."""

from datetime import UTC, datetime

import pytest

from tests.trio_kafka_spark.log.kit import (
    TIME,
    batch,
    flip,
    log,
    partition,
    positions,
    rows,
    sample,
    segment,
)
from trio_kafka_spark.log import segments as module
from trio_kafka_spark.log.options import LogOptions
from trio_kafka_spark.log.plan import plan_ranges
from trio_kafka_spark.log.segments import plan_segments


def view(root, columns=None, **options):
    return rows(root, columns, view="segments", **options)


def time(milliseconds):
    return datetime.fromtimestamp(milliseconds / 1000, UTC)


def test_the_segments_view_has_a_row_for_each_segment(tmp_path):
    directory = log(tmp_path, segments=2, interval=1)
    with (directory / "00000000000000000040.log").open("ab") as active:
        active.write(batch(80)[:50])

    first, second = view(tmp_path)

    assert first == {
        "topic": "t",
        "partition": 0,
        "file": str(directory / "00000000000000000000.log"),
        "base_offset": 0,
        "is_active": False,
        "size": (directory / "00000000000000000000.log").stat().st_size,
        "whole_size": first["size"],
        "index_size": 24,
        "time_index_size": None,
        "transaction_index_size": None,
        "modified": first["modified"],
        "first_offset": 0,
        "last_offset": 39,
        "batches": 4,
        "records": 40,
        "min_timestamp": time(TIME),
        "max_timestamp": time(TIME + 39),
        "error": None,
    }
    assert (second["base_offset"], second["is_active"]) == (40, True)
    assert (second["size"] - second["whole_size"], second["error"]) == (50, None)
    assert second["last_offset"] == 79


def test_the_segments_view_describes_segments_of_apache_kafka(tmp_path):
    sample(tmp_path, "txn")

    first, second = view(tmp_path)

    assert (first["first_offset"], first["last_offset"], first["is_active"]) == (0, 4, False)
    assert (second["first_offset"], second["last_offset"], second["is_active"]) == (5, 33, True)
    assert (second["index_size"], second["transaction_index_size"]) == (32, 68)
    assert first["records"] + second["records"] == 34


def test_a_segment_row_has_the_error_and_counts_only_whole_batches(tmp_path):
    path = log(tmp_path, segments=2) / "00000000000000000000.log"
    damaged = positions(path)[1]
    flip(path, damaged + 16)

    first, _ = view(tmp_path)

    assert first["error"].startswith(f"position {damaged}: magic")
    assert (first["batches"], first["records"]) == (3, 30)


def test_the_row_of_an_empty_segment_has_null_offsets_and_times(tmp_path):
    segment(partition(tmp_path), [], base=7)

    (row,) = view(tmp_path)

    assert (row["first_offset"], row["last_offset"], row["batches"]) == (None, None, 0)
    assert (row["min_timestamp"], row["max_timestamp"]) == (None, None)


def test_batch_headers_are_read_only_for_columns_that_need_them(tmp_path, monkeypatch):
    log(tmp_path)

    def walked(_):
        raise AssertionError

    monkeypatch.setattr(module, "_walked", walked)

    assert view(tmp_path, ["base_offset", "size"])[1]["base_offset"] == 40
    with pytest.raises(AssertionError):
        view(tmp_path, ["batches"])


def test_only_segments_with_wanted_offsets_are_shown(tmp_path):
    log(tmp_path)
    bounds = {"startingOffsets": '{"t": {"0": 40}}', "endingOffsets": '{"t": {"0": 80}}'}

    assert [row["base_offset"] for row in view(tmp_path, ["base_offset"], **bounds)] == [40]


def test_a_segment_deleted_after_planning_has_no_row(tmp_path):
    directory = log(tmp_path)
    options = LogOptions.from_options({"path": str(tmp_path), "view": "segments"})
    ((planned),) = plan_segments(plan_ranges(options))
    (directory / "00000000000000000000.log").unlink()

    (result,) = module.read_segments(planned, ["base_offset", "batches"])

    assert result.column("base_offset").to_pylist() == [40, 80]


def test_tasks_of_the_segments_view_have_at_most_64_segments(tmp_path):
    log(tmp_path, segments=70, batches=1)
    options = LogOptions.from_options({"path": str(tmp_path), "view": "segments"})

    assert [len(task) for task in plan_segments(plan_ranges(options))] == [64, 6]


def test_a_log_append_time_is_both_minimum_and_maximum_timestamp_of_a_segment(tmp_path):
    segment(partition(tmp_path), [batch(0, append_time_ms=TIME + 500)])

    (row,) = view(tmp_path)

    assert (row["min_timestamp"], row["max_timestamp"]) == (time(TIME + 500), time(TIME + 500))
