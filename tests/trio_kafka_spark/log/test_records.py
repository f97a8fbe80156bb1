"""Records from log directories: what the row codec reads, and nothing of what is damaged."""

import struct
from datetime import UTC, datetime
from pathlib import Path

import pytest
from crc32c import crc32c

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
from tests.trio_kafka_spark.log.test_transactions import data, marker
from trio_kafka.records.batch import iterate_headers, read_records
from trio_kafka.records.compression import Codec
from trio_kafka_spark.log.plan import CorruptLogError

FIRST = "00000000000000000000.log"


def by_row_codec(directory: Path) -> list[tuple]:
    result = []
    for path in sorted(directory.glob("*.log")):
        content = path.read_bytes()
        for position, header in iterate_headers(content):
            if not header.is_control:
                result += [
                    (
                        record.offset,
                        record.timestamp,
                        record.key,
                        record.value,
                        list(record.headers),
                    )
                    for record in read_records(content, position, header)
                ]
    return result


def as_tuples(view_rows: list[dict]) -> list[tuple]:
    return [
        (
            row["offset"],
            round(row["timestamp"].timestamp() * 1000),
            row["key"],
            row["value"],
            [(header["key"], header["value"]) for header in row["headers"] or []],
        )
        for row in view_rows
    ]


def offsets(view_rows: list[dict]) -> list[int]:
    return [row["offset"] for row in view_rows]


def reseal(path: Path, position: int) -> None:
    """Give the batch at a position the CRC of its bytes."""
    content = bytearray(path.read_bytes())
    end = position + 12 + int.from_bytes(content[position + 8 : position + 12], "big")
    content[position + 17 : position + 21] = struct.pack(">I", crc32c(content[position + 21 : end]))
    path.write_bytes(content)


@pytest.mark.parametrize(
    "name",
    ["plain", "epochs", "logappend", "compacted", "txn", "gzip", "snappy", "lz4", "zstd"],
)
@pytest.mark.parametrize("split", ["1", "100000000"])
def test_records_of_apache_kafka_directories_equal_the_records_of_the_row_codec(
    tmp_path, name, split
):
    directory = sample(tmp_path, name) / f"{name}-0"

    result = rows(tmp_path, subscribe=name, includeHeaders="true", splitBytes=split)

    assert as_tuples(result) == by_row_codec(directory)
    assert {(row["topic"], row["partition"]) for row in result} == {(name, 0)}
    assert {row["timestampType"] for row in result} == {int(name == "logappend")}


def test_records_of_a_running_apache_kafka_equal_the_records_of_the_row_codec(tmp_path):
    sample(tmp_path, "running_indexes")

    result = rows(tmp_path, subscribePattern="plain|txn", includeHeaders="true", splitBytes="1")

    for topic in ("plain", "txn"):
        mine = [row for row in result if row["topic"] == topic]
        assert as_tuples(mine) == by_row_codec(tmp_path / f"{topic}-0")


@pytest.mark.parametrize("codec", list(Codec))
@pytest.mark.parametrize("window", ["1", "900", "1000000"])
def test_each_record_is_read_once_with_any_codec_and_window_size(tmp_path, codec, window):
    log(tmp_path, segments=3, batches=5, codec=codec)

    result = rows(tmp_path, splitBytes="1000", windowBytes=window)

    assert offsets(result) == list(range(150))
    assert result[7]["timestamp"] == datetime.fromtimestamp((TIME + 7) / 1000, UTC)


def test_starting_and_ending_offsets_inside_batches_are_exact(tmp_path):
    log(tmp_path)

    result = rows(
        tmp_path,
        startingOffsets='{"t": {"0": 33}}',
        endingOffsets='{"t": {"0": 57}}',
        splitBytes="1",
    )

    assert offsets(result) == list(range(33, 57))


def test_records_below_the_log_start_offset_are_not_read(tmp_path):
    sample(tmp_path, "trimmed")
    (tmp_path / "log-start-offset-checkpoint").write_text("0\n1\ntrimmed 0 25\n")

    assert offsets(rows(tmp_path, subscribe="trimmed")) == list(range(25, 40))


def test_only_the_requested_columns_are_made_in_their_order(tmp_path):
    log(tmp_path, segments=1, batches=1)

    assert list(rows(tmp_path, ["offset", "value"])[3].items()) == [
        ("offset", 3),
        ("value", b"3" + b"." * 20),
    ]


