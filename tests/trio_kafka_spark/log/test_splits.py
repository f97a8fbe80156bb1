"""Pieces begin and end at batches, and hold each offset once."""

import struct

import pytest

from tests.trio_kafka_spark.log.kit import batch, flip, log, partition, positions, sample, segment
from trio_kafka.records.batch import Record, encode_batch
from trio_kafka_spark.log.directories import find_partitions
from trio_kafka_spark.log.splits import (
    OPEN_COST,
    index_entries,
    measure,
    packed,
    partition_pieces,
    with_aborted,
)

ALL = 1 << 62


def only(root):
    return find_partitions([str(root)])[0]


def pieces(root, split=ALL, start=0, stop=ALL):
    return list(partition_pieces(only(root), start=start, stop=stop, split_bytes=split))


def spans(log_pieces):
    return [(piece.start, piece.stop) for piece in log_pieces]


def test_each_segment_is_a_piece_and_the_active_segment_ends_at_its_last_whole_batch(tmp_path):
    directory = log(tmp_path, segments=2)
    with (directory / "00000000000000000040.log").open("ab") as active:
        active.write(batch(80)[:50])

    result = pieces(tmp_path)

    assert spans(result) == [(0, 40), (40, 80)]
    assert [piece.active for piece in result] == [False, True]
    assert result[1].end == result[1].size < (directory / "00000000000000000040.log").stat().st_size


@pytest.mark.parametrize("interval", [0, 1, 600])
@pytest.mark.parametrize("split", [1, 700, 1500])
def test_pieces_cover_each_offset_once_and_begin_at_batches(tmp_path, interval, split):
    directory = log(tmp_path, segments=2, batches=7, interval=interval)

    result = pieces(tmp_path, split)

    assert result[0].start == 0
    assert result[-1].stop == 140
    assert [piece.stop for piece in result[:-1]] == [piece.start for piece in result[1:]]
    for path in directory.glob("*.log"):
        mine = [piece for piece in result if piece.path == str(path)]
        assert {piece.begin for piece in mine} <= set(positions(path))
        assert [piece.end for piece in mine] == [
            *(piece.begin for piece in mine[1:]),
            path.stat().st_size,
        ]
    assert len(result) > 2


def test_pieces_begin_at_the_entries_of_an_offset_index_of_apache_kafka(tmp_path):
    directory = sample(tmp_path, "plain") / "plain-0"
    path = directory / "00000000000000000000.log"

    entries = list(index_entries(path.with_suffix(".index")))
    result = pieces(tmp_path, 1)

    assert len(entries) == 5
    assert {position for _, position in entries} <= {piece.begin for piece in result}
    assert [piece.begin for piece in result] == positions(path)


def test_index_entries_end_before_the_zeros_of_a_preallocated_index(tmp_path):
    directory = sample(tmp_path, "running_indexes") / "plain-0"

    assert len(list(index_entries(directory / "00000000000000000000.index"))) == 5


@pytest.mark.parametrize("damage", ["wrong position", "wrong offset", "cut short", "missing"])
def test_a_corrupt_index_does_not_change_the_pieces(tmp_path, damage):
    directory = log(tmp_path, segments=2, batches=8, interval=1)
    path = directory / "00000000000000000000.log"
    index = path.with_suffix(".index")
    content = bytearray(index.read_bytes())
    match damage:
        case "wrong position":
            content[16:24] = struct.pack(">II", 39, positions(path)[3] + 1)
            index.write_bytes(content)
        case "wrong offset":
            content[16:24] = struct.pack(">II", 40, positions(path)[3])
            index.write_bytes(content)
        case "cut short":
            index.write_bytes(content[:-3])
        case "missing":
            index.unlink()

    result = [piece for piece in pieces(tmp_path, 1) if piece.path == str(path)]

    assert [piece.begin for piece in result] == positions(path)
    assert result[-1].stop == 80


def test_only_pieces_with_wanted_offsets_are_planned(tmp_path):
    log(tmp_path, segments=3, batches=4, interval=1)

    assert spans(pieces(tmp_path, 1, start=45, stop=63)) == [(45, 50), (50, 60), (60, 63)]
    assert pieces(tmp_path, 1, start=200) == []
    assert pieces(tmp_path, 1, start=30, stop=30) == []


def test_pieces_of_a_compacted_log_are_contiguous_in_offsets(tmp_path):
    sample(tmp_path, "compacted")

    result = pieces(tmp_path, 1)

    assert result[0].start == 0
    assert [piece.stop for piece in result[:-1]] == [piece.start for piece in result[1:]]
    assert result[-1].stop == 32


def test_a_corrupt_batch_is_inside_a_piece_and_starts_none(tmp_path):
    directory = log(tmp_path, segments=1, batches=5)
    path = directory / "00000000000000000000.log"
    starts = positions(path)
    flip(path, starts[2] + 9)

    result = pieces(tmp_path, 1)

    assert [piece.begin for piece in result] == [starts[0], starts[1], starts[3], starts[4]]
    assert result[1].end == starts[3]
    assert spans(result)[1] == (10, 30)


def test_an_empty_segment_has_no_piece(tmp_path):
    directory = partition(tmp_path)
    segment(directory, [batch(0)])
    segment(directory, [], base=10)

    assert spans(pieces(tmp_path)) == [(0, 10)]
    assert measure(only(tmp_path).segments[1], 1).next_offset == 10


def test_a_segment_deleted_after_listing_has_a_piece_for_its_reader_to_search_for(tmp_path):
    directory = log(tmp_path, segments=3)
    listed = only(tmp_path)
    (directory / "00000000000000000040.log").unlink()

    planned = list(partition_pieces(listed, start=50, stop=ALL, split_bytes=ALL))

    assert spans(planned) == [(50, 80), (80, 120)]


def test_an_active_segment_deleted_after_listing_has_no_piece(tmp_path):
    directory = log(tmp_path, segments=2)
    listed = only(tmp_path)
    (directory / "00000000000000000040.log").unlink()

    assert spans(partition_pieces(listed, start=0, stop=ALL, split_bytes=ALL)) == [(0, 40)]


def test_small_pieces_are_packed_into_one_task_in_order(tmp_path):
    log(tmp_path, segments=6, batches=1)
    result = pieces(tmp_path)

    assert packed(result, 10 * OPEN_COST) == [tuple(result)]
    assert packed(result, 1) == [(piece,) for piece in result]
    by_two = packed(result, OPEN_COST + 2 * result[0].size + 99)
    assert [len(pack) for pack in by_two] == [2, 2, 2]
    assert packed([], 1) == []


def test_a_piece_keeps_only_aborted_transactions_that_overlap_its_offsets(tmp_path):
    log(tmp_path, segments=1, batches=3)
    piece = pieces(tmp_path, 1)[1]

    noted = with_aborted(piece, [(3, 15, 40), (1, 0, 9), (2, 5, 10), (4, 20, 25), (5, 19, 19)])

    assert noted.aborted == ((2, 5, 10), (3, 15, 40), (5, 19, 19))


def test_an_index_that_points_into_a_record_is_not_used(tmp_path):
    inner = batch(500, 1)
    outer = encode_batch([Record(offset=10, value=inner)], 10)
    path = segment(partition(tmp_path), [batch(0), outer, batch(11), batch(21)])
    nested = path.read_bytes().find(inner)
    path.with_suffix(".index").write_bytes(struct.pack(">II", 20, nested))

    assert [piece.begin for piece in pieces(tmp_path, 1)] == positions(path)
