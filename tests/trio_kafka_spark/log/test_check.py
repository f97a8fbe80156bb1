"""Findings of verify: none in directories of Apache Kafka, and each kind of damage."""

import struct

import pytest

from tests.trio_kafka_spark.log.kit import batch, flip, log, partition, positions, sample, segment
from trio_kafka_spark.log.check import check_segment
from trio_kafka_spark.log.directories import find_partitions

FIRST = "00000000000000000000.log"


def findings(root):
    return [
        finding
        for directory in find_partitions([str(root)])
        for each in directory.segments
        for finding in check_segment(directory.at, each)
    ]


def kinds(root):
    return [(finding.kind, finding.position) for finding in findings(root)]


def healthy(root):
    """Two segments with both indexes."""
    directory = log(root, segments=2, interval=1)
    for path in directory.glob("*.log"):
        base = int(path.stem)
        times = struct.pack(">qI", 1_700_000_000_000 + base + 39, 39)
        path.with_suffix(".timeindex").write_bytes(times)
    return directory


@pytest.mark.parametrize(
    "name",
    [
        "plain",
        "epochs",
        "logappend",
        "compacted",
        "txn",
        "gzip",
        "snappy",
        "lz4",
        "zstd",
        "trimmed",
        "running_indexes",
    ],
)
def test_a_check_of_segments_of_apache_kafka_finds_nothing(tmp_path, name):
    sample(tmp_path, name)

    assert findings(tmp_path) == []


def test_a_check_of_a_swap_file_that_is_the_segment_finds_nothing(tmp_path):
    path = healthy(tmp_path) / FIRST
    path.rename(f"{path}.swap")

    assert findings(tmp_path) == []


def test_a_check_of_healthy_segments_finds_nothing(tmp_path):
    healthy(tmp_path)

    assert findings(tmp_path) == []


@pytest.mark.parametrize("at", [9, 16, 70])
def test_a_check_finds_a_corrupt_batch_and_the_index_entry_that_points_at_its_position(
    tmp_path, at
):
    path = healthy(tmp_path) / FIRST
    damaged = positions(path)[2]
    flip(path, damaged + at)

    result = findings(tmp_path)

    assert (result[0].kind, result[0].position, result[0].file) == ("batch", damaged, str(path))
    assert (result[1].kind, result[1].position) == ("offset index", 8)
    assert result[1].error == f"no batch begins at {damaged} of the log"


def test_a_check_finds_leader_epochs_that_decrease(tmp_path):
    batches = [batch(0, leader_epoch=3), batch(10, leader_epoch=2), batch(20, leader_epoch=3)]
    segment(partition(tmp_path), batches)

    assert kinds(tmp_path) == [("order", len(batches[0]))]


def test_a_check_finds_offsets_that_overlap_the_next_segment(tmp_path):
    directory = healthy(tmp_path)
    segment(directory, [batch(70)])

    assert [kind for kind in kinds(tmp_path) if kind[0] == "order"] == [
        ("order", positions(directory / "00000000000000000040.log")[3])
    ]


@pytest.mark.parametrize(
    ("suffix", "change", "kind"),
    [
        (".index", lambda content: content[:-1], "offset index"),
        (".index", lambda content: content[8:] + content[:8], "offset index"),
        (".index", lambda content: content[:4] + b"\0\0\0\1" + content[8:], "offset index"),
        (".index", lambda content: b"\0\0\0\1" + content[4:], "offset index"),
        (".index", lambda content: bytes(8) + content, "offset index"),
        (".timeindex", lambda content: content[:-1], "time index"),
        (".timeindex", lambda content: content + content, "time index"),
        (".timeindex", lambda content: content[:7] + b"\0" + content[8:], "time index"),
        (".timeindex", lambda content: content[:11] + b"\1", "time index"),
        (".timeindex", lambda content: b"", "time index"),
        (".txnindex", lambda content: b"\0", "transaction index"),
        (".txnindex", lambda content: struct.pack(">hqqqq", 1, 1, 1, 2, 3), "transaction index"),
        (".txnindex", lambda content: struct.pack(">hqqqq", 0, 1, 3, 2, 3), "transaction index"),
        (".txnindex", lambda content: struct.pack(">hqqqq", 0, 1, 3, 40, 3), "transaction index"),
    ],
)
def test_a_check_finds_an_index_that_does_not_match_the_log(tmp_path, suffix, change, kind):
    path = (healthy(tmp_path) / FIRST).with_suffix(suffix)
    path.write_bytes(change(path.read_bytes() if path.exists() else b""))

    result = findings(tmp_path)

    assert {(finding.kind, finding.file) for finding in result} == {(kind, str(path))}


@pytest.mark.parametrize("suffix", [".index", ".timeindex"])
def test_a_check_finds_a_missing_index_except_in_the_active_segment(tmp_path, suffix):
    directory = healthy(tmp_path)
    for path in directory.glob(f"*{suffix}"):
        path.unlink()

    (result,) = findings(tmp_path)

    assert result.error == "the file is missing"
    assert result.file == str((directory / FIRST).with_suffix(suffix))


def test_a_check_accepts_trailing_zeros_of_an_index(tmp_path):
    directory = healthy(tmp_path)
    for path in (*directory.glob("*.index"), *directory.glob("*.timeindex")):
        path.write_bytes(path.read_bytes() + bytes(240))

    assert findings(tmp_path) == []


def test_a_check_of_a_segment_deleted_after_listing_finds_nothing(tmp_path):
    directory = healthy(tmp_path)
    (result,) = find_partitions([str(tmp_path)])
    (directory / FIRST).unlink()

    assert list(check_segment(result.at, result.segments[0])) == []
