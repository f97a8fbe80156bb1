"""Windows of whole batches, from files that change while they are read."""

import attrs
import pytest

from tests.trio_kafka_spark.log.kit import batch, flip, log, partition, positions, segment
from trio_kafka.records.batch import iterate_headers
from trio_kafka_spark.client.errors import SourceError
from trio_kafka_spark.log.directories import find_partitions
from trio_kafka_spark.log.splits import partition_pieces
from trio_kafka_spark.log.windows import BadBytes, read_windows

ALL = 1 << 62


def planned(root, split=ALL):
    return list(
        partition_pieces(find_partitions([str(root)])[0], start=0, stop=ALL, split_bytes=split)
    )


class BadPlaceError(Exception):
    pass


def refuse(bad: BadBytes):
    raise BadPlaceError(str(bad))


def offsets(windows):
    """Base offsets of the batches that belong to the pieces."""
    return [
        header.base_offset
        for window in windows
        for _, header in iterate_headers(window.data)
        if window.piece.shown_from <= header.base_offset < window.piece.stop
    ]


def read(pieces, size=1 << 20, on_bad=refuse, **options):
    return offsets(
        window for piece in pieces for window in read_windows(piece, size, on_bad, **options)
    )


@pytest.mark.parametrize("size", [1, 61, 500, 1000, 1 << 20])
def test_each_batch_is_in_a_single_window_with_any_window_size(tmp_path, size):
    log(tmp_path, segments=2, batches=5)

    assert read(planned(tmp_path), size) == list(range(0, 100, 10))


def test_a_window_has_its_file_position_and_its_offsets(tmp_path):
    directory = log(tmp_path, segments=1)
    starts = positions(directory / "00000000000000000000.log")
    size = starts[2] + 50

    first, second = read_windows(planned(tmp_path)[0], size, refuse)

    assert (first.position, first.least, first.next_offset) == (0, 0, 20)
    assert (second.position, second.least, second.next_offset) == (starts[2], 20, 40)


def test_reading_stops_after_the_batch_with_the_last_wanted_offset(tmp_path):
    log(tmp_path, segments=1, batches=9)
    piece = attrs.evolve(planned(tmp_path)[0], stop=25)

    assert read([piece], 1) == [0, 10, 20]


@pytest.mark.parametrize(("at", "reason"), [(9, "want"), (16, "magic"), (70, "CRC"), (3, "offset")])
def test_an_error_of_a_corrupt_batch_names_file_and_position(tmp_path, at, reason):
    directory = log(tmp_path, segments=2)
    path = directory / "00000000000000000000.log"
    damaged = positions(path)[2]
    flip(path, damaged + at)
    if at == 3:  # an offset below the one before, outside of the CRC
        content = bytearray(path.read_bytes())
        content[damaged : damaged + 8] = bytes(8)
        path.write_bytes(content)

    with pytest.raises(BadPlaceError, match=rf"{path} position {damaged}: .*{reason}"):
        read(planned(tmp_path))


@pytest.mark.parametrize("at", [9, 11, 16, 70])
@pytest.mark.parametrize("size", [1, 1000, 1 << 20])
def test_reading_resumes_at_the_next_whole_batch_after_damage(tmp_path, at, size):
    directory = log(tmp_path, segments=2)
    path = directory / "00000000000000000000.log"
    starts = positions(path)
    flip(path, starts[1] + at)
    result: list[BadBytes] = []

    assert read(planned(tmp_path), size, result.append) == [0, 20, 30, 40, 50, 60, 70]
    assert [(damage.position, damage.size) for damage in result] == [
        (starts[1], starts[2] - starts[1])
    ]


def test_a_truncated_last_batch_of_a_sealed_segment_is_reported_as_damage(tmp_path):
    directory = log(tmp_path, segments=2)
    path = directory / "00000000000000000000.log"
    starts = positions(path)
    path.write_bytes(path.read_bytes()[:-10])
    result: list[BadBytes] = []

    assert read(planned(tmp_path), on_bad=result.append) == [0, 10, 20, 40, 50, 60, 70]
    assert [(damage.position, damage.size) for damage in result] == [
        (starts[3], path.stat().st_size - starts[3])
    ]


def test_a_batch_with_a_wrong_crc_is_read_if_crc_checks_are_off(tmp_path):
    directory = log(tmp_path, segments=1)
    flip(directory / "00000000000000000000.log", 70)

    assert read(planned(tmp_path), check_crcs=False) == [0, 10, 20, 30]


def test_a_segment_renamed_for_deletion_is_still_read(tmp_path):
    directory = log(tmp_path, segments=2)
    pieces = planned(tmp_path)
    path = directory / "00000000000000000000.log"
    path.rename(f"{path}.deleted")

    assert read(pieces) == list(range(0, 80, 10))
    assert read(pieces, fail_on_data_loss=True) == list(range(0, 80, 10))


def test_a_deleted_segment_is_skipped_or_fails_the_read_as_data_loss(tmp_path):
    directory = log(tmp_path, segments=2)
    pieces = planned(tmp_path)
    (directory / "00000000000000000000.log").unlink()

    assert read(pieces) == [40, 50, 60, 70]
    with pytest.raises(SourceError, match=r"\[KAFKA_DATA_LOSS\] offsets 0 to 39 of t-0"):
        read(pieces, fail_on_data_loss=True)


