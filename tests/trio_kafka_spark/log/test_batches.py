"""The view of batches: what the headers say, for each batch once."""

from datetime import UTC, datetime

import pytest

from tests.trio_kafka_spark.log.kit import TIME, batch, flip, log, positions, rows, sample
from trio_kafka.records.batch import iterate_headers
from trio_kafka.records.compression import Codec
from trio_kafka_spark.log.plan import CorruptLogError
from trio_kafka_spark.log.reader import LogReader

FIRST = "00000000000000000000.log"


def view(root, columns=None, **options):
    return rows(root, columns, view="batches", **options)


@pytest.mark.parametrize("name", ["plain", "compacted", "txn", "zstd", "logappend"])
@pytest.mark.parametrize("split", ["1", "1000000"])
def test_the_batches_view_has_a_row_for_each_batch_of_apache_kafka(tmp_path, name, split):
    directory = sample(tmp_path, name) / f"{name}-0"
    want = [
        (str(path), position, header.size, header.base_offset, header.last_offset, header.count)
        for path in sorted(directory.glob("*.log"))
        for position, header in iterate_headers(path.read_bytes())
    ]

    result = view(tmp_path, splitBytes=split, windowBytes="400")

    columns = ("file", "position", "size", "base_offset", "last_offset", "count")
    assert [tuple(row[column] for column in columns) for row in result] == want
    assert {(row["topic"], row["partition"]) for row in result} == {(name, 0)}


def test_a_control_batch_row_has_the_fields_of_its_header(tmp_path):
    sample(tmp_path, "txn")

    result = view(tmp_path)
    marker = next(row for row in result if row["control"])

    assert (marker["transactional"], marker["count"], marker["base_sequence"]) == (True, 1, -1)
    assert marker["codec"] == "none"
    assert marker["producer_id"] >= 0
    assert marker["crc"] > 0
    assert marker["max_timestamp"].tzinfo is not None


def test_base_and_maximum_timestamp_of_a_batch_are_the_times_of_its_records(tmp_path):
    log(tmp_path, segments=1, batches=1)

    (row,) = view(tmp_path)

    assert row["base_timestamp"] == datetime.fromtimestamp(TIME / 1000, UTC)
    assert row["max_timestamp"] == datetime.fromtimestamp((TIME + 9) / 1000, UTC)


@pytest.mark.parametrize("codec", list(Codec))
def test_the_uncompressed_size_is_that_of_the_same_batch_without_compression(tmp_path, codec):
    log(tmp_path, segments=1, batches=2, codec=codec, size=500)

    result = view(tmp_path, uncompressed="true")

    assert [row["uncompressed_size"] for row in result] == [
        len(batch(0, size=500)),
        len(batch(10, size=500)),
    ]
    assert [row["codec"] for row in result] == [codec.name.lower()] * 2


def test_the_uncompressed_size_of_a_batch_that_does_not_decompress_is_null(tmp_path):
    path = log(tmp_path, segments=1, batches=2, codec=Codec.GZIP) / FIRST
    flip(path, 61)

    assert view(tmp_path, ["uncompressed_size"], uncompressed="true")[0] == {
        "uncompressed_size": None
    }


def test_the_batches_view_has_every_batch_that_holds_a_wanted_offset(tmp_path):
    log(tmp_path)
    bounds = {"startingOffsets": '{"t": {"0": 15}}', "endingOffsets": '{"t": {"0": 41}}'}

    for split in ("1", "1000000"):
        result = view(tmp_path, ["base_offset"], splitBytes=split, **bounds)
        assert [row["base_offset"] for row in result] == [10, 20, 30, 40]


def test_a_damaged_batch_header_fails_the_view_or_is_skipped_in_permissive_mode(tmp_path):
    path = log(tmp_path, segments=1) / FIRST
    damaged = positions(path)[1]
    flip(path, damaged + 16)

    with pytest.raises(CorruptLogError, match=f"position {damaged}"):
        view(tmp_path)
    result = view(tmp_path, ["base_offset"], mode="permissive")
    assert [row["base_offset"] for row in result] == [0, 20, 30]


def test_a_batch_that_spans_two_pieces_after_compaction_is_a_single_row(tmp_path):
    path = log(tmp_path, segments=1) / FIRST
    reader = LogReader({"path": str(tmp_path), "view": "batches", "splitBytes": "1"})
    planned = reader.partitions()
    fresh = path.with_suffix(".cleaned")
    fresh.write_bytes(batch(0, 25) + batch(25, 15))
    fresh.rename(path)

    result = [
        row
        for task in planned
        for record_batch in reader.read(task)
        for row in record_batch.to_pylist()
    ]

    assert [row["base_offset"] for row in result] == [0, 25]
