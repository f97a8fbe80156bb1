"""Which directories and files count."""

import pytest

from tests.trio_kafka_spark.log.kit import batch, log, partition, sample, segment
from trio_kafka.model import TopicPartition
from trio_kafka_spark.log import directories
from trio_kafka_spark.log.directories import (
    LogDirectoryError,
    find_partitions,
    list_segments,
    partition_of,
    start_offsets,
)


def names(partitions):
    return [str(directory.at) for directory in partitions]


def test_partitions_and_their_segments_are_listed_in_order(tmp_path):
    log(tmp_path, segments=2, batches=1)
    segment(partition(tmp_path, 10), [batch(0)])
    segment(partition(tmp_path, 2), [batch(0)])
    segment(partition(tmp_path, 0, "a-b-1"), [batch(0)])

    partitions = find_partitions([str(tmp_path)])

    assert names(partitions) == ["a-b-1-0", "t-0", "t-2", "t-10"]
    first, second = partitions[1].segments
    assert (first.base_offset, first.next_base, first.is_active) == (0, 10, False)
    assert (second.base_offset, second.next_base, second.is_active) == (10, None, True)
    assert first.size == len(batch(0))


@pytest.mark.parametrize(
    "name",
    [
        "t-0.0123456789abcdef0123456789abcdef-delete",
        "t-0.0123456789abcdef0123456789abcdef-future",
        "t-0.0123456789abcdef0123456789abcdef-stray",
        "t-00",
        "t-4294967296",
        "t",
        "lost+found",
        "-0",
        "t x-0",
    ],
)
def test_names_of_marked_and_foreign_directories_are_no_partition_names(name):
    assert partition_of(name) is None


def test_directories_marked_for_deletion_or_without_segments_are_not_listed(tmp_path):
    sample(tmp_path, "compacted")
    (tmp_path / "compacted-0").rename(tmp_path / f"compacted-0.{'0' * 32}-delete")
    partition(tmp_path, 1)
    partition(tmp_path, 2).joinpath("notes.log").write_bytes(b"x")
    (tmp_path / "t-3").write_bytes(b"a file")

    assert find_partitions([str(tmp_path)]) == []


def test_deleted_cleaned_and_foreign_files_are_not_listed_as_segments(tmp_path):
    directory = log(tmp_path, segments=1)
    for name in ("00000000000000000000.log.deleted", "00000000000000000100.log.cleaned"):
        (directory / name).write_bytes(b"x")
    (directory / "00000000000000000200.index.swap").write_bytes(b"x")
    (directory / "7.log").write_bytes(b"x")

    assert [log_segment.base_offset for log_segment in list_segments(directory)] == [0]


def test_a_missing_directory_has_no_segments(tmp_path):
    assert list_segments(tmp_path / "t-0") == []


def test_the_same_partition_in_two_log_directories_is_an_error_that_names_both(tmp_path):
    for root in ("a", "b"):
        log(tmp_path / root, segments=1)

    with pytest.raises(LogDirectoryError, match=r"t-0 is in .*/a/t-0 and in .*/b/t-0"):
        find_partitions([str(tmp_path / "a"), str(tmp_path / "b")])


def test_partitions_of_several_log_directories_are_listed_together(tmp_path):
    segment(partition(tmp_path / "a", 0), [batch(0)])
    segment(partition(tmp_path / "b", 1), [batch(0)])

    assert names(find_partitions([str(tmp_path / "a"), str(tmp_path / "b")])) == ["t-0", "t-1"]


def test_an_error_names_a_log_directory_that_does_not_exist(tmp_path):
    with pytest.raises(LogDirectoryError, match=r"cannot list .*nowhere"):
        find_partitions([str(tmp_path / "nowhere")])


def test_a_later_log_start_offset_in_the_checkpoint_is_the_start_offset(tmp_path):
    log(tmp_path)
    (tmp_path / "log-start-offset-checkpoint").write_text("0\n1\nt 0 25\n")

    assert find_partitions([str(tmp_path)])[0].start_offset == 25
    assert start_offsets(tmp_path) == {TopicPartition("t", 0): 25}


@pytest.mark.parametrize("content", ["", "1\n1\nt 0 25\n", "0\nx\n", "0\n1\nt 0 x\n", "0\n1\nt\n"])
def test_a_malformed_log_start_offset_checkpoint_is_ignored(tmp_path, content):
    log(tmp_path)
    (tmp_path / "log-start-offset-checkpoint").write_text(content)

    assert find_partitions([str(tmp_path)])[0].start_offset == 0


def test_partitions_that_the_filter_rejects_are_not_listed(tmp_path):
    segment(partition(tmp_path, 0), [batch(0)])
    segment(partition(tmp_path, 1), [batch(0)])

    assert names(find_partitions([str(tmp_path)], lambda at: at.partition == 1)) == ["t-1"]


def test_segments_are_listed_again_until_two_listings_are_equal(tmp_path, monkeypatch):
    directory = log(tmp_path, segments=3)
    names = {base: f"{base:020}.log" for base in (0, 40, 80)}
    first, second = {base: names[base] for base in (0, 80)}, {base: names[base] for base in (0, 40)}
    listings = iter([first, second, names, names, {}])
    monkeypatch.setattr(directories, "_names", lambda _: next(listings))

    assert [log_segment.base_offset for log_segment in list_segments(directory)] == [0, 40, 80]


def test_a_segment_replaced_between_its_listing_and_its_size_is_listed_again(tmp_path, monkeypatch):
    directory = log(tmp_path, segments=3)
    swapped = "00000000000000000040.log.swap"
    (directory / "00000000000000000040.log").rename(directory / swapped)
    names, real = {base: f"{base:020}.log" for base in (0, 40, 80)}, directories._names
    listings = iter([names, names])
    monkeypatch.setattr(directories, "_names", lambda path: next(listings, None) or real(path))

    segments = list_segments(directory)

    assert [log_segment.base_offset for log_segment in segments] == [0, 40, 80]
    assert segments[0].next_base == 40


def test_a_swap_file_is_the_segment_once_the_file_that_it_replaces_is_gone(tmp_path):
    directory = log(tmp_path, segments=2)
    old = directory / "00000000000000000000.log"
    new = directory / "00000000000000000000.log.swap"
    new.write_bytes(batch(0))

    before = list_segments(directory)
    old.rename(f"{old}.deleted")
    after = list_segments(directory)

    assert [log_segment.path for log_segment in before][:1] == [str(old)]
    assert [log_segment.path for log_segment in after][:1] == [str(new)]
    assert (len(before), len(after)) == (2, 2)