def test_a_topic_deleted_after_planning_is_skipped(tmp_path):
    directory = log(tmp_path, segments=2)
    pieces = planned(tmp_path)
    directory.rename(tmp_path / f"t-0.{'0' * 32}-delete")

    assert read(pieces) == []


def test_a_segment_unlinked_during_a_read_is_read_to_its_end(tmp_path):
    directory = log(tmp_path, segments=1, batches=6)
    windows = read_windows(planned(tmp_path)[0], 1, refuse)
    first = next(windows)
    (directory / "00000000000000000000.log").unlink()

    assert offsets([first, *windows]) == [0, 10, 20, 30, 40, 50]


def compact_two(directory):
    """Compact the first two segments of a partition into one."""
    names = sorted(directory.glob("*.log"))
    cleaned = directory / "00000000000000000000.log.cleaned"
    cleaned.write_bytes(batch(0) + batch(20) + batch(40) + batch(70))
    for name in names[:2]:
        name.unlink()
    cleaned.rename(names[0])


def test_records_moved_to_another_segment_by_compaction_are_read(tmp_path):
    directory = log(tmp_path, segments=3)
    pieces = planned(tmp_path, 500)
    compact_two(directory)

    assert read(pieces) == [0, 20, 40, 70, 80, 90, 100, 110]
    assert read(pieces, fail_on_data_loss=True) == [0, 20, 40, 70, 80, 90, 100, 110]


def test_records_moved_to_another_segment_while_a_read_is_planned_are_read(tmp_path):
    directory = log(tmp_path, segments=3)
    (listed,) = find_partitions([str(tmp_path)])
    compact_two(directory)

    pieces = list(partition_pieces(listed, start=0, stop=ALL, split_bytes=ALL))

    assert read(pieces) == [0, 20, 40, 70, 80, 90, 100, 110]
    assert read(pieces, fail_on_data_loss=True) == [0, 20, 40, 70, 80, 90, 100, 110]


def test_records_are_read_in_the_middle_of_the_swap_of_a_compacted_segment(tmp_path):
    directory = log(tmp_path, segments=3)
    before = planned(tmp_path)
    path = directory / "00000000000000000000.log"
    (directory / f"{path.name}.swap").write_bytes(batch(0) + batch(20) + batch(40) + batch(70))
    path.unlink()

    expected = [0, 20, 40, 50, 60, 70, 80, 90, 100, 110]  # the second one is not replaced yet
    assert read(before, fail_on_data_loss=True) == expected
    assert read(planned(tmp_path), fail_on_data_loss=True) == expected

    during = planned(tmp_path)
    (directory / f"{path.name}.swap").rename(path)
    assert read(during, fail_on_data_loss=True) == expected


def test_a_segment_truncated_during_a_read_ends_at_its_new_size(tmp_path):
    directory = log(tmp_path, segments=1)
    path = directory / "00000000000000000000.log"
    windows = read_windows(planned(tmp_path)[0], 1, refuse)
    first = next(windows)
    with path.open("r+b") as file:
        file.truncate(positions(path)[2])

    assert offsets([first, *windows]) == [0, 10]


def test_batches_appended_after_planning_are_not_read(tmp_path):
    directory = log(tmp_path, segments=1)
    pieces = planned(tmp_path)
    with (directory / "00000000000000000000.log").open("ab") as active:
        active.write(batch(40))
    segment(partition(tmp_path), [batch(50)])

    assert read(pieces) == [0, 10, 20, 30]
    assert read(planned(tmp_path)) == [0, 10, 20, 30, 40, 50]


def replaced(path, batches):
    """Put other batches in the place of a segment, in a file of its own."""
    fresh = path.with_suffix(".cleaned")
    fresh.write_bytes(b"".join(batches))
    fresh.rename(path)


def test_records_truncated_after_planning_count_as_data_loss(tmp_path):
    directory = log(tmp_path, segments=1)
    path = directory / "00000000000000000000.log"
    pieces = planned(tmp_path)
    with path.open("r+b") as file:
        file.truncate(positions(path)[2])

    assert read(pieces) == [0, 10]
    with pytest.raises(SourceError, match="KAFKA_DATA_LOSS"):
        read(pieces, fail_on_data_loss=True)


def test_a_replaced_segment_still_gives_the_batch_that_holds_the_first_offset(tmp_path):
    directory = log(tmp_path, segments=1)
    piece = attrs.evolve(planned(tmp_path)[0], start=5)
    replaced(directory / "00000000000000000000.log", [batch(0), batch(20)])

    assert read([piece]) == [0, 20]


def test_a_batch_that_spans_two_pieces_after_compaction_is_read_once(tmp_path):
    directory = log(tmp_path, segments=1)
    pieces = planned(tmp_path, 1)
    replaced(directory / "00000000000000000000.log", [batch(0, 25), batch(25, 15)])

    assert read(pieces) == [0, 25]