@pytest.mark.parametrize("split", ["1", "1000000"])
def test_read_committed_leaves_out_aborted_and_open_transactions(tmp_path, split):
    sample(tmp_path, "txn")

    everything = offsets(rows(tmp_path, subscribe="txn"))
    committed = offsets(
        rows(tmp_path, subscribe="txn", isolation="read_committed", splitBytes=split)
    )

    aborted = [*range(6, 11), *range(18, 28)]
    assert committed == [offset for offset in everything if offset not in aborted and offset < 31]
    assert set(aborted) & set(everything)


@pytest.mark.parametrize("at", [9, 16, 70])
def test_damage_in_a_sealed_segment_fails_with_file_and_position(tmp_path, at):
    path = log(tmp_path, segments=2) / FIRST
    damaged = positions(path)[2]
    flip(path, damaged + at)

    with pytest.raises(
        CorruptLogError, match=rf"KAFKA_CORRUPT_RECORDS.* {path} position {damaged}:"
    ):
        rows(tmp_path)


@pytest.mark.parametrize("at", [9, 16, 70])
@pytest.mark.parametrize("window", ["1", "1000000"])
def test_permissive_mode_skips_a_corrupt_batch_and_the_errors_view_lists_its_place(
    tmp_path, at, window
):
    path = log(tmp_path, segments=2) / FIRST
    starts = positions(path)
    flip(path, starts[2] + at)

    result = rows(tmp_path, mode="permissive", windowBytes=window)
    errors = rows(tmp_path, view="errors", subscribe="t", windowBytes=window)

    assert offsets(result) == [*range(20), *range(30, 80)]
    assert [(error["topic"], error["partition"], error["file"]) for error in errors] == [
        ("t", 0, str(path))
    ]
    assert (errors[0]["position"], errors[0]["size"]) == (starts[2], starts[3] - starts[2])
    assert errors[0]["error"]


def test_damage_in_the_middle_of_the_active_segment_fails_the_read(tmp_path):
    path = log(tmp_path, segments=1) / FIRST
    damaged = positions(path)[1]
    flip(path, damaged + 16)

    with pytest.raises(CorruptLogError, match=f"position {damaged}: "):
        rows(tmp_path)


@pytest.mark.parametrize("tail", [batch(40)[:90], bytes(4000), batch(40)[:8]])
def test_an_incomplete_tail_of_the_active_segment_is_not_read_and_is_no_error(tmp_path, tail):
    path = log(tmp_path, segments=1) / FIRST
    with path.open("ab") as active:
        active.write(tail)

    assert offsets(rows(tmp_path)) == list(range(40))
    assert rows(tmp_path, view="errors") == []


@pytest.mark.parametrize("window", ["1", "1000000"])
def test_a_malformed_record_in_a_batch_with_a_valid_crc_is_an_error(tmp_path, window):
    path = log(tmp_path, segments=1, batches=5) / FIRST
    damaged = positions(path)[1]
    flip(path, damaged + 61)  # the first record's length
    reseal(path, damaged)

    with pytest.raises(CorruptLogError, match=f"position {damaged}"):
        rows(tmp_path, windowBytes=window)
    assert offsets(rows(tmp_path, mode="permissive", windowBytes=window)) == [
        *range(10),
        *range(20, 50),
    ]
    (error,) = rows(tmp_path, view="errors")
    assert error["position"] == damaged
    assert "position" not in error["error"]


def test_permissive_mode_skips_only_the_batch_that_does_not_decompress(tmp_path):
    path = segment(
        partition(tmp_path),
        [batch(0, codec=Codec.ZSTD), batch(10, codec=Codec.ZSTD), batch(20, codec=Codec.ZSTD)],
    )
    damaged = positions(path)[1]
    flip(path, damaged + 61)
    reseal(path, damaged)

    assert offsets(rows(tmp_path, mode="permissive")) == [*range(10), *range(20, 30)]


def test_a_batch_of_an_old_message_format_fails_with_its_magic_number(tmp_path):
    path = log(tmp_path, segments=2) / FIRST
    content = bytearray(path.read_bytes())
    content[16] = 1
    path.write_bytes(content)

    with pytest.raises(CorruptLogError, match=r"position 0: .*magic 1"):
        rows(tmp_path)


def test_an_empty_segment_gives_no_records(tmp_path):
    segment(partition(tmp_path), [], base=0)

    assert rows(tmp_path) == []


def test_an_abort_marker_before_a_skipped_batch_still_ends_its_transaction(tmp_path):
    written = [data(0, 1), marker(2, 1, committed=False), batch(3), data(13, 1)]
    path = segment(partition(tmp_path), [*written, marker(15, 1, committed=True)])
    damaged = positions(path)[2]
    flip(path, damaged + 61)
    reseal(path, damaged)

    result = rows(tmp_path, mode="permissive", isolation="read_committed")

    assert offsets(result) == [13, 14]
